"""Planted faults: each takes one rule out of the product or its driver, in here only.

A fault is a context in which a patch holds; `ran` counts how often the patched line mattered,
that is, did something else than the right one would have done. A checker that does not notice a
fault that ran has no teeth.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from unittest.mock import patch

from mesh.core.event import Event, Proposal
from mesh.core.link_messages import Stored
from mesh.core.log import Head
from mesh.core.room import RoomState
from tests.sim import simulation
from tests.sim.adapter import RoomNode, SimDisk
from tests.sim.link_layer import Out
from tests.sim.simulation import RoomSim


@dataclass(slots=True)
class Ran:
    """How often a planted fault made a difference."""

    times: int = 0


Plant = Callable[[Ran], Any]


@contextmanager
def speak_before_persist(ran: Ran) -> Iterator[None]:
    """What is said leaves before what it rests on is on the disk."""
    speak = RoomSim._speak

    def early(sim: RoomSim, h: str, node: RoomNode, out: Out) -> None:
        durable = sim.durable[h]
        ran.times += (durable.events, durable.outbox) != (node.disk.events, node.disk.outbox)
        speak(sim, h, node, out)

    with (
        patch.object(simulation, "DUTIES", ("speak", "persist", "show", "reply")),
        patch.object(RoomSim, "_speak", early),
    ):
        yield


@contextmanager
def forget_outbox(ran: Ran) -> Iterator[None]:
    """A restart does not look at what waits to be forwarded."""

    def recall(_node: RoomNode, disk: SimDisk) -> tuple[Proposal, ...]:
        ran.times += bool(disk.outbox)
        return ()

    with patch.object(RoomNode, "recall", recall):
        yield


@contextmanager
def no_dedupe(ran: Ran) -> Iterator[None]:
    """No event id is ever known."""

    class Forgetful(dict[bytes, tuple[int, bytes]]):
        def get(self, key: bytes, default: Any = None) -> Any:
            ran.times += dict.__contains__(self, key)
            return default

        def __contains__(self, key: object) -> bool:
            return False

    begin = RoomState.__init__

    def forgetful(state: RoomState, room_id: str) -> None:
        begin(state, room_id)
        state._known = Forgetful()

    with patch.object(RoomState, "__init__", forgetful):
        yield


@contextmanager
def no_chain_check(ran: Ran) -> Iterator[None]:
    """An event need not follow the one before it."""

    def follow(head: Head, event: Event) -> Head:
        ran.times += event.prev_hash != head.hash
        return Head(seq=event.seq, epoch=event.epoch, hash=event.hash)

    with patch.object(Head, "follow", follow):
        yield


@contextmanager
def no_author_check(ran: Ran) -> Iterator[None]:
    """A copy believes the host about who said what."""
    from mesh.core import admission, copy

    def believe(state: RoomState, proposal: Proposal) -> bool:
        ran.times += not admission.authentic(state, proposal)
        return True

    with patch.object(copy, "authentic", believe):
        yield


@contextmanager
def acknowledge_before_store(ran: Ran) -> Iterator[None]:
    """A copy says that it has stored what it is about to store."""
    persist = RoomSim._persist

    def late(sim: RoomSim, h: str, node: RoomNode, out: Out) -> None:
        for install_id, message in list(node.left.said):
            if isinstance(message, Stored):
                ran.times += message.seq > len(sim.durable[h].events)
                rest, node.left.said = node.left.said, [(install_id, message)]
                sim._speak(h, node, [])
                node.left.said = [s for s in rest if s[1] is not message]
        persist(sim, h, node, out)

    with patch.object(RoomSim, "_persist", late):
        yield


@contextmanager
def deliver_twice(ran: Ran) -> Iterator[None]:
    """A copy shows what it gets, also where it had it: each seventh event once more."""
    show = RoomNode.show

    def again(node: RoomNode, tell: Callable[[Event], None]) -> None:
        twice = [e for e in node.left.shown for _ in range(1 + (e.seq % 7 == 0))]
        ran.times += len(twice) > len(node.left.shown)
        node.left.shown = twice
        show(node, tell)

    with patch.object(RoomNode, "show", again):
        yield


@contextmanager
def show_before_persist(ran: Ran) -> Iterator[None]:
    """Subscribers see an event that is not on the disk yet."""
    show = RoomSim._show

    def early(sim: RoomSim, h: str, node: RoomNode, out: Out) -> None:
        ran.times += bool(node.left.shown)
        show(sim, h, node, out)

    with (
        patch.object(simulation, "DUTIES", ("show", "persist", "speak", "reply")),
        patch.object(RoomSim, "_show", early),
    ):
        yield


@contextmanager
def reply_before_persist(ran: Ran) -> Iterator[None]:
    """A caller hears *applied* before the disk does."""
    reply = RoomSim._reply

    def early(sim: RoomSim, h: str, node: RoomNode, out: Out) -> None:
        ran.times += bool(node.left.answers) and node.disk.events != sim.durable[h].events
        reply(sim, h, node, out)

    with (
        patch.object(simulation, "DUTIES", ("reply", "persist", "speak", "show")),
        patch.object(RoomSim, "_reply", early),
    ):
        yield


@contextmanager
def second_end(ran: Ran) -> Iterator[None]:
    """A turn that has ended may end once more."""
    from mesh.core.turn import Turn

    may_move = Turn.may_move

    def always(turn: Turn, state: Any) -> bool:
        ran.times += not may_move(turn, state)
        return True

    with patch.object(Turn, "may_move", always):
        yield


# Each with the laws of which at least one must notice it.
PLANTED: Final[dict[str, tuple[Plant, tuple[str, ...]]]] = {
    "speak_before_persist": (speak_before_persist, ("said:",)),
    "forget_outbox": (forget_outbox, ("kept:", "I6", "converged:")),
    "no_dedupe": (no_dedupe, ("I5", "I6", "turns:")),
    "no_chain_check": (no_chain_check, ("I4", "converged:", "I3", "I0")),
    "no_author_check": (no_author_check, ("I4", "converged:", "I3", "I0")),
    "acknowledge_before_store": (acknowledge_before_store, ("said:",)),
    "deliver_twice": (deliver_twice, ("shown:",)),
    "show_before_persist": (show_before_persist, ("shown:",)),
    "reply_before_persist": (reply_before_persist, ("said:",)),
    "second_end": (second_end, ("turns:", "I0")),
}
