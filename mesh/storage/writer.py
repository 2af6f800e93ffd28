"""The one thread that writes, and how many jobs share one fsync.

    write(job) --> queue --> take all that wait (at most GROUP_COMMIT_MAX)
                               BEGIN, each job, COMMIT (fsync) --> all their futures, at once

There is no waiting for company: a single job is committed at once, and what arrives while the
disk works shares the next commit. Jobs run in the order in which they were written.

A job that refuses before it changed anything costs its companions nothing. If one fails after a
change, the batch is rolled back and run again with a savepoint around each job, so that only the
guilty one is undone. Therefore a job may run twice and must act through its connection alone.

Neighbours of one kind can be merged: one function then writes all their items with a few large
statements. That is more than a saving. Each call into SQLite gives up the interpreter's lock, and
while the loop is busy it comes back only after a switch interval (5 ms by default): 256 small
statements then take seconds, one large statement takes one turn.

An error of the disk fails the whole batch: nothing of it is acknowledged. After an error that is
final (see disk_fault) every later job is refused without touching the file.
"""

import asyncio
import contextlib
import itertools
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from mesh.core.errors import MeshError, Refused, StorageFailed
from mesh.core.limits import (
    GROUP_COMMIT_MAX,
    STORAGE_QUEUE_MAX,
    WAL_CHECKPOINT_BYTES,
    WAL_CHECKPOINT_COMMITS,
)
from mesh.storage import disk_fault

T = TypeVar("T")
Item = TypeVar("Item")
WriteJob = Callable[[sqlite3.Connection], T]
Merge = Callable[[sqlite3.Connection, Sequence[Item]], None]


@dataclass(frozen=True, slots=True)
class _Queued:
    """A job; or, with `merge`, an item that is written together with its neighbours."""

    done: asyncio.Future[Any]
    events: int
    run: WriteJob[Any] | None = None
    merge: Merge[Any] | None = None
    item: Any = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    done: asyncio.Future[Any]
    value: Any = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterStatistics:
    """Counters since the start. `commit_s` is the sum of all batches, fsync included."""

    jobs: int
    commits: int
    events: int
    failed: int
    rerun: int
    checkpoints: int
    commit_s: float
    queue_length: int


class WriterThread:
    """Owns the read-write connection. All public methods belong to the loop's thread."""

    def __init__(
        self,
        path: Path,
        connect: Callable[[], sqlite3.Connection],
        close: Callable[[sqlite3.Connection], None],
    ) -> None:
        self._wal = path.with_name(path.name + "-wal")
        self._connect = connect
        self._close = close
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[_Queued | None] = SimpleQueue()
        self._pending: set[asyncio.Future[Any]] = set()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._main, name="storage-writer", daemon=True)
        self._accepting = False
        # Written by the thread, read by both.
        self._failure: StorageFailed | None = None
        self._full = False
        # The thread's own.
        self._stopping = False
        self._wal_bytes = 0
        self._unchecked_commits = 0
        self._jobs = self._commits = self._events = 0
        self._failed = self._rerun = self._checkpoints = 0
        self._commit_s = 0.0

    @property
    def failure(self) -> StorageFailed | None:
        """Why writing has ended for good, or None."""
        return self._failure

    @property
    def is_full(self) -> bool:
        """True while the last batch found the disk full."""
        return self._full

    def statistics(self) -> WriterStatistics:
        """The counters now."""
        return WriterStatistics(
            jobs=self._jobs,
            commits=self._commits,
            events=self._events,
            failed=self._failed,
            rerun=self._rerun,
            checkpoints=self._checkpoints,
            commit_s=self._commit_s,
            queue_length=len(self._pending),
        )

    async def start(self) -> None:
        """Open the file in the thread. Raises whatever `connect` raises."""
        self._thread.start()
        try:
            await self._opened
            self._accepting = True
        finally:
            if not self._accepting:
                await self.stop()

    async def stop(self) -> None:
        """Commit what was queued, close the file, end the thread."""
        self._accepting = False
        self._queue.put(None)
        try:
            await self._ended
        finally:
            # Also when we are cancelled: the thread is in its last commit at most.
            self._thread.join()

    def write(self, job: WriteJob[T], events: int = 0) -> asyncio.Future[T]:
        """Queue a job; the future ends after its commit. A cancelled waiter undoes nothing.

        Raises:
            Refused: reason `busy`, STORAGE_QUEUE_MAX jobs are waiting.
            StorageFailed: the file is closed.
        """
        done: asyncio.Future[T] = self._loop.create_future()
        self._enqueue(_Queued(done, events, run=job))
        return done

    def write_merged(self, merge: Merge[Item], item: Item, events: int = 0) -> asyncio.Future[None]:
        """Queue an item for `merge`, which gets it together with its neighbours in the queue.

        Raises as `write`.
        """
        done: asyncio.Future[None] = self._loop.create_future()
        self._enqueue(_Queued(done, events, merge=merge, item=item))
        return done

    def _enqueue(self, job: _Queued) -> None:
        if not self._accepting:
            raise disk_fault.closed()
        if len(self._pending) >= STORAGE_QUEUE_MAX:
            raise Refused("busy", "Too much is waiting for the disk.")
        self._pending.add(job.done)
        self._queue.put(job)

    # ---- the loop's side of a batch

    def _deliver(self, outcomes: Sequence[_Outcome]) -> None:
        for outcome in outcomes:
            done = outcome.done
            self._pending.discard(done)
            if done.done():
                continue  # its waiter was cancelled
            if outcome.error is None:
                done.set_result(outcome.value)
            else:
                done.set_exception(outcome.error)

    def _tell_opened(self, error: MeshError | None) -> None:
        if self._opened.done():
            return  # its waiter was cancelled
        if error is None:
            self._opened.set_result(None)
        else:
            self._opened.set_exception(error)

    def _finish(self) -> None:
        """The thread has ended. What it still held was not committed."""
        if not self._stopping and self._failure is None:
            self._failure = disk_fault.closed()  # by a fault: we do not look ready (situation 150)
        self._accepting = False
        self._tell_opened(disk_fault.closed())
        for done in self._pending:
            if not done.done():
                done.set_exception(disk_fault.closed())
        self._pending.clear()
        self._ended.set_result(None)

    def _post(self, callback: Callable[..., object], *args: object) -> None:
        # A closed loop has no waiters left to be told.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *args)

    # ---- the thread

    def _main(self) -> None:
        try:
            try:
                connection = self._connect()
            except MeshError as error:
                self._post(self._tell_opened, error)
                return
            self._post(self._tell_opened, None)
            try:
                while not self._stopping:
                    self._serve(connection)
            finally:
                self._close(connection)
        finally:
            self._post(self._finish)

    def _serve(self, connection: sqlite3.Connection) -> None:
        batch = self._take()
        if not batch:
            return
        self._jobs += len(batch)
        if self._failure is not None:
            outcomes = self._fail(batch, self._failure)
        else:
            started_s = time.perf_counter()
            outcomes = self._commit(connection, batch)
            self._commit_s += time.perf_counter() - started_s
        self._post(self._deliver, outcomes)
        if self._failure is None and self._checkpoint_is_due():
            self._checkpoint(connection)

    def _take(self) -> list[_Queued]:
        """Everything that waits, up to one batch; empty only when the thread must end."""
        batch: list[_Queued] = []
        job = self._queue.get()
        while job is not None:
            batch.append(job)
            if len(batch) == GROUP_COMMIT_MAX:
                return batch
            try:
                job = self._queue.get_nowait()
            except Empty:
                return batch
        self._stopping = True
        return batch

    def _commit(self, connection: sqlite3.Connection, batch: list[_Queued]) -> list[_Outcome]:
        changes = connection.total_changes
        try:
            outcomes = _run(connection, batch)
            if outcomes is None:
                connection.execute("ROLLBACK")
                self._rerun += 1
                outcomes = _run_apart(connection, batch)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._give_up(connection, error)
            return self._fail(batch, disk_fault.from_sqlite(error))
        # A batch that wrote nothing says nothing about the disk.
        if connection.total_changes != changes and any(item.error is None for item in outcomes):
            self._full = False
        self._commits += 1
        self._unchecked_commits += 1
        for job, outcome in zip(batch, outcomes, strict=True):
            if outcome.error is None:
                self._events += job.events
            else:
                self._failed += 1
        return outcomes

    def _fail(self, batch: list[_Queued], failure: StorageFailed) -> list[_Outcome]:
        self._failed += len(batch)
        return [_Outcome(job.done, error=_copy(failure)) for job in batch]

    def _give_up(self, connection: sqlite3.Connection, error: sqlite3.Error) -> None:
        """Undo the batch; decide whether writing may ever go on."""
        failure = disk_fault.from_sqlite(error)
        self._full = failure.reason == "storage_full"
        if disk_fault.is_final(error):
            self._failure = failure
        if connection.in_transaction:
            try:
                connection.execute("ROLLBACK")
            except sqlite3.Error as second:
                self._failure = disk_fault.from_sqlite(second)

    # ---- the write-ahead log

    def _checkpoint_is_due(self) -> bool:
        if self._unchecked_commits >= WAL_CHECKPOINT_COMMITS:
            return True
        # The file is reused from its start, so growth means frames not yet moved. It is cut only
        # when it begins anew above WAL_BYTES_KEPT.
        size_bytes = self._wal_size()
        self._wal_bytes = min(self._wal_bytes, size_bytes)
        return size_bytes - self._wal_bytes >= WAL_CHECKPOINT_BYTES

    def _checkpoint(self, connection: sqlite3.Connection) -> None:
        """Move frames into the main file.

        SQLite's automatic checkpoint hides a failed fsync of the main file and tries again
        later, which is exactly the retry that loses pages. So we do it, and look.
        """
        self._unchecked_commits = 0
        self._checkpoints += 1
        try:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            self._full = disk_fault.from_sqlite(error).reason == "storage_full"
            if disk_fault.is_final(error):
                self._failure = disk_fault.from_sqlite(error)
        self._wal_bytes = self._wal_size()

    def _wal_size(self) -> int:
        try:
            return os.stat(self._wal).st_size
        except FileNotFoundError:
            return 0


def _run(connection: sqlite3.Connection, batch: list[_Queued]) -> list[_Outcome] | None:
    """Run all jobs in one transaction that is left open; None if one fails half-way."""
    outcomes = []
    connection.execute("BEGIN IMMEDIATE")
    for jobs in _neighbours(batch):
        changes = connection.total_changes
        try:
            value = _perform(connection, jobs)
            outcomes += [_Outcome(job.done, value=value) for job in jobs]
        except disk_fault.JOB_FAULTS as error:
            _raise_if_disk(error)
            if len(jobs) > 1 or connection.total_changes != changes:
                return None
            outcomes.append(_Outcome(jobs[0].done, error=error))
    return outcomes


def _run_apart(connection: sqlite3.Connection, batch: list[_Queued]) -> list[_Outcome]:
    """Run all jobs in one transaction, each undone alone if it fails."""
    outcomes = []
    connection.execute("BEGIN IMMEDIATE")
    for job in batch:
        connection.execute("SAVEPOINT job")
        try:
            outcomes.append(_Outcome(job.done, value=_perform(connection, [job])))
        except disk_fault.JOB_FAULTS as error:
            _raise_if_disk(error)
            connection.execute("ROLLBACK TO job")
            outcomes.append(_Outcome(job.done, error=error))
        connection.execute("RELEASE job")
    return outcomes


def _neighbours(batch: list[_Queued]) -> Iterator[list[_Queued]]:
    """The batch in its order, cut into single jobs and runs of items that merge."""
    for merge, group in itertools.groupby(batch, key=lambda job: job.merge):
        if merge is None:
            yield from ([job] for job in group)
        else:
            yield list(group)


def _perform(connection: sqlite3.Connection, jobs: list[_Queued]) -> Any:
    first = jobs[0]
    if first.merge is not None:
        return first.merge(connection, [job.item for job in jobs])
    assert first.run is not None and len(jobs) == 1
    return first.run(connection)


def _raise_if_disk(error: Exception) -> None:
    if isinstance(error, sqlite3.Error) and not disk_fault.is_jobs_own(error):
        raise error


def _copy(failure: StorageFailed) -> StorageFailed:
    """A fresh exception for each waiter: a shared one would collect all their tracebacks."""
    return StorageFailed(failure.reason, failure.message, next=failure.next, **failure.fields)
