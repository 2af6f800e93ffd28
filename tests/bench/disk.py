"""The reference: what this disk and this SQLite can do at all, measured in the same run."""

import os
import sqlite3
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

ROW_BYTES = 900  # about what one event with its proofs takes
IN_FLIGHT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """Milliseconds of one fdatasync (median), and rows/s of a bare group commit of 32 rows."""

    fdatasync_ms: float
    group_rows_per_s: float


def measure(folder: Path, seconds: float) -> Disk:
    """Measure both on the file system of `folder`."""
    return Disk(
        fdatasync_ms=_fdatasync_ms(folder / "sync", seconds / 2),
        group_rows_per_s=_group_rows_per_s(folder / "group.db", seconds / 2),
    )


def _fdatasync_ms(path: Path, seconds: float) -> float:
    taken: list[float] = []
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    end = time.perf_counter() + seconds
    at = 0
    while time.perf_counter() < end:
        os.pwrite(fd, b"x" * 4096, at)
        at += 4096
        before = time.perf_counter()
        os.fdatasync(fd)
        taken.append(time.perf_counter() - before)
    os.close(fd)
    path.unlink()
    return statistics.median(taken) * 1_000


def _group_rows_per_s(path: Path, seconds: float) -> float:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE rows (n INTEGER PRIMARY KEY, body BLOB)")
    body = b"x" * ROW_BYTES
    rows = 0
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO rows (body) VALUES (?)", [(body,)] * IN_FLIGHT)
        connection.execute("COMMIT")
        rows += IN_FLIGHT
    taken = time.perf_counter() - began
    connection.close()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    return rows / taken
