"""Walking a stored log: every column that is touched is found, and where."""

import sqlite3
from pathlib import Path

import pytest

from mesh.core.errors import StorageFailed
from mesh.storage.chain_check import ChainFault
from mesh.storage.database import Database
from mesh.storage.event_store import DiskEventStore
from tests.storage.logs import OTHER_ROOM, ROOM, log, room

COUNT = 450  # more than two pages of the walk


async def fill(path: Path) -> None:
    events = log(COUNT)
    async with Database(path) as database:
        store = DiskEventStore(database)
        await store.create_room(room(events), events)
        await store.create_room(room(room_id=OTHER_ROOM), ())


def touch(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


async def check(path: Path) -> ChainFault | None:
    async with Database(path) as database:
        return await DiskEventStore(database).verify_chain(ROOM)


async def test_a_whole_log_holds(path: Path) -> None:
    await fill(path)
    assert await check(path) is None
    async with Database(path) as database:
        assert await DiskEventStore(database).verify_chain(OTHER_ROOM) is None
        unknown = await DiskEventStore(database).verify_chain("r_" + "9" * 32)
        assert unknown == ChainFault(seq=0, message="the room is not stored here")


@pytest.mark.parametrize("seq", [1, 200, 201, COUNT])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("raw = CAST(replace(raw, 'hello', 'jello') AS BLOB)", "not about this proposal"),
        ("raw = x'00'", "cannot be read"),
        ("header = CAST(replace(header, '10000', '10001') AS BLOB)", "stored hash"),
        ("hash = zeroblob(32)", "stored hash"),
        ("key = zeroblob(32)", "stored key"),
        ("kind = 'message.member'", "stored kind"),
        ("epoch = 7", "stored kind or epoch"),
        ("author_sig = x''", "signature is cut"),
        ("authority_sig = zeroblob(63)", "signature is cut"),
    ],
)
async def test_a_touched_row_is_found(path: Path, seq: int, change: str, message: str) -> None:
    await fill(path)
    touch(path, f"UPDATE events SET {change} WHERE room = 1 AND place & 1048575 = {seq}")
    fault = await check(path)
    assert fault is not None
    assert fault.seq == seq
    assert message in fault.message


@pytest.mark.parametrize(
    ("statement", "seq", "message"),
    [
        ("DELETE FROM events WHERE place = (1 << 40) + 300", 300, "missing"),
        ("DELETE FROM events WHERE place > (1 << 40) + 300", 301, "ends before"),
        ("DELETE FROM events", 1, "ends before"),
        ("UPDATE rooms SET head_hash = zeroblob(32)", COUNT, "head is not its last"),
        (f"UPDATE rooms SET head_seq = {COUNT + 1}", COUNT + 1, "ends before"),
        ("UPDATE events SET place = place + 1 WHERE place = (1 << 40) + 450", 450, "missing"),
    ],
)
async def test_a_log_that_is_not_dense_is_found(
    path: Path, statement: str, seq: int, message: str
) -> None:
    await fill(path)
    touch(path, statement)
    fault = await check(path)
    assert fault is not None
    assert fault.seq == seq
    assert message in fault.message


async def test_two_rows_that_changed_places_are_found(path: Path) -> None:
    await fill(path)
    touch(path, "UPDATE events SET place = -1 WHERE place = (1 << 40) + 5")
    touch(path, "UPDATE events SET place = (1 << 40) + 5 WHERE place = (1 << 40) + 6")
    touch(path, "UPDATE events SET place = (1 << 40) + 6 WHERE place = -1")
    assert await check(path) == ChainFault(seq=5, message="the header tells another seq")


async def test_damage_is_never_served(path: Path) -> None:
    """Attack 77: reading finds it too, without a walk."""
    await fill(path)
    touch(
        path,
        "UPDATE events SET raw = CAST(replace(raw, 'hello', 'jello') AS BLOB)"
        " WHERE place = (1 << 40) + 3",
    )
    async with Database(path) as database:
        store = DiskEventStore(database)
        for read in (store.read, store.read_wire):
            assert len(await read(ROOM, 0, 2, 1 << 20)) == 2
            with pytest.raises(StorageFailed, match="Event 3 on this disk is damaged"):
                await read(ROOM, 0, 10, 1 << 20)
