"""Bring a database file to the schema this program knows.

Steps are the numbered files in `migrations/`; `user_version` is the number of the last one that
ran, and each step commits together with its number. A file of a newer program, or of another
program, is refused before anything in it is changed.
"""

import sqlite3
from dataclasses import dataclass
from importlib import resources
from typing import Final

from mesh.core.errors import Refused

APPLICATION_ID: Final = 0x524D5348  # "RMSH", so that `file` and we can tell whose it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step: its number, and the SQL that leads from the number before to this one."""

    number: int
    sql: str


def known() -> tuple[Migration, ...]:
    """All steps of this program, dense from 1."""
    files = sorted(
        (entry for entry in resources.files("mesh.storage.migrations").iterdir()),
        key=lambda entry: entry.name,
    )
    steps = tuple(
        Migration(number=int(entry.name[:4]), sql=entry.read_text(encoding="utf-8"))
        for entry in files
        if entry.name.endswith(".sql")
    )
    assert [step.number for step in steps] == list(range(1, len(steps) + 1)), "a gap in steps"
    return steps


def check(connection: sqlite3.Connection, steps: tuple[Migration, ...]) -> int:
    """The schema number of this file, 0 for a new one. Changes nothing.

    Raises:
        Refused: reason `unsupported`; the file is of a newer program or not ours at all.
    """
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    owner: int = connection.execute("PRAGMA application_id").fetchone()[0]
    tables: int = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if owner != APPLICATION_ID and (owner or version or tables):
        raise Refused(
            "unsupported",
            "The database file belongs to another program.",
            next="Use another --home, or move that file away.",
        )
    if version > len(steps):
        raise Refused(
            "unsupported",
            f"The database was written by a newer roommesh (schema {version}; this program "
            f"knows {len(steps)}).",
            next="Install the newer roommesh, or use another --home.",
        )
    return version


def migrate(connection: sqlite3.Connection, steps: tuple[Migration, ...]) -> None:
    """Run what is missing. The connection is in autocommit mode.

    Raises:
        Refused: as `check`.
        sqlite3.Error: a step failed; it left no trace, earlier steps stay.
    """
    version = check(connection, steps)
    for step in steps[version:]:
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE; {step.sql}\n;"
                f"PRAGMA application_id = {APPLICATION_ID};"
                f"PRAGMA user_version = {step.number}; COMMIT;"
            )
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
