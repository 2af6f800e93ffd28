"""Changes that share statements, and a fence that code cannot go around."""

import sqlite3
from collections.abc import Iterator

import pytest

from mesh.core.errors import Refused
from mesh.storage import append, migrate
from mesh.stores import RoomChange
from tests.storage.logs import INSTALL, OTHER_ROOM, ROOM, change, log, waiting


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    migrate.migrate(made, migrate.known())
    for room_id in (ROOM, OTHER_ROOM):
        made.execute(
            "INSERT INTO rooms VALUES (NULL, ?, ?, 1, 0, zeroblob(32), 5)", (room_id, INSTALL)
        )
    yield made
    made.close()


def heads(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    return connection.execute("SELECT promised_epoch, head_seq FROM rooms ORDER BY room").fetchall()


def test_many_changes_take_few_statements(connection: sqlite3.Connection) -> None:
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    mine, theirs = log(100), log(28, room_id=OTHER_ROOM)
    changes = [change(event) for event in mine]
    changes += [change(event, room_id=OTHER_ROOM) for event in theirs]
    append.apply_changes(connection, changes)
    connection.set_trace_callback(None)
    # A step inside the trigger is traced under the text of the statement that fired it.
    assert len(set(statements)) == 2
    assert heads(connection) == [(1, 100), (1, 28)]


def test_a_proposal_that_is_put_again_after_it_was_dropped_stays(
    connection: sqlite3.Connection,
) -> None:
    row = waiting(1)
    put = RoomChange(room_id=ROOM, outbox_put=(row,))
    drop = RoomChange(room_id=ROOM, outbox_drop=(row.proposal.key,))
    for changes, count in (([put, drop], 0), ([put, drop, put], 1), ([drop], 0)):
        append.apply_changes(connection, changes)
        assert connection.execute("SELECT count(*) FROM outbox").fetchone()[0] == count


def test_a_row_can_be_put_and_refused_in_one_commit(connection: sqlite3.Connection) -> None:
    row = waiting(1)
    append.apply_changes(
        connection,
        [
            RoomChange(room_id=ROOM, outbox_put=(row,)),
            RoomChange(room_id=ROOM, outbox_refuse=((row.proposal.key, "muted"),)),
        ],
    )
    stored = connection.execute("SELECT state, reason FROM outbox").fetchall()
    assert stored == [("refused", "muted")]


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_the_schema_itself_holds_the_fence(connection: sqlite3.Connection, epoch: int) -> None:
    """Whatever code inserts: a lower epoch or another head aborts the statement."""
    connection.execute("UPDATE rooms SET promised_epoch = 1")
    statement = (
        "INSERT INTO append VALUES"
        f" ('{ROOM}', ?, {epoch}, ?, x'01', 'k', x'', x'', x'', x'', zeroblob(32))"
    )
    for seq, prev_hash in ((2, bytes(32)), (0, bytes(32)), (1, b"\1" * 32)):
        with pytest.raises(sqlite3.IntegrityError, match="fence"):
            connection.execute(statement, (seq, prev_hash))
    assert heads(connection)[0] == (1, 0)
    if epoch < 1:
        with pytest.raises(sqlite3.IntegrityError, match="fence"):
            connection.execute(statement, (1, bytes(32)))
        assert heads(connection)[0] == (1, 0)
    else:
        connection.execute(statement, (1, bytes(32)))
        assert heads(connection)[0] == (epoch, 1)


def test_a_refusal_names_what_is_wrong(connection: sqlite3.Connection) -> None:
    unknown = "r_" + "9" * 32
    cases = (
        (change(*log(1, room_id=unknown), room_id=unknown), "not_found"),
        (change(log(2)[1]), "stale_epoch"),
        (change(*log(1, epoch=0)), "stale_epoch"),
        (RoomChange(room_id=unknown, outbox_put=(waiting(1, unknown),)), "not_found"),
    )
    for wanted, reason in cases:
        with pytest.raises(Refused) as refused:
            append.apply_changes(connection, [wanted])
        assert refused.value.reason == reason
    assert heads(connection) == [(1, 0), (1, 0)]
