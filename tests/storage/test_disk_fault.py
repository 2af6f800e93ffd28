"""Errors of SQLite: whose fault each is, and whether writing may go on."""

import sqlite3

import pytest

from mesh.storage import disk_fault


def error_of(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("what it says")
    error.sqlite_errorcode = code
    error.sqlite_errorname = f"SQLITE_{code}"
    return error


@pytest.mark.parametrize(
    ("code", "reason", "final"),
    [
        (sqlite3.SQLITE_FULL, "storage_full", False),
        (sqlite3.SQLITE_IOERR_SHMSIZE, "storage_full", False),
        (sqlite3.SQLITE_IOERR, "storage_failed", True),
        (sqlite3.SQLITE_IOERR_FSYNC, "storage_failed", True),
        (sqlite3.SQLITE_IOERR_WRITE, "storage_failed", True),
        (sqlite3.SQLITE_CORRUPT, "storage_failed", True),
        (sqlite3.SQLITE_NOTADB, "storage_failed", True),
        (sqlite3.SQLITE_READONLY, "storage_failed", True),
        (sqlite3.SQLITE_READONLY_DBMOVED, "storage_failed", True),
        (sqlite3.SQLITE_CANTOPEN, "storage_failed", True),
        (sqlite3.SQLITE_BUSY, "storage_failed", False),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "storage_failed", False),
        (sqlite3.SQLITE_NOMEM, "storage_failed", False),
    ],
)
def test_a_fault_of_the_disk(code: int, reason: str, final: bool) -> None:
    error = error_of(code)
    assert not disk_fault.is_jobs_own(error)
    assert disk_fault.is_final(error) is final
    told = disk_fault.from_sqlite(error)
    assert told.reason == reason
    assert told.next
    assert told.fields["cause"] == f"SQLITE_{code}"


@pytest.mark.parametrize(
    "code",
    [sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT_TRIGGER],
)
def test_a_fault_of_the_job(code: int) -> None:
    assert disk_fault.is_jobs_own(error_of(code))
    assert not disk_fault.is_final(error_of(code))


def test_an_error_of_pythons_own_module_is_a_fault_of_the_job() -> None:
    connection = sqlite3.connect(":memory:")
    with pytest.raises(sqlite3.ProgrammingError) as raised:
        connection.execute("SELECT ?", ())
    connection.close()
    assert disk_fault.is_jobs_own(raised.value)
    assert not disk_fault.is_final(raised.value)
