"""Installs in memory: real keys, real machines, and a disk that is a list.

`Node` does what the driver `service/room_runner` does, without waiting: one round takes inputs
and performs their effects in the order persist, send, deliver, reply. Everything is a function
of the names that a test gives; nothing here reads a clock or asks for entropy.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from mesh.core import effects, ids, inputs
from mesh.core.errors import MeshError
from mesh.core.event import Event, Proposal
from mesh.core.identity import SigningKey
from mesh.core.limits import BATCH_EVENTS_MAX
from mesh.core.link_messages import Append, LinkMessage, RedeemResult, WireEvent
from mesh.core.member import Lent, Member
from mesh.core.room_machine import RoomMachine


def entropy(*words: object) -> bytes:
    """16 bytes that depend on the words alone."""
    return hashlib.sha256("\0".join(map(str, words)).encode()).digest()[:16]


@cache
def key_of(name: str) -> SigningKey:
    """The key pair of an install by its name."""
    return SigningKey.from_seed(entropy("key", name) * 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """Who signs: a name, its key, and the seats it can fill."""

    name: str

    @property
    def key(self) -> SigningKey:
        """The install's key pair."""
        return key_of(self.name)

    @property
    def install_id(self) -> str:
        """The install's id."""
        return ids.install_id(self.key.public)

    def person(self, name: str = "", role: str = "member") -> Member:
        """A seat for the person of this install."""
        return self._seat(name or self.name, "person", role, None)

    def agent(self, handle: str, profile: str = "echo") -> Member:
        """A seat for an agent of this install."""
        return self._seat(handle, "agent", "member", profile)

    def _seat(self, name: str, kind: str, role: str, profile: str | None) -> Member:
        return Member(
            member_id=ids.make("m", entropy("member", self.name, kind, name)),
            handle=ids.handle_from(name),
            display_name=name,
            kind=kind,
            role=role,
            install_id=self.install_id,
            install_name=self.name,
            public_key=self.key.public,
            addresses=(),
            profile=profile,
            lent=Lent(permissions=("dispatch", "stop"), until_ms=0) if profile else None,
        )


@dataclass(slots=True, kw_only=True)
class Disk:
    """What survives: the log, and the outbox with its refused rows."""

    events: list[Event] = field(default_factory=list)
    outbox: dict[str, Proposal] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def copy(self) -> "Disk":
        """The disk as it is now."""
        return Disk(
            events=list(self.events), outbox=dict(self.outbox), refused=dict(self.refused)
        )

    def apply(self, effect: effects.Effect) -> None:
        """Perform one effect of the first kind; others change nothing."""
        match effect:
            case effects.StoreEvent():
                assert effect.event.seq == len(self.events) + 1, "stored in order, once"
                self.events.append(effect.event)
            case effects.QueueProposal():
                self.outbox[effect.proposal.key] = effect.proposal
            case effects.DropProposal():
                self.outbox.pop(effect.key, None)
                self.refused.pop(effect.key, None)
            case effects.RefuseProposal():
                self.outbox.pop(effect.key, None)
                self.refused[effect.key] = effect.reason


class Node:
    """One install with its machine for one room."""

    def __init__(
        self, install: Install, room_id: str, authority_install_id: str, disk: Disk | None = None
    ) -> None:
        self.install = install
        self.disk = disk or Disk()
        self.machine = RoomMachine(
            room_id,
            me=install.install_id,
            key=install.key,
            authority_install_id=authority_install_id,
            events=iter(list(self.disk.events)),
            waiting=tuple(self.disk.outbox.values()),
        )
        self.shown: list[Event] = []
        self.told: list[dict[str, Any]] = []
        self.answers: dict[int, effects.Accepted | MeshError] = {}
        self.redeemed: dict[str, RedeemResult] = {}
        self.out: list[tuple[str, LinkMessage]] = []
        self._tickets = 0

    def round(self, now: inputs.Now, *puts: inputs.Input) -> list[effects.Effect]:
        """Take inputs, end the round, perform the effects in their order."""
        done = [e for put in puts for e in self.machine.step(put, now)]
        done += self.machine.step(inputs.RoundEnded(), now)
        for effect in done:
            self.disk.apply(effect)
        for effect in done:
            if isinstance(effect, effects.Send):
                self.out.append((effect.install_id, effect.message))
            elif isinstance(effect, effects.Stream):
                self.out += [
                    (effect.install_id, m) for m in frames(self.machine, self.disk, effect)
                ]
        for effect in done:
            if isinstance(effect, effects.Deliver):
                self.shown.append(effect.event)
            elif isinstance(effect, effects.Tell):
                self.told.append(effect.body)
        for effect in done:
            if isinstance(effect, effects.Answer):
                assert effect.ticket not in self.answers, "a caller is answered once"
                self.answers[effect.ticket] = effect.outcome
        return done

    def ticket(self) -> int:
        """A fresh number for a caller who waits."""
        self._tickets += 1
        return self._tickets

    @property
    def person(self) -> Member:
        """The person of this install, who must be in the room."""
        found = self.machine.state.person_of(self.install.install_id)
        assert found is not None, f"{self.install.name} has no person in the room"
        return found


def frames(machine: RoomMachine, disk: Disk, wanted: effects.Stream) -> Iterable[Append]:
    """The events of a copy's window, as stored, in frames."""
    for since in range(wanted.since_seq, wanted.upto_seq, BATCH_EVENTS_MAX):
        batch = disk.events[since : min(since + BATCH_EVENTS_MAX, wanted.upto_seq)]
        yield Append(
            room_id=machine.state.room_id,
            epoch=machine.state.head.epoch,
            events=tuple(
                WireEvent(e.proposal.raw, e.proposal.signature, e.header, e.signature)
                for e in batch
            ),
            latest_seq=machine.state.head.seq,
            protected_seq=0,
        )
