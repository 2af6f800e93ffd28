"""Rooms, logs and outboxes: one suite for the store on disk and the one in memory."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mesh.core import ids
from mesh.core.errors import Refused
from mesh.core.event import parse_event
from mesh.storage.database import Database
from mesh.storage.event_store import DiskEventStore
from mesh.storage.memory import MemoryEventStore
from mesh.stores import EventStore, RoomChange
from tests.storage.logs import (
    KEY,
    MEMBER,
    OTHER_ROOM,
    ROOM,
    change,
    follow,
    log,
    proposal,
    room,
    waiting,
)

PLENTY = (1_000, 1 << 30)


@pytest.fixture(params=["disk", "memory"])
async def store(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[EventStore]:
    if request.param == "memory":
        yield MemoryEventStore()
        return
    async with Database(path) as database:
        yield DiskEventStore(database)


async def refusal(store: EventStore, wanted: RoomChange) -> str:
    """The reason why a change is refused; nothing of it may be stored."""
    before = await everything(store, wanted.room_id)
    with pytest.raises(Refused) as refused:
        await store.apply(wanted)
    assert await everything(store, wanted.room_id) == before
    return refused.value.reason


async def everything(store: EventStore, room_id: str) -> object:
    return (
        await store.rooms(),
        await store.read(room_id, 0, *PLENTY),
        await store.outbox(room_id),
    )


async def test_a_room_begins_with_its_events_or_empty(store: EventStore) -> None:
    events = log(3)
    await store.create_room(room(events), events)
    await store.create_room(room(room_id=OTHER_ROOM, epoch=0), ())
    assert await store.rooms() == (room(events), room(room_id=OTHER_ROOM, epoch=0))
    assert await store.read(ROOM, 0, *PLENTY) == events
    assert await store.read(OTHER_ROOM, 0, *PLENTY) == ()


@pytest.mark.parametrize(("promised", "stored"), [(0, 2), (2, 2), (5, 5)])
async def test_a_room_promises_no_less_than_its_events(
    store: EventStore, promised: int, stored: int
) -> None:
    events = log(2, epoch=2)
    await store.create_room(room(events, epoch=promised), events)
    assert await store.rooms() == (room(events, epoch=stored),)
    if stored > 2:
        late = follow(events[-1], proposal(3), epoch=stored - 1)
        assert await refusal(store, change(late)) == "stale_epoch"
    await store.apply(change(follow(events[-1], proposal(3), epoch=stored)))


async def test_a_room_is_created_once(store: EventStore) -> None:
    await store.create_room(room(), ())
    with pytest.raises(Refused) as refused:
        await store.create_room(room(log(1)), log(1))
    assert refused.value.reason == "conflict"
    assert await store.rooms() == (room(),)


async def test_a_row_that_does_not_fit_its_events_is_a_bug(store: EventStore) -> None:
    events = log(3)
    for row, first in ((room(), events), (room(events), ()), (room(events[1:]), events[1:])):
        with pytest.raises(AssertionError):
            await store.create_room(row, first)
    assert await store.rooms() == ()


async def test_events_come_back_as_the_bytes_that_were_signed(store: EventStore) -> None:
    await store.create_room(room(), ())
    events = log(5, text='\u00e9 \U0001f600 "quoted" \\ \u2028')
    await store.apply(change(*events[:2]))
    await store.apply(change(*events[2:]))
    assert await store.read(ROOM, 0, *PLENTY) == events
    wire = await store.read_wire(ROOM, 0, *PLENTY)
    read = tuple(
        parse_event(item.raw, item.author_sig, item.header, item.authority_sig) for item in wire
    )
    assert read == events
    assert all(event.signed_by(KEY.public) for event in read)
    assert (await store.rooms())[0] == room(events)


@pytest.mark.parametrize("since", [0, 1, 7, 9, 10, 11])
@pytest.mark.parametrize("limit", [1, 3, 1_000])
@pytest.mark.parametrize("size_bytes_max", [1, 2_000, 1 << 20])
async def test_pages_are_dense_and_within_both_bounds(
    store: EventStore, since: int, limit: int, size_bytes_max: int
) -> None:
    events = log(10, text="x" * 300)
    await store.create_room(room(events), events)
    page = await store.read(ROOM, since, limit, size_bytes_max)
    assert page == events[since : since + len(page)]
    size_bytes = sum(len(event.proposal.raw) + len(event.header) for event in page)
    assert len(page) <= limit
    assert len(page) == 1 or size_bytes <= size_bytes_max
    if since < 10:
        assert page, "at least one"
        more = events[since : since + len(page) + 1]
        grown = sum(len(event.proposal.raw) + len(event.header) for event in more)
        full = len(page) == limit or grown > size_bytes_max or since + len(page) == 10
        assert full, "a page is not shorter than it must be"
    assert len(await store.read_wire(ROOM, since, limit, size_bytes_max)) == len(page)


async def test_a_page_never_reaches_into_another_room(store: EventStore) -> None:
    here, there = log(3), log(3, room_id=OTHER_ROOM)
    await store.create_room(room(here), here)
    await store.create_room(room(there, OTHER_ROOM), there)
    assert await store.read(ROOM, 1, *PLENTY) == here[1:]
    assert await store.read(OTHER_ROOM, 1, *PLENTY) == there[1:]
    assert await store.read("r_" + "9" * 32, 0, *PLENTY) == ()


async def test_an_event_is_found_by_its_key(store: EventStore) -> None:
    events = log(3)
    await store.create_room(room(events), events)
    await store.create_room(room(room_id=OTHER_ROOM), ())
    assert await store.by_key(ROOM, ids.event_key(MEMBER, "e2")) == events[1]
    assert await store.by_key(ROOM, ids.event_key(MEMBER, "e4")) is None
    assert await store.by_key(OTHER_ROOM, ids.event_key(MEMBER, "e2")) is None


async def test_the_fence_refuses_a_lower_epoch(store: EventStore) -> None:
    events = log(2, epoch=3)
    await store.create_room(room(events, epoch=3), events)
    late = follow(events[-1], proposal(3), epoch=2)
    assert await refusal(store, change(late)) == "stale_epoch"
    await store.apply(change(follow(events[-1], proposal(3), epoch=3)))


async def test_the_fence_refuses_a_promise_that_is_higher(store: EventStore) -> None:
    await store.create_room(room(epoch=5), ())
    assert await refusal(store, change(*log(1, epoch=4))) == "stale_epoch"
    await store.apply(change(*log(1, epoch=5)))


async def test_a_higher_epoch_is_remembered(store: EventStore) -> None:
    events = log(1)
    await store.create_room(room(events), events)
    newer = log(1, after=events[-1], epoch=4)
    await store.apply(change(*newer))
    assert (await store.rooms())[0] == room((*events, *newer), epoch=4)
    assert await refusal(store, change(*log(1, after=newer[-1], epoch=3))) == "stale_epoch"


async def test_only_what_links_to_the_head_is_appended(store: EventStore) -> None:
    events = log(5)
    await store.create_room(room(events[:2]), events[:2])
    twin = follow(events[0], proposal(2, text="another"))
    for wanted in (
        change(events[1]),  # again
        change(events[3]),  # a gap
        change(follow(twin, proposal(3))),  # another past
        change(*log(3)),  # the whole log again
    ):
        assert await refusal(store, wanted) == "stale_epoch"
    await store.apply(change(*events[2:]))


async def test_two_writers_cannot_both_extend_one_head(store: EventStore) -> None:
    await store.create_room(room(), ())
    rivals = [follow(None, proposal(1, text=f"rival {n}")) for n in range(20)]
    refused = 0

    async def attempt(wanted: RoomChange) -> None:
        nonlocal refused
        try:
            await store.apply(wanted)
        except Refused as error:
            assert error.reason == "stale_epoch"
            refused += 1

    async with asyncio.TaskGroup() as group:
        for rival in rivals:
            group.create_task(attempt(change(rival)))
    assert refused == 19
    assert len(await store.read(ROOM, 0, *PLENTY)) == 1


async def test_changes_are_committed_in_the_order_of_the_calls(store: EventStore) -> None:
    await store.create_room(room(), ())
    events = log(300)
    async with asyncio.TaskGroup() as group:
        for event in events:
            group.create_task(store.apply(change(event)))
    assert await store.read(ROOM, 0, *PLENTY) == events


async def test_a_refused_change_does_not_hurt_its_companions(store: EventStore) -> None:
    await store.create_room(room(), ())
    await store.create_room(room(room_id=OTHER_ROOM), ())
    mine, theirs = log(4), log(4, room_id=OTHER_ROOM)
    wanted = [
        change(mine[0]),
        change(theirs[0], room_id=OTHER_ROOM),
        change(mine[0]),  # stale
        change(mine[1]),
        change(theirs[2], room_id=OTHER_ROOM),  # stale: a gap
        change(theirs[1], room_id=OTHER_ROOM),
    ]
    results: dict[int, str] = {}

    async def attempt(number: int) -> None:
        try:
            await store.apply(wanted[number])
            results[number] = "applied"
        except Refused as error:
            results[number] = error.reason

    async with asyncio.TaskGroup() as group:
        for number in range(len(wanted)):
            group.create_task(attempt(number))
    assert [results[number] for number in range(6)] == [
        "applied",
        "applied",
        "stale_epoch",
        "applied",
        "stale_epoch",
        "applied",
    ]
    assert await store.read(ROOM, 0, *PLENTY) == mine[:2]
    assert await store.read(OTHER_ROOM, 0, *PLENTY) == theirs[:2]


async def test_one_key_is_in_the_log_once(store: EventStore) -> None:
    """Situation 13: the same event id again, with the same or another body."""
    events = log(2)
    await store.create_room(room(events), events)
    fresh = follow(events[-1], proposal(3))
    for text in ("hello", "another body"):
        again = follow(fresh, proposal(1, text=text))
        # The whole change is refused, its good part too.
        wanted = RoomChange(room_id=ROOM, events=(fresh, again), outbox_put=(waiting(9),))
        assert await refusal(store, wanted) == "conflict"
    twice = (fresh, follow(fresh, proposal(3)))
    assert await refusal(store, change(*twice)) == "conflict"


async def test_a_room_that_is_not_here_takes_nothing(store: EventStore) -> None:
    await store.create_room(room(room_id=OTHER_ROOM), ())
    assert await refusal(store, change(*log(1))) == "not_found"
    only_outbox = RoomChange(room_id=ROOM, outbox_put=(waiting(1),))
    assert await refusal(store, only_outbox) == "not_found"


async def test_events_that_are_not_a_chain_are_a_bug(store: EventStore) -> None:
    await store.create_room(room(), ())
    events = log(3)
    for broken in (
        (events[0], events[2]),
        (events[0], follow(follow(None, proposal(1, text="x")), proposal(2))),
        (log(1, epoch=2)[0], follow(log(1, epoch=2)[0], proposal(2), epoch=1)),
    ):
        with pytest.raises(AssertionError):
            await store.apply(change(*broken))


async def test_the_outbox_keeps_order_and_forgets_what_is_in_the_log(store: EventStore) -> None:
    await store.create_room(room(), ())
    rows = [waiting(n) for n in (1, 2, 3, 4)]
    await store.apply(RoomChange(room_id=ROOM, outbox_put=(rows[2], rows[0])))
    await store.apply(RoomChange(room_id=ROOM, outbox_put=(rows[3], rows[1])))
    assert await store.outbox(ROOM) == tuple(rows)
    await store.apply(
        RoomChange(
            room_id=ROOM,
            events=log(1),
            outbox_drop=(rows[0].proposal.key,),
            outbox_refuse=((rows[1].proposal.key, "muted"),),
        )
    )
    refused = replace(rows[1], state="refused", reason="muted")
    assert await store.outbox(ROOM) == (refused, rows[2], rows[3])
    again = replace(rows[1], n=7)
    await store.apply(RoomChange(room_id=ROOM, outbox_put=(again,)))
    assert await store.outbox(ROOM) == (rows[2], rows[3], again)
    # Nothing to drop or refuse is no error: the verdict may come twice.
    key = ids.event_key(MEMBER, "never queued")
    await store.apply(RoomChange(room_id=ROOM, outbox_drop=(key,), outbox_refuse=((key, "x"),)))
    assert await store.outbox(ROOM) == (rows[2], rows[3], again)


async def test_a_place_in_the_outbox_is_given_once(store: EventStore) -> None:
    await store.create_room(room(), ())
    await store.apply(RoomChange(room_id=ROOM, outbox_put=(waiting(1),)))
    rival = replace(waiting(2), n=1)
    wanted = RoomChange(room_id=ROOM, outbox_put=(rival,))
    assert await refusal(store, wanted) == "conflict"


async def test_changes_of_one_outbox_in_one_commit_keep_their_meaning(store: EventStore) -> None:
    await store.create_room(room(), ())
    row = waiting(1)
    async with asyncio.TaskGroup() as group:
        for wanted in (
            RoomChange(room_id=ROOM, outbox_put=(row,)),
            RoomChange(room_id=ROOM, outbox_drop=(row.proposal.key,)),
            RoomChange(room_id=ROOM, outbox_put=(row,)),
            RoomChange(room_id=ROOM, outbox_refuse=((row.proposal.key, "muted"),)),
        ):
            group.create_task(store.apply(wanted))
    assert await store.outbox(ROOM) == (replace(row, state="refused", reason="muted"),)


async def test_a_forgotten_room_can_come_back(store: EventStore) -> None:
    events, other = log(3), log(1, room_id=OTHER_ROOM)
    await store.create_room(room(events), events)
    await store.create_room(room(other, OTHER_ROOM), other)
    await store.apply(RoomChange(room_id=ROOM, outbox_put=(waiting(9),)))
    await store.forget_room(ROOM)
    await store.forget_room(ROOM)
    assert await store.rooms() == (room(other, OTHER_ROOM),)
    assert await everything(store, ROOM) == ((room(other, OTHER_ROOM),), (), ())
    await store.create_room(room(), ())
    await store.apply(change(*events))
    assert await store.read(ROOM, 0, *PLENTY) == events
    assert await store.outbox(ROOM) == ()
