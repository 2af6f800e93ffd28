"""Schemas: forward step by step, newer and foreign files refused untouched."""

import sqlite3
from collections.abc import Iterator

import pytest

from mesh.core.errors import Refused
from mesh.storage import migrate
from mesh.storage.migrate import Migration

ONE = Migration(number=1, sql="CREATE TABLE one (a INTEGER);")
TWO = Migration(number=2, sql="CREATE TABLE two (a INTEGER);")
BROKEN = Migration(number=2, sql="CREATE TABLE two (a INTEGER); CREATE TABLE one (a INTEGER);")


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    yield made
    made.close()


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}


def test_the_shipped_steps_are_dense_and_run(connection: sqlite3.Connection) -> None:
    steps = migrate.known()
    assert steps
    migrate.migrate(connection, steps)
    assert version(connection) == len(steps)
    assert {"rooms", "events", "outbox", "receipts"} <= tables(connection)


def test_only_missing_steps_run(connection: sqlite3.Connection) -> None:
    migrate.migrate(connection, (ONE,))
    migrate.migrate(connection, (ONE, TWO))
    migrate.migrate(connection, (ONE, TWO))
    assert tables(connection) == {"one", "two"}
    assert version(connection) == 2


def test_a_failed_step_leaves_no_trace(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        migrate.migrate(connection, (ONE, BROKEN))
    assert tables(connection) == {"one"}
    assert version(connection) == 1
    assert not connection.in_transaction


def test_a_newer_schema_is_refused(connection: sqlite3.Connection) -> None:
    migrate.migrate(connection, (ONE, TWO))
    with pytest.raises(
        Refused, match=r"newer roommesh \(schema 2; this program knows 1\)"
    ) as refused:
        migrate.migrate(connection, (ONE,))
    assert refused.value.reason == "unsupported"
    assert refused.value.next


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE mine (a)", "PRAGMA user_version = 1", "PRAGMA application_id = 7"]
)
def test_a_file_of_another_program_is_refused(
    connection: sqlite3.Connection, statement: str
) -> None:
    connection.execute(statement)
    before = tables(connection), version(connection)
    with pytest.raises(Refused, match="another program"):
        migrate.migrate(connection, (ONE,))
    assert (tables(connection), version(connection)) == before
