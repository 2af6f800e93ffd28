"""Roads are cut between some machines only: what is said arrives once and in order all the same.

Situation 152: the host and one copy do not reach each other, a third install reaches both.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import pytest

from mesh.client.rooms import new_event_id
from tests.netns import audit
from tests.netns.conftest import Three
from tests.netns.following import WAIT_S, Following, following
from tests.netns.machines import shared_room
from tests.processes.node_process import NodeProcess

pytestmark = pytest.mark.timeout(90)
AT_ONCE_MS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A room of three, and what each node shows of it."""

    room_id: str
    at_a: Following
    at_b: Following
    at_c: Following


@asynccontextmanager
async def watched(three: Three) -> AsyncIterator[Watched]:
    """A room that the first node hosts, followed at all three."""
    room_id = await shared_room((three.a, three.b, three.c))
    async with AsyncExitStack() as stack:
        at_a, at_b, at_c = [
            await stack.enter_async_context(following(node, room_id))
            for node in (three.a, three.b, three.c)
        ]
        yield Watched(room_id=room_id, at_a=at_a, at_b=at_b, at_c=at_c)


async def says(node: NodeProcess, room_id: str, text: str, event_id: str = "") -> bool:
    """Say it at that node; True if the log has it already, False if it is queued."""
    async with node.connected() as connection:
        answer = await connection.rooms.send(
            room_id, text, event_id=event_id or new_event_id(), wait_ms=AT_ONCE_MS
        )
    assert answer["accepted"] or answer["queued"], answer
    return bool(answer["accepted"])


async def assert_same_everywhere(three: Three, room_id: str) -> None:
    """All logs are identical and nothing waits any more."""
    logs = {}
    for node in (three.a, three.b, three.c):
        async with node.connected() as connection:
            logs[node.name] = await audit.whole_log(connection, room_id)
            assert not (await connection.rooms.state(room_id))["outbox"], node.name
    audit.assert_identical(logs)


async def test_a_text_behind_a_cut_arrives_once_in_order(three: Three) -> None:
    async with watched(three) as room:
        three.network.cut(three.a.name, three.b.name)
        second = new_event_id()
        assert not await says(three.b, room.room_id, "b1")
        assert not await says(three.b, room.room_id, "b2", second)
        assert await says(three.a, room.room_id, "a1")
        assert not await says(three.b, room.room_id, "b3")
        # The others go on meanwhile, and the third says nothing in anybody's name.
        await room.at_c.shows("a1")
        async with three.c.connected() as connection:
            answer = await connection.rooms.send(room.room_id, "c1", wait_ms=20_000)
        assert answer["accepted"]
        assert room.at_c.texts == ["a1", "c1"]
        assert room.at_b.texts == []
        three.network.heal()
        for at in (room.at_a, room.at_b, room.at_c):
            await at.shows("a1", "c1", "b1", "b2", "b3")
            assert at.texts == ["a1", "c1", "b1", "b2", "b3"]
        # Said again under its id, it is where it was.
        async with three.b.connected() as connection:
            again = await connection.rooms.send(room.room_id, "b2", event_id=second)
        assert again["idempotent"]
        await assert_same_everywhere(three, room.room_id)
        assert room.at_b.texts == ["a1", "c1", "b1", "b2", "b3"]


async def test_the_host_is_heard_while_it_does_not_hear(three: Three) -> None:
    async with watched(three) as room:
        three.network.cut_one_way(three.b.name, three.a.name)
        assert not await says(three.b, room.room_id, "b1")
        assert await says(three.a, room.room_id, "a1")
        await room.at_b.shows("a1")
        three.network.heal()
        for at in (room.at_a, room.at_b, room.at_c):
            await at.shows("a1", "b1")
            assert at.texts == ["a1", "b1"]
        await assert_same_everywhere(three, room.room_id)


async def test_a_text_whose_answer_is_lost_is_said_once(three: Three) -> None:
    async with watched(three) as room:
        three.network.cut_one_way(three.a.name, three.b.name)
        event_id = new_event_id()
        assert not await says(three.b, room.room_id, "b1", event_id)
        await room.at_a.shows("b1")  # it went through; what came back did not
        assert not await says(three.b, room.room_id, "b1", event_id)
        assert await says(three.a, room.room_id, "a1")
        three.network.heal()
        for at in (room.at_a, room.at_b, room.at_c):
            await at.shows("b1", "a1")
            assert at.texts == ["b1", "a1"]
        await assert_same_everywhere(three, room.room_id)


async def test_a_copy_killed_behind_a_cut_keeps_what_it_queued(three: Three) -> None:
    async with watched(three) as room:
        three.network.unplug(three.b.name)
        assert not await says(three.b, room.room_id, "b1")
        assert not await says(three.b, room.room_id, "b2")
        await three.b.kill()
        await three.b.restart()
        assert not await says(three.b, room.room_id, "b3")
        three.network.heal()
        for at in (room.at_a, room.at_b, room.at_c):
            await at.shows("b1", "b2", "b3")
            assert at.texts == ["b1", "b2", "b3"]
        await assert_same_everywhere(three, room.room_id)


@pytest.mark.slow
async def test_a_link_that_is_silent_too_long_is_given_up(three: Three) -> None:
    async with watched(three) as room, three.a.connected() as at_a:
        three.network.cut(three.a.name, three.b.name)
        changes = at_a.changes()
        async with asyncio.timeout(2 * WAIT_S):
            async for _ in changes:
                if (await at_a.peers.show(three.b.install_id))["link"] == "down":
                    break
        await changes.aclose()
        assert not await says(three.b, room.room_id, "b1")
        three.network.heal()
        for at in (room.at_a, room.at_b, room.at_c):
            await at.shows("b1")
        await assert_same_everywhere(three, room.room_id)
