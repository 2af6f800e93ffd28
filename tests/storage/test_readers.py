"""Reading threads: they change nothing, see one moment, and refuse beyond their bound."""

import asyncio
import sqlite3
import threading

import pytest

from mesh.core.errors import Refused, StorageFailed
from mesh.core.limits import STORAGE_READERS, STORAGE_READS_MAX
from mesh.storage.database import Database
from mesh.storage.settings_store import DiskSettings

COUNT = "SELECT count(*) FROM settings"


async def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(StorageFailed, match="readonly"):
        await database.read(lambda connection: connection.execute("DELETE FROM settings"))


async def test_a_read_sees_one_moment(database: Database) -> None:
    begun, written = threading.Event(), threading.Event()

    def job(connection: sqlite3.Connection) -> tuple[int, int]:
        first = connection.execute(COUNT).fetchone()[0]
        begun.set()
        assert written.wait(10)
        return first, connection.execute(COUNT).fetchone()[0]

    reading = database.read(job)
    await asyncio.to_thread(begun.wait)
    await DiskSettings(database).put("a", "b")
    written.set()
    assert await reading == (0, 0)
    assert await database.read(lambda c: c.execute(COUNT).fetchone()[0]) == 1


async def test_a_wrong_job_gets_its_own_error_and_the_thread_goes_on(database: Database) -> None:
    for _ in range(STORAGE_READERS + 1):
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            await database.read(lambda connection: connection.execute("SELECT * FROM nowhere"))
    assert await database.read(lambda c: c.execute(COUNT).fetchone()[0]) == 0


async def test_too_many_reads_are_refused(database: Database) -> None:
    held = threading.Event()
    reads = [database.read(lambda _: held.wait(10)) for _ in range(STORAGE_READS_MAX)]
    with pytest.raises(Refused) as refused:
        database.read(lambda _: None)
    assert refused.value.reason == "busy"
    assert database.statistics().reads_waiting == STORAGE_READS_MAX
    held.set()
    for read in reads:
        assert await read


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_dead_threads_answer_nobody_and_keep_nobody_waiting(database: Database) -> None:
    def die(connection: sqlite3.Connection) -> None:
        raise MemoryError

    reads = [database.read(die) for _ in range(STORAGE_READERS)]
    reads.append(database.read(lambda _: None))
    for read in reads:
        with pytest.raises(StorageFailed):
            await read
    with pytest.raises(StorageFailed):
        database.read(lambda _: None)
