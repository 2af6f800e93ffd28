"""What an error of SQLite means for us: our bug, a full disk, or a disk that lost our trust.

    a constraint, bad SQL, a wrong type      the job's own fault: it is rolled back alone
    SQLITE_FULL                              `storage_full`; writing goes on when space returns
    busy, out of memory                      `storage_failed` for this batch only
    I/O error, corruption, read-only, ...    `storage_failed`, and writing ends for good

After a failed fsync the kernel may have dropped the very pages it could not write and report
success the next time. So an I/O error is final: no retry, no further commit; a restart checks
the file and the chain (attack 74).
"""

import sqlite3
from typing import Final

from mesh.core.errors import MeshError, StorageFailed

# What a job may raise by its own fault. Anything else ends its thread: writing stops, and
# nobody is told that something was stored (situation 150).
JOB_FAULTS: Final = (MeshError, sqlite3.Error, AssertionError, LookupError, TypeError, ValueError)

_FULL: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        # The shared memory of the WAL could not grow. Nothing was synced yet when this happens.
        sqlite3.SQLITE_IOERR_SHMSIZE,
    }
)
_PASSING: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM})
_OURS: Final = frozenset(
    {
        sqlite3.SQLITE_OK,  # raised by Python's module, not by the library
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_MISUSE,
        sqlite3.SQLITE_RANGE,
        sqlite3.SQLITE_TOOBIG,
    }
)


def is_jobs_own(error: sqlite3.Error) -> bool:
    """True if the job is at fault and the disk is not: a constraint, a wrong statement."""
    return _primary(error) in _OURS


def is_final(error: sqlite3.Error) -> bool:
    """True if nothing may be written any more after this error."""
    code = _code(error)
    return code not in _FULL and code & 0xFF not in _PASSING and not is_jobs_own(error)


def from_sqlite(error: sqlite3.Error) -> StorageFailed:
    """The refusal that tells a caller about an error of the disk."""
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    if _code(error) in _FULL:
        return StorageFailed("storage_full", "The disk is full; nothing was stored.", cause=name)
    return StorageFailed("storage_failed", f"The database could not be used: {error}.", cause=name)


def closed() -> StorageFailed:
    """The refusal of a file that is not open any more."""
    return StorageFailed("storage_failed", "The database is closed.")


def _code(error: sqlite3.Error) -> int:
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code


def _primary(error: sqlite3.Error) -> int:
    return _code(error) & 0xFF
