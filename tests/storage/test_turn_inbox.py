"""The inbox: a turn is taken once, and remembered when it is over."""

import asyncio
from dataclasses import replace

import pytest

from mesh import stores
from mesh.core.errors import Refused
from mesh.storage.database import Database
from mesh.storage.turn_inbox import DiskTurnInbox
from mesh.stores import InboxRow
from tests.storage.logs import MEMBER, ROOM


def turn(number: int, state: str = "queued") -> InboxRow:
    return InboxRow(
        turn_id=f"t_{number:032x}",
        room_id=ROOM,
        member_id=MEMBER,
        trigger_seq=number,
        root="e1",
        hop=1,
        attempt=1,
        deadline_ms=1_000,
        grant_id="g_" + "1" * 32,
        state=state,
        reason="",
        message="",
        created_at_ms=100 - number,
    )


@pytest.fixture
def inbox(database: Database) -> stores.TurnInbox:
    return DiskTurnInbox(database)


async def test_of_twenty_dispatches_one_is_taken(inbox: stores.TurnInbox) -> None:
    taken: list[bool] = []

    async def dispatch() -> None:
        taken.append(await inbox.put(turn(1)))

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(dispatch())
    assert sorted(taken) == [False] * 19 + [True]


async def test_a_known_turn_is_not_changed_by_a_second_dispatch(inbox: stores.TurnInbox) -> None:
    await inbox.put(turn(1))
    await inbox.set_state(turn(1).turn_id, "failed", "backend_failed", "It said no.")
    assert not await inbox.put(turn(1))
    failed = replace(turn(1), state="failed", reason="backend_failed", message="It said no.")
    assert await inbox.get(turn(1).turn_id) == failed


async def test_open_rows_come_in_the_order_they_were_taken(inbox: stores.TurnInbox) -> None:
    for number in (1, 2, 3):
        await inbox.put(turn(number))
    await inbox.close(turn(2).turn_id)
    await inbox.close(turn(9).turn_id)
    assert await inbox.open_rows() == (turn(1), turn(3))
    # A closed turn is still known: it must not run again.
    assert await inbox.get(turn(2).turn_id) == turn(2)
    assert not await inbox.put(turn(2))


async def test_an_unknown_turn_has_no_state(inbox: stores.TurnInbox) -> None:
    with pytest.raises(Refused) as refused:
        await inbox.set_state(turn(1).turn_id, "running")
    assert refused.value.reason == "not_found"
    assert await inbox.get(turn(1).turn_id) is None


async def test_the_context_never_goes_back(inbox: stores.TurnInbox) -> None:
    assert await inbox.context_seq(ROOM, MEMBER) == 0
    for seq in (3, 7, 5):
        await inbox.set_context_seq(ROOM, MEMBER, seq)
    assert await inbox.context_seq(ROOM, MEMBER) == 7
    assert await inbox.context_seq(ROOM, "m_" + "9" * 32) == 0
