"""The place of a reader, without a node."""

import asyncio
from collections.abc import Callable
from typing import Any

from mesh.client.subscription import QUEUE_MAX, RoomEvent, RoomSignal, Subscription


def event(seq: int) -> dict[str, Any]:
    return {"type": "group.event", "room_id": "r", "seq": seq, "payload": {"kind": "x", "seq": seq}}


def signal() -> dict[str, Any]:
    return {"type": "group.signal", "room_id": "r", "payload": {"kind": "presence"}}


def place(since_seq: int = 0) -> Subscription:
    made = Subscription("r", since_seq)
    assert made.subscribing() == since_seq
    return made


def drained(of: Subscription) -> list[int | str]:
    found: list[int | str] = []
    while (item := of.next_item()) is not None:
        if isinstance(item, RoomEvent):
            found.append(item.seq)
        elif isinstance(item, RoomSignal):
            found.append(item.kind)
    return found


def test_before_it_is_subscribed_nothing_is_taken() -> None:
    made = Subscription("r", 0)
    made.take(event(1))
    assert made.behind and drained(made) == []


def test_repetitions_are_dropped() -> None:
    made = place(3)
    for seq in (2, 3, 4, 4, 1, 5):
        made.take(event(seq))
    assert drained(made) == [4, 5]
    assert made.cursor == 5


def test_what_is_not_the_next_makes_it_fall_behind() -> None:
    made = place()
    made.take(event(1))
    made.take(event(3))
    made.take(event(4))
    behind = made.behind
    assert behind
    assert drained(made) == [1]
    assert made.subscribing() == 1
    made.take(event(2))
    assert drained(made) == [2]


def test_a_full_queue_falls_behind_and_loses_signals_only() -> None:
    made = place()
    for seq in range(1, QUEUE_MAX + 1):
        made.take(event(seq))
    made.take(signal())
    was_behind = made.behind
    made.take(event(QUEUE_MAX + 1))
    assert (was_behind, made.behind) == (False, True)
    assert drained(made) == list(range(1, QUEUE_MAX + 1))
    assert made.subscribing() == QUEUE_MAX


def test_signals_keep_their_place_between_events() -> None:
    made = place()
    made.take(event(1))
    made.take(signal())
    made.take(event(2))
    assert drained(made) == [1, "presence", 2]


async def test_a_reader_is_woken_by_an_item_a_drop_and_the_end() -> None:
    made = place()
    wakes: list[Callable[[], None]] = [
        lambda: made.take(event(1)),
        made.dropped,
        lambda: made.fail(KeyError()),
    ]
    for wake in wakes:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(made.wait())
            await asyncio.sleep(0)
            assert not waiting.done()
            wake()
        drained(made)
        made.subscribing()
    assert isinstance(made.failed, KeyError)
