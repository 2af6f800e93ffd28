"""The database file of one install: opened with suspicion, written by one thread.

    async with Database(home / "node.db") as db:
        await db.write(lambda connection: ...)    # returns after the commit is on the disk
        await db.read(lambda connection: ...)     # beside the writer, never blocks the loop

WAL with `synchronous=FULL`: a commit that returned has been synced. SQLite 3.40 has a fault when
two connections write one WAL, so there is exactly one read-write connection, in one thread; all
others are read-only, and tools go through the node. That no second node uses the same home is
assured elsewhere, by a lock on the home.

Opening refuses: a file others may read (attack 55), a symbolic link, a newer schema, a file of
another program, and a damaged file, which is looked for when the last close was not orderly.
"""

import asyncio
import contextlib
import os
import sqlite3
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar
from urllib.parse import quote

from mesh.core.errors import Refused, StorageFailed
from mesh.core.limits import STORAGE_BUSY_MS, STORAGE_READERS, STORAGE_SWITCH_S, WAL_BYTES_KEPT
from mesh.storage import disk_fault, migrate
from mesh.storage.readers import Readers, ReadJob
from mesh.storage.writer import Merge, WriteJob, WriterStatistics, WriterThread

Item = TypeVar("Item")
T = TypeVar("T")

_SQLITE_MIN: Final = (3, 37, 0)  # STRICT tables

_WRITER_SETTINGS: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    # macOS: without these a sync does not reach the disk. Elsewhere they do nothing.
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA foreign_keys = ON",
    # We checkpoint ourselves; see writer._checkpoint.
    "PRAGMA wal_autocheckpoint = 0",
    f"PRAGMA journal_size_limit = {WAL_BYTES_KEPT}",
    "PRAGMA cache_size = -16384",
)
_ALL_SETTINGS: Final = (
    f"PRAGMA busy_timeout = {STORAGE_BUSY_MS}",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA temp_store = MEMORY",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseStatistics:
    """For /metrics: the writer's counters, and the reads that wait."""

    writer: WriterStatistics
    reads_waiting: int
    is_full: bool
    has_failed: bool


class Database:
    """One SQLite file. Use it with `async with`; one instance per file and process."""

    def __init__(self, path: Path, *, readers: int = STORAGE_READERS) -> None:
        self._path = path
        self._reader_count = readers
        self._writer: WriterThread | None = None
        self._readers: Readers | None = None
        self._was_unclean = False

    async def __aenter__(self) -> Self:
        """Open, check and migrate.

        Raises:
            StorageFailed: the file cannot be used, is readable by others, or is damaged.
            Refused: reason `unsupported`, a newer schema or a foreign file.
        """
        assert self._writer is None, "a Database is opened once"
        # A thread that waits for the interpreter asks for it only after this interval, and a loop
        # that rests more often than that never lets it ask. At the default of 5 ms a loop that
        # is merely busy was measured to hold up commits for seconds.
        sys.setswitchinterval(min(sys.getswitchinterval(), STORAGE_SWITCH_S))
        self._writer = WriterThread(self._path, self._open, self._close)
        await self._writer.start()
        self._readers = Readers(self._open_reader, self._reader_count)
        self._readers.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit what is queued, mark the file as closed in order, close it."""
        assert self._writer is not None and self._readers is not None
        try:
            await self._readers.stop()
        finally:
            await self._writer.stop()

    def write(self, job: WriteJob[T], *, events: int = 0) -> asyncio.Future[T]:
        """Run `job` in the next commit; the future ends after the fsync.

        Jobs run in the order of these calls. A job may run twice (see writer) and must have no
        effect but through its connection. `events` is for the statistics.

        Raises:
            Refused: reason `busy`, at once, when too much is waiting.
            StorageFailed: through the future, nothing was stored; or at once when closed.
        """
        assert self._writer is not None, "not opened"
        return self._writer.write(job, events)

    def write_merged(
        self, merge: Merge[Item], item: Item, *, events: int = 0
    ) -> asyncio.Future[None]:
        """As `write`, for an item that `merge` writes together with its neighbours in the queue.

        If `merge` refuses several items, it is called again for each alone.
        """
        assert self._writer is not None, "not opened"
        return self._writer.write_merged(merge, item, events)

    def read(self, job: ReadJob[T]) -> asyncio.Future[T]:
        """Run `job` in a reading thread; it sees every commit whose future has ended.

        Raises:
            Refused: reason `busy`, at once, when too many reads wait.
            StorageFailed: the file could not be read.
        """
        assert self._readers is not None, "not opened"
        return self._readers.read(job)

    @property
    def was_unclean(self) -> bool:
        """True if the last close was not orderly: the chains of all rooms should be checked."""
        return self._was_unclean

    @property
    def failure(self) -> StorageFailed | None:
        """Why nothing can be written any more, or None."""
        assert self._writer is not None, "not opened"
        return self._writer.failure

    def statistics(self) -> DatabaseStatistics:
        """The counters now."""
        assert self._writer is not None and self._readers is not None, "not opened"
        return DatabaseStatistics(
            writer=self._writer.statistics(),
            reads_waiting=self._readers.queue_length,
            is_full=self._writer.is_full,
            has_failed=self._writer.failure is not None,
        )

    # ---- in the threads

    def _open(self) -> sqlite3.Connection:
        """The read-write connection, after all checks."""
        if sqlite3.sqlite_version_info < _SQLITE_MIN:
            raise Refused(
                "unsupported",
                f"SQLite {sqlite3.sqlite_version} is too old.",
                next="Use a Python that carries SQLite 3.37 or later.",
            )
        _make_private(self._path)
        connection = _connect(self._path, "rw")
        try:
            steps = migrate.known()
            version = migrate.check(connection, steps)
            for setting in _WRITER_SETTINGS:
                connection.execute(setting).fetchall()
            # A file that was never finished is checked too: its first migration did not commit.
            self._was_unclean = bool(version) and not _is_clean(connection)
            if self._was_unclean:
                _check_pages(connection)
            migrate.migrate(connection, steps)
            connection.execute("UPDATE store SET clean = 0")
            # Into the main file at once: if the write-ahead log were deleted while we run, the
            # file must not look as if it had been closed in order (attack 77).
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            self._close_keeping_log(connection)
            raise disk_fault.from_sqlite(error) from error
        except (Refused, StorageFailed):
            self._close_keeping_log(connection)
            raise
        return connection

    def _close(self, connection: sqlite3.Connection) -> None:
        assert self._writer is not None
        if self._writer.failure is not None:
            self._close_keeping_log(connection)
            return
        try:
            # All of it is in the main file and synced before the file may say so.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute("UPDATE store SET clean = 1")
        except sqlite3.Error:
            # A full or failing disk refuses the mark; the next start checks the file.
            self._close_keeping_log(connection)
        else:
            connection.close()

    def _close_keeping_log(self, connection: sqlite3.Connection) -> None:
        """Close without another sync.

        The last connection that closes moves the write-ahead log into the file and deletes it,
        whatever the disk says. A read-only one cannot, so it must be the last.
        """
        with contextlib.suppress(StorageFailed, sqlite3.Error):
            last = self._open_reader()
            last.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            connection.close()
            last.close()
        connection.close()

    def _open_reader(self) -> sqlite3.Connection:
        connection = _connect(self._path, "ro")
        connection.execute("PRAGMA query_only = ON")
        return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, cached_statements=512)
        for setting in _ALL_SETTINGS:
            connection.execute(setting).fetchall()
    except sqlite3.Error as error:
        raise disk_fault.from_sqlite(error) from error
    return connection


def _make_private(path: Path) -> None:
    """Create the file for the owner alone, or refuse one that others can reach."""
    try:
        # O_NOFOLLOW and O_EXCL: a file or link that someone put there first is not ours. SQLite
        # gives its -wal and -shm files the mode of this one.
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR, 0o600)
    except FileExistsError:
        _refuse_shared(path)
    except OSError as error:
        raise StorageFailed(
            "storage_failed", f"The database could not be created: {error.strerror}."
        ) from error
    else:
        os.close(descriptor)


def _refuse_shared(path: Path) -> None:
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise StorageFailed("storage_failed", "The database is not a regular file.")
    if found.st_uid != os.geteuid():
        raise StorageFailed(
            "storage_failed",
            "The database belongs to another user of this machine.",
            next="Run the node as that user, or use another --home.",
        )
    if found.st_mode & 0o077:
        raise StorageFailed(
            "storage_failed",
            f"Others on this machine can reach the database (mode {found.st_mode & 0o777:o}).",
            next=f"Run `chmod 600 {path.name}` in the node's home.",
        )


def _is_clean(connection: sqlite3.Connection) -> bool:
    row = connection.execute("SELECT clean FROM store").fetchone()
    return row is not None and row[0] == 1


def _check_pages(connection: sqlite3.Connection) -> None:
    """Look for damage after an unclean stop.

    Raises:
        StorageFailed: with the first thing that SQLite found.
    """
    found: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise StorageFailed(
            "storage_failed",
            f"The database is damaged: {found.splitlines()[0][:200]}.",
            next="Keep a copy of the file, and restore a backup or join the rooms again.",
        )
