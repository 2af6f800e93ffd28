"""A watch takes in what a machine shows, over unplugging, and waits for things without missing."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mesh.cli.demo_watch import NotSeen, Watch, answers_to
from mesh.client import RoomGap
from tests.cli.demo_fakes import ROOM, FakeMachine, event, signal


@pytest.fixture
async def laptop() -> FakeMachine:
    """The machine that is watched."""
    return FakeMachine("laptop")


@pytest.fixture
async def watch(laptop: FakeMachine) -> AsyncIterator[Watch]:
    """A watch that follows it."""
    made = Watch(laptop.node, ROOM)
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(made.follow())
        yield made
        following.cancel()


async def test_it_goes_on_from_its_cursor_after_unplugging(
    laptop: FakeMachine, watch: Watch
) -> None:
    laptop.show(event(1, "room.created"), event(2, "message.user"))
    await watch.event("the second", lambda e: e.seq == 2)
    laptop.unplug()
    waiting = asyncio.timeout(1)
    async with waiting, asyncio.TaskGroup() as tasks:
        tasks.create_task(watch.event("the third", lambda e: e.seq == 3))
        laptop.show(event(3, "message.user"))
        laptop.went_up.set()
    assert laptop.cursors == [0, 2]
    assert [e.seq for e in watch.events] == [1, 2, 3]


async def test_what_is_not_seen_is_said_with_the_machine(watch: Watch) -> None:
    with pytest.raises(NotSeen) as missed:
        await watch.event("the moon", lambda e: e.kind == "moon", within_s=0.01)
    assert "the moon" in missed.value.message and "laptop" in missed.value.message
    with pytest.raises(NotSeen) as missed:
        await watch.state("the sun is up", lambda state: bool(state.get("sun")), within_s=0.01)
    assert "the sun is up" in missed.value.message


async def test_two_that_wait_for_the_state_both_see_it(laptop: FakeMachine, watch: Watch) -> None:
    def is_up(state: dict[str, Any]) -> bool:
        return bool(state.get("sun"))

    async with asyncio.timeout(1), asyncio.TaskGroup() as tasks:
        tasks.create_task(watch.state("one", is_up))
        tasks.create_task(watch.state("other", is_up))
        await asyncio.sleep(0)
        # Both have asked and were answered with the old state, when the news comes.
        laptop.shown = {"sun": True}
        laptop.show(signal("presence"))


async def test_a_member_is_found_by_handle_and_presence(laptop: FakeMachine, watch: Watch) -> None:
    laptop.shown = {"members": [{"handle": "echo", "presence": "offline", "reason": "x"}]}
    assert (await watch.member("echo", "offline"))["reason"] == "x"
    with pytest.raises(NotSeen):
        await watch.member("echo", "online", within_s=0.01)


async def test_pieces_belong_to_their_turn(laptop: FakeMachine, watch: Watch) -> None:
    laptop.show(
        signal("turn.delta", turn_id="t1", text="a "),
        signal("turn.delta", turn_id="t2", text="x"),
        signal("turn.delta", turn_id="t1", text="b"),
    )
    await watch.until("three signals", lambda: len(watch.signals) == 3 or None)
    assert watch.pieces("t1") == ["a ", "b"]


async def test_a_gap_is_remembered(laptop: FakeMachine, watch: Watch) -> None:
    assert not watch.is_torn
    laptop.show(RoomGap(room_id=ROOM, from_seq=9, latest_seq=2, state={}))
    await watch.until("the gap", lambda: watch.is_torn or None)


def test_answers_are_found_by_their_root() -> None:
    answers = [
        {"kind": "message.member", "cause": {"root": "e1"}, "seq": 1},
        {"kind": "message.member", "cause": {"root": "e2"}, "seq": 2},
        {"kind": "turn.settled", "cause": {"root": "e1"}, "seq": 3},
    ]
    assert [event["seq"] for event in answers_to("e1", answers)] == [1]
