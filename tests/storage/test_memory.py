"""The store in memory is a port like the one on disk; test_event_store runs on both."""

from mesh import stores
from mesh.storage.memory import MemoryEventStore
from tests.storage.logs import ROOM, change, log, room


async def test_a_caller_cannot_reach_the_stored_log() -> None:
    store: stores.EventStore = MemoryEventStore()
    first = list(log(1))
    await store.create_room(room(tuple(first)), first)
    first.clear()
    await store.apply(change(*log(2)[1:]))
    assert await store.read(ROOM, 0, 10, 1 << 20) == log(2)
