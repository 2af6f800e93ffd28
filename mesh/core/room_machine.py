"""One room on one install: `step(input, now)` -> effects. The same under asyncio and simulation.

    what the log says        RoomState     (room)
    what is only seen        LiveTurns, PresenceView
    if we are the authority  Authority, Replicas
    if we are not            Copy

The machine never waits and never fails half-way: an input is taken whole or raises PeerFault,
which means that another node broke the protocol. The driver's duty is in `effects`.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from mesh.core import inputs
from mesh.core.authority import Authority
from mesh.core.canonical import encode
from mesh.core.copy import Copy
from mesh.core.effects import Answer, Effect, Send, Tell
from mesh.core.errors import Refused
from mesh.core.event import Event, Proposal
from mesh.core.identity import SigningKey
from mesh.core.inputs import Input, Now
from mesh.core.limits import DELTA_BYTES_MAX
from mesh.core.link_messages import NotHere, Presence, Signal
from mesh.core.live_turns import LiveTurns
from mesh.core.member import Member
from mesh.core.presence import PresenceView
from mesh.core.replicas import Replicas
from mesh.core.room import RoomState

SIGNAL_KINDS: Final = frozenset({"turn.delta", "turn.activity"})
_EXPIRY_EVERY_S: Final = 5.0


class RoomMachine:
    """Everything one install knows of one room, and what it does about it."""

    def __init__(
        self,
        room_id: str,
        *,
        me: str,
        key: SigningKey,
        authority_install_id: str,
        events: Iterator[Event],
        waiting: tuple[Proposal, ...] = (),
    ) -> None:
        self.state = RoomState(room_id)
        for event in events:
            self.state.fold(event)
        self.me = me
        self.live = LiveTurns(self.state)
        self.presence = PresenceView(me)
        self.is_authority = authority_install_id == me
        self._authority = Authority(self.state, self.live, me, key)
        self.replicas = Replicas(self.state, me)
        self.copy = Copy(self.state, self.live, authority_install_id, waiting)
        self._expiry_at_s = 0.0

    @property
    def authority_install_id(self) -> str:
        """The install that hosts this room."""
        return self.copy.authority_install_id

    @property
    def host_up(self) -> bool:
        """True where this install is the authority or has a link to it."""
        return self.is_authority or self.copy.link_up

    def present_as(self, member: Member) -> tuple[str, int, str]:
        """(presence, since_ms, reason) of a member, as this install sees it."""
        routed = member.member_id in self.state.routes
        return self.presence.of(member, routed, self.host_up)

    def deadline(self) -> float | None:
        """The monotonic instant at which `RoundEnded` is due even if nothing happens."""
        return self._expiry_at_s if self.is_authority and self.state.open_turns() else None

    def step(self, put: Input, now: Now) -> tuple[Effect, ...]:
        """Take one input.

        Raises:
            PeerFault: another install broke the protocol; the state is unchanged.
        """
        table = _AUTHORITY if self.is_authority else _COPY
        handler = table.get(type(put))
        if handler is None:
            return tuple(self._misplaced(put))
        return tuple(handler(self, put, now))

    # --- both roles ------------------------------------------------------------------------

    def _misplaced(self, put: Input) -> Iterator[Effect]:
        """An input for the other role: refused by name where somebody waits for an answer."""
        if isinstance(put, inputs.Discarded):
            yield Answer(ticket=put.ticket, outcome=Refused("not_found", "Nothing is waiting."))
        elif isinstance(put, (inputs.Proposed, inputs.CaughtUp, inputs.Redeemed)):
            yield Send(
                install_id=put.install_id,
                message=NotHere(
                    room_id=self.state.room_id,
                    reason="not_authority",
                    authority_install_id=self.authority_install_id,
                ),
            )

    def _presence_signals(self, changed: frozenset[str]) -> Iterator[Effect]:
        for member in self.state.present():
            if member.install_id in changed:
                presence, since_ms, reason = self.present_as(member)
                yield Tell(
                    body={
                        "kind": "presence",
                        "member_id": member.member_id,
                        "presence": presence,
                        "since": since_ms,
                        "reason": reason,
                    }
                )

    def _note_signal(self, body: dict[str, Any]) -> bool:
        """Take a signal into the overlay; False if it is stale or not for a turn we know."""
        if body.get("kind") == "turn.delta":
            return self.live.write(str(body["turn_id"]), body["n"], body["text"])
        return True

    def _homed(self, body: dict[str, Any], install_id: str) -> bool:
        member = self.state.member(str(body.get("member_id")))
        turn = self.state.turns.get(str(body.get("turn_id")))
        return (
            member is not None
            and member.install_id == install_id
            and turn is not None
            and turn.member_id == member.member_id
            and _well_formed(body)
        )

    # --- authority -------------------------------------------------------------------------

    def _submitted(self, put: inputs.Submitted, now: Now) -> Iterator[Effect]:
        return self._authority.submitted(put, now)

    def _proposed(self, put: inputs.Proposed, now: Now) -> Iterator[Effect]:
        return self._authority.proposed(put, now)

    def _redeemed(self, put: inputs.Redeemed, now: Now) -> Iterator[Effect]:
        return self._authority.redeemed(put, now)

    def _route_offered(self, put: inputs.RouteOffered, now: Now) -> Iterator[Effect]:
        return self._authority.route_offered(put, now)

    def _turn_reported(self, put: inputs.TurnReported, now: Now) -> Iterator[Effect]:
        return self._authority.turn_reported(put, now)

    def _turn_progressed(self, put: inputs.TurnProgressed, now: Now) -> Iterator[Effect]:
        for effect in self._authority.turn_progressed(put, now):
            yield effect
            if isinstance(effect, Tell):
                yield from self._broadcast(effect.body)

    def _caught_up(self, put: inputs.CaughtUp, now: Now) -> Iterator[Effect]:
        yield from self.replicas.caught_up(put.install_id, put.have_seq)
        if self.state.key_of(put.install_id) is None:
            return  # a stranger was refused; nobody needs to know that it was there
        changed = self.presence.set(put.install_id, True, now.wall_ms)
        yield from self._tell_presence(frozenset({put.install_id}) if changed else frozenset())

    def _acknowledged(self, put: inputs.Acknowledged, _now: Now) -> Iterator[Effect]:
        self.replicas.acknowledged(put.install_id, put.seq)
        return iter(())

    def _copy_down(self, put: inputs.LinkDown, now: Now) -> Iterator[Effect]:
        self.replicas.down(put.install_id)
        if self.state.key_of(put.install_id) is None:
            return
        if self.presence.set(put.install_id, False, now.wall_ms):
            yield from self._tell_presence(frozenset({put.install_id}))

    def _tell_presence(self, changed: frozenset[str]) -> Iterator[Effect]:
        yield from self._presence_signals(changed)
        online = tuple(sorted(self.presence.online()))
        for install_id in self.replicas.live():
            yield Send(
                install_id=install_id,
                message=Presence(room_id=self.state.room_id, online=online),
            )

    def _broadcast(self, body: dict[str, Any], without: str = "") -> Iterator[Effect]:
        message = Signal(room_id=self.state.room_id, body=encode(body))
        for install_id in self.replicas.live():
            if install_id != without:
                yield Send(install_id=install_id, message=message)

    def _signal_to_authority(
        self, put: inputs.SignalTold | inputs.SignalMade, _now: Now
    ) -> Iterator[Effect]:
        origin = put.install_id if isinstance(put, inputs.SignalTold) else self.me
        if self._homed(put.body, origin) and self._note_signal(put.body):
            yield Tell(body=put.body)
            yield from self._broadcast(put.body, without=origin)

    def _round_at_authority(self, _put: inputs.RoundEnded, now: Now) -> Iterator[Effect]:
        if now.mono_s >= self._expiry_at_s:
            self._expiry_at_s = now.mono_s + _EXPIRY_EVERY_S
            yield from self._authority.expired(now)
        yield from self.replicas.feed()

    # --- copy ------------------------------------------------------------------------------

    def _submitted_at_copy(self, put: inputs.Submitted, _now: Now) -> Iterator[Effect]:
        return self.copy.submitted(put)

    def _discarded(self, put: inputs.Discarded, _now: Now) -> Iterator[Effect]:
        return self.copy.discarded(put)

    def _appended(self, put: inputs.Appended, _now: Now) -> Iterator[Effect]:
        return self.copy.appended(put)

    def _judged(self, put: inputs.Judged, _now: Now) -> Iterator[Effect]:
        return self.copy.judged(put)

    def _declined(self, put: inputs.Declined, _now: Now) -> Iterator[Effect]:
        if put.install_id == self.authority_install_id:
            self.copy.faulty = put.reason[:64]
            yield from self._authority_signal("down", _now)

    def _linked(self, put: inputs.LinkUp, now: Now) -> Iterator[Effect]:
        if put.install_id != self.authority_install_id:
            return
        self.copy.faulty = ""
        self.presence.set(put.install_id, True, now.wall_ms)
        yield from self.copy.linked()
        yield from self._authority_signal("up", now)

    def _unlinked(self, put: inputs.LinkDown, now: Now) -> Iterator[Effect]:
        if put.install_id != self.authority_install_id:
            return
        self.copy.unlinked()
        yield from self._authority_signal("down", now)
        changed = self.presence.set_all((), now.wall_ms)
        yield from self._presence_signals(changed - {self.me})

    def _authority_signal(self, link: str, now: Now) -> Iterator[Effect]:
        yield Tell(
            body={
                "kind": "authority",
                "gateway_id": self.authority_install_id,
                "epoch": self.state.head.epoch,
                "link": link,
                "since": now.wall_ms,
            }
        )

    def _presence_told(self, put: inputs.PresenceTold, now: Now) -> Iterator[Effect]:
        if put.install_id == self.authority_install_id:
            yield from self._presence_signals(self.presence.set_all(put.online, now.wall_ms))

    def _signal_from_authority(self, put: inputs.SignalTold, now: Now) -> Iterator[Effect]:
        if put.install_id != self.authority_install_id:
            return
        body = put.body
        if body.get("kind") == "turn.state" and isinstance(body.get("turn"), dict):
            turn = body["turn"]
            fresh = self.live.move(
                str(turn.get("turn_id")),
                str(turn.get("state")),
                str(turn.get("reason")),
                now.wall_ms,
            )
        else:
            turn_of = self.state.turns.get(str(body.get("turn_id")))
            fresh = (
                _well_formed(body)
                and turn_of is not None
                and turn_of.member_id == body.get("member_id")
                and self._note_signal(body)
            )
        if fresh:
            yield Tell(body=body)

    def _signal_made(self, put: inputs.SignalMade, _now: Now) -> Iterator[Effect]:
        if self._homed(put.body, self.me) and self._note_signal(put.body):
            yield Tell(body=put.body)
            yield Send(
                install_id=self.authority_install_id,
                message=Signal(room_id=self.state.room_id, body=encode(put.body)),
            )

    def _round_at_copy(self, _put: inputs.RoundEnded, _now: Now) -> Iterator[Effect]:
        yield from self.copy.stored()
        yield from self.copy.forward()


def _well_formed(body: dict[str, Any]) -> bool:
    if body.get("kind") == "turn.delta":
        return (
            body.keys() == {"kind", "turn_id", "member_id", "n", "text"}
            and type(body["n"]) is int
            and isinstance(body["text"], str)
            and len(body["text"].encode()) <= DELTA_BYTES_MAX
        )
    return (
        body.get("kind") == "turn.activity"
        and body.keys() <= {"kind", "turn_id", "member_id", "tool", "text", "state"}
        and all(isinstance(value, str) and len(value) <= 2_048 for value in body.values())
    )


_Handler = Callable[[RoomMachine, Any, Now], Iterator[Effect]]
_AUTHORITY: Final[dict[type, _Handler]] = {
    inputs.Submitted: RoomMachine._submitted,
    inputs.Proposed: RoomMachine._proposed,
    inputs.Redeemed: RoomMachine._redeemed,
    inputs.RouteOffered: RoomMachine._route_offered,
    inputs.TurnReported: RoomMachine._turn_reported,
    inputs.TurnProgressed: RoomMachine._turn_progressed,
    inputs.CaughtUp: RoomMachine._caught_up,
    inputs.Acknowledged: RoomMachine._acknowledged,
    inputs.LinkDown: RoomMachine._copy_down,
    inputs.SignalTold: RoomMachine._signal_to_authority,
    inputs.SignalMade: RoomMachine._signal_to_authority,
    inputs.RoundEnded: RoomMachine._round_at_authority,
}
_COPY: Final[dict[type, _Handler]] = {
    inputs.Submitted: RoomMachine._submitted_at_copy,
    inputs.Discarded: RoomMachine._discarded,
    inputs.Appended: RoomMachine._appended,
    inputs.Judged: RoomMachine._judged,
    inputs.Declined: RoomMachine._declined,
    inputs.LinkUp: RoomMachine._linked,
    inputs.LinkDown: RoomMachine._unlinked,
    inputs.PresenceTold: RoomMachine._presence_told,
    inputs.SignalTold: RoomMachine._signal_from_authority,
    inputs.SignalMade: RoomMachine._signal_made,
    inputs.RoundEnded: RoomMachine._round_at_copy,
}
