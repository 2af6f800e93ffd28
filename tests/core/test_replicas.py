"""How far each copy is: asked first, fed in order, never beyond a window or its membership."""

import pytest

from mesh.core.effects import Send, Stream
from mesh.core.link_messages import NotHere
from mesh.core.replicas import Replicas
from tests.core.machines import Install
from tests.core.world import World

LAPTOP, SERVER, MALLORY = (Install(name=n).install_id for n in ("laptop", "server", "mallory"))


def replicas(head_seq: int = 5) -> Replicas:
    """The host's view of a room with two copies, none of which has asked yet."""
    world = World("desktop", "laptop", "server")
    while (state := world["desktop"].machine.state).head.seq < head_seq:
        world.say("desktop", "hello")
    return Replicas(state, Install(name="desktop").install_id)


def asked(copies: Replicas, install_id: str, have_seq: int) -> list[str]:
    """A copy asks; returns the reasons of refusals."""
    effects = list(copies.caught_up(install_id, have_seq))
    assert all(isinstance(e, Send) and e.install_id == install_id for e in effects)
    return [e.message.reason for e in effects
            if isinstance(e, Send) and isinstance(e.message, NotHere)]


def fed(copies: Replicas) -> list[tuple[str, int, int]]:
    """What is fed now."""
    effects = list(copies.feed())
    return [(e.install_id, e.since_seq, e.upto_seq) for e in effects if isinstance(e, Stream)]


def test_nobody_is_fed_who_has_not_asked() -> None:
    assert fed(replicas()) == []


def test_a_copy_gets_what_it_lacks_once() -> None:
    copies = replicas(9)
    assert asked(copies, LAPTOP, 3) == []
    assert fed(copies) == [(LAPTOP, 3, 9)]
    assert fed(copies) == []
    assert asked(copies, LAPTOP, 5) == [], "it asks again: its place is what it says"
    assert fed(copies) == [(LAPTOP, 5, 9)]


def test_a_stranger_is_refused_and_so_are_we() -> None:
    copies = replicas()
    assert asked(copies, MALLORY, 0) == ["forbidden"]
    assert asked(copies, Install(name="desktop").install_id, 0) == ["forbidden"]
    assert copies.live() == ()


def test_a_copy_that_has_more_than_we_is_told() -> None:
    copies = replicas(9)
    assert asked(copies, LAPTOP, 10) == ["rolled_back"]
    assert fed(copies) == []


def test_what_is_in_flight_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.core.replicas.REPLICA_WINDOW_EVENTS", 4)
    copies = replicas(9)
    asked(copies, LAPTOP, 0)
    assert fed(copies) == [(LAPTOP, 0, 4)]
    assert fed(copies) == []
    copies.acknowledged(LAPTOP, 3)
    assert fed(copies) == [(LAPTOP, 4, 7)]
    assert copies.acked_seq(LAPTOP) == 3


def test_a_driver_that_sent_less_goes_on_when_that_was_acknowledged() -> None:
    """The link holds only so many bytes: the rest waits, and nothing is left out."""
    copies = replicas(9)
    asked(copies, LAPTOP, 2)
    assert fed(copies) == [(LAPTOP, 2, 9)]
    copies.sent(LAPTOP, 4)
    assert fed(copies) == []
    copies.acknowledged(LAPTOP, 3)
    assert fed(copies) == [], "one of the two is on its way still"
    copies.acknowledged(LAPTOP, 9)
    assert fed(copies) == [], "what was not sent cannot be acknowledged"
    copies.acknowledged(LAPTOP, 4)
    assert fed(copies) == [(LAPTOP, 4, 9)]
    copies.sent(LAPTOP, 4)
    assert fed(copies) == [(LAPTOP, 4, 9)], "nothing went out, nothing is waited for"


@pytest.mark.parametrize("seq", [0, 1, 8, 2_000])
def test_an_acknowledgment_of_what_was_not_sent_changes_nothing(seq: int) -> None:
    copies = replicas(5)
    asked(copies, LAPTOP, 2)
    list(copies.feed())
    copies.acknowledged(LAPTOP, 3)
    copies.acknowledged(LAPTOP, seq)
    copies.acknowledged(SERVER, seq)
    assert copies.acked_seq(LAPTOP) == 3 and copies.acked_seq(SERVER) == 0


def test_a_link_that_is_down_is_not_fed() -> None:
    copies = replicas(9)
    asked(copies, LAPTOP, 0)
    asked(copies, SERVER, 0)
    copies.down(LAPTOP)
    copies.down(MALLORY)
    assert copies.live() == (SERVER,)
    assert fed(copies) == [(SERVER, 0, 9)]


def test_who_was_removed_learns_it_and_no_more() -> None:
    """Situation 59: the log up to the event that says so."""
    world = World("desktop", "laptop")
    guest = world["laptop"].person
    world.cut("desktop", "laptop")
    world.do("desktop", "member.left", {"member_id": guest.member_id, "reason": "removed"})
    left_seq = world["desktop"].machine.state.head.seq
    world.say("desktop", "between us")
    world.link("desktop", "laptop")
    assert world["laptop"].machine.state.head.seq == left_seq
    assert world["laptop"].machine.present_as(
        world["laptop"].machine.state.members[guest.member_id]
    ) == ("left", 0, "removed")


def test_feeding_goes_on_from_what_was_acknowledged() -> None:
    before, after = replicas(9), replicas(5)
    asked(before, LAPTOP, 0)
    list(before.feed())
    before.acknowledged(LAPTOP, 6)
    asked(before, SERVER, 2)
    before.down(SERVER)
    after.resume(before)
    assert after.live() == (LAPTOP,)
    assert fed(after) == [], "what this log lacks cannot be sent"
    assert after.acked_seq(LAPTOP) == 5
