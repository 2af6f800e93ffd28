"""A process that appends to a room and says what was acknowledged, until it is killed or fails.

    python -m tests.storage.appender kill DATABASE      one child for each line on stdin
    python -m tests.storage.appender fail DATABASE N    go on until the disk fails, say how;
                                                        each event has a text of N characters

Lines on stdout: `pid N`, `opened HEAD`, `ack SEQ HASH`, then `failed REASON`, `then REASON` for
one more try, `read COUNT` and `left` after an orderly close.
"""

import asyncio
import os
import sys
from pathlib import Path

from mesh.core.errors import StorageFailed
from mesh.core.event import Event
from mesh.storage.database import Database
from mesh.storage.event_store import DiskEventStore
from tests.storage.logs import ROOM, change, log, room

IN_FLIGHT = 8


def say(*words: object) -> None:
    """One line, in one call: another process may write to the same pipe."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def open_log(database: Database) -> tuple[DiskEventStore, Event | None]:
    """The store, with its room checked or created, and the room's last event."""
    store = DiskEventStore(database)
    rooms = await store.rooms()
    if not rooms:
        await store.create_room(room(), ())
        say("opened", 0)
        return store, None
    fault = await store.verify_chain(ROOM)
    head = rooms[0].head_seq
    say("opened", head if fault is None else fault)
    last = await store.read(ROOM, head - 1, 1, 1 << 20) if head else (None,)
    return store, last[0]


async def append_for_ever(path: Path, text: str) -> None:
    """Several writers, one chain; ends with StorageFailed only."""
    async with Database(path) as database:
        store, last = await open_log(database)

        async def write() -> None:
            nonlocal last
            while True:
                (event,) = log(1, after=last, text=text)
                last = event
                try:
                    await store.apply(change(event))
                except StorageFailed as failed:
                    say("failed", failed.reason)
                    return
                say("ack", event.seq, event.hash)

        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(write())
        await after_failure(database, store)
    say("left")


async def after_failure(database: Database, store: DiskEventStore) -> None:
    """One more try, and what can still be read."""
    head = (await store.rooms())[0].head_seq
    (last,) = await store.read(ROOM, head - 1, 1, 1 << 20)
    try:
        await store.apply(change(*log(1, after=last)))
        say("then", "stored")
    except StorageFailed as failed:
        say("then", failed.reason)
    assert database.statistics().has_failed
    say("read", len(await store.read(ROOM, 0, 1_000_000, 1 << 30)))


def kill_me(path: Path) -> None:
    """For each line on stdin fork a child that appends until it is killed."""
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            say("pid", os.getpid())
            asyncio.run(append_for_ever(path, "hello"))
            os._exit(0)
        os.waitpid(pid, 0)
        say("dead")


if __name__ == "__main__":
    if sys.argv[1] == "kill":
        kill_me(Path(sys.argv[2]))
    else:
        asyncio.run(append_for_ever(Path(sys.argv[2]), "x" * int(sys.argv[3])))
