"""Threads that read beside the writer, each with its own read-only connection.

A read job runs in one read transaction and sees a consistent file. It can change nothing: the
connection is opened read-only and told so again. Reads go on when writing has ended.
"""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from mesh.core.errors import Refused
from mesh.core.limits import STORAGE_READS_MAX
from mesh.storage import disk_fault

T = TypeVar("T")
ReadJob = Callable[[sqlite3.Connection], T]


class Readers:
    """A few reading threads. All public methods belong to the loop's thread."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], count: int) -> None:
        assert count >= 1, count
        self._connect = connect
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[tuple[ReadJob[Any], asyncio.Future[Any]] | None] = SimpleQueue()
        self._pending: set[asyncio.Future[Any]] = set()
        self._accepting = False
        self._alive = 0
        self._ended = asyncio.Event()
        self._threads = [
            threading.Thread(target=self._main, name=f"storage-reader-{n}", daemon=True)
            for n in range(count)
        ]

    @property
    def queue_length(self) -> int:
        """Reads that wait or run."""
        return len(self._pending)

    def start(self) -> None:
        """Start the threads; each opens its connection by itself."""
        self._alive = len(self._threads)
        self._accepting = True
        for thread in self._threads:
            thread.start()

    async def stop(self) -> None:
        """Finish what was queued, close the connections, end the threads."""
        self._accepting = False
        for _ in self._threads:
            self._queue.put(None)
        try:
            await self._ended.wait()
        finally:
            for thread in self._threads:
                thread.join()

    def read(self, job: ReadJob[T]) -> asyncio.Future[T]:
        """Queue a read.

        Raises:
            Refused: reason `busy`, STORAGE_READS_MAX reads are waiting.
            StorageFailed: the file is closed.
        """
        if not self._accepting:
            raise disk_fault.closed()
        if len(self._pending) >= STORAGE_READS_MAX:
            raise Refused("busy", "Too many reads are waiting for the disk.")
        done: asyncio.Future[T] = self._loop.create_future()
        self._pending.add(done)
        self._queue.put((job, done))
        return done

    def _deliver(self, done: asyncio.Future[Any], value: object, error: Exception | None) -> None:
        self._pending.discard(done)
        if done.done():
            return  # its waiter was cancelled
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def _finish(self) -> None:
        """One thread has ended; with the last one nobody is left to answer."""
        self._alive -= 1
        if self._alive:
            return
        self._accepting = False
        for done in self._pending:
            if not done.done():
                done.set_exception(disk_fault.closed())
        self._pending.clear()
        self._ended.set()

    def _post(self, callback: Callable[..., object], *args: object) -> None:
        # A closed loop has no waiters left to be told.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *args)

    def _main(self) -> None:
        connection: sqlite3.Connection | None = None
        try:
            while (item := self._queue.get()) is not None:
                job, done = item
                value, fault = None, None
                try:
                    connection = connection or self._connect()
                    value = _in_transaction(connection, job)
                except disk_fault.JOB_FAULTS as error:
                    fault = _tell(error)
                self._post(self._deliver, done, value, fault)
        finally:
            if connection is not None:
                connection.close()
            self._post(self._finish)


def _in_transaction(connection: sqlite3.Connection, job: ReadJob[T]) -> T:
    connection.execute("BEGIN")
    try:
        return job(connection)
    finally:
        connection.execute("ROLLBACK")


def _tell(error: Exception) -> Exception:
    if isinstance(error, sqlite3.Error) and not disk_fault.is_jobs_own(error):
        return disk_fault.from_sqlite(error)
    return error
