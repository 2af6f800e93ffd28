"""Writing room changes: many of them with a few large statements, behind the fence.

The fence is in the schema: inserting into the view `append` moves the room's head and stores the
event, or aborts the statement. So an authority that was replaced cannot append, whatever it still
believes, and two writers cannot both extend one head (attack 78). This file merges neighbouring
changes into statements of many rows, and says which refusal an aborted one stands for.
"""

import functools
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final

from mesh.core.errors import Refused
from mesh.core.event import Event
from mesh.storage import event_rows
from mesh.stores import RoomChange

_ROWS_PER_STATEMENT: Final = 64

_DROP: Final = """
    DELETE FROM outbox WHERE room = (SELECT room FROM rooms WHERE room_id = ?) AND key = ?
"""
_REFUSE: Final = """
    UPDATE outbox SET state = 'refused', reason = ?
    WHERE room = (SELECT room FROM rooms WHERE room_id = ?) AND key = ?
"""


def apply_changes(connection: sqlite3.Connection, changes: Sequence[RoomChange]) -> None:
    """Write the changes in their order; the caller undoes all of them if one is refused.

    Raises:
        Refused: as `refusal` tells; with several changes it may be any of them.
    """
    together: list[RoomChange] = []
    gone: set[tuple[str, str]] = set()
    for change in changes:
        # Within one group rows are put before rows are refused and dropped. A proposal that is
        # put again after it was dropped begins a new group.
        if any((change.room_id, row.proposal.key) in gone for row in change.outbox_put):
            _write(connection, together)
            together, gone = [], set()
        together.append(change)
        gone.update((change.room_id, key) for key in change.outbox_drop)
        gone.update((change.room_id, key) for key, _ in change.outbox_refuse)
    _write(connection, together)


def insert_events(connection: sqlite3.Connection, events: Sequence[Event]) -> None:
    """Append through the fence. There is at least one event.

    Raises:
        Refused: as `refusal` tells.
    """
    try:
        _insert(connection, "append", [event_rows.event_values(event) for event in events])
    except sqlite3.IntegrityError as error:
        raise refusal(connection, events[0], error) from error


def refusal(connection: sqlite3.Connection, first: Event, error: sqlite3.IntegrityError) -> Refused:
    """What an aborted append means: `not_found`, `conflict` or `stale_epoch`."""
    room = connection.execute("SELECT 1 FROM rooms WHERE room_id = ?", (first.room_id,)).fetchone()
    if room is None:
        return no_room()
    if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
        return stale(first)
    return known_key()


def no_room() -> Refused:
    """The refusal of a change to a room that is not stored here."""
    return Refused("not_found", "This install does not keep that room.")


def room_is_here() -> Refused:
    """The refusal to create a room a second time."""
    return Refused("conflict", "This room is here already.")


def taken_place() -> Refused:
    """The refusal of a proposal whose `n` another row of the outbox has."""
    return Refused("conflict", "Another proposal has this place in the outbox.")


def known_key() -> Refused:
    """The refusal of a second event with one key."""
    return Refused("conflict", "An event with this id is in the log already.")


def stale(first: Event) -> Refused:
    """The refusal of a writer whose epoch or head is not the stored one."""
    return Refused(
        "stale_epoch",
        "The room has moved on: another epoch is promised, or the log has another head.",
        room_id=first.room_id,
        epoch=first.epoch,
        seq=first.seq,
    )


def _write(connection: sqlite3.Connection, changes: Sequence[RoomChange]) -> None:
    events = [event for change in changes for event in change.events]
    if events:
        insert_events(connection, events)
    puts = [event_rows.outbox_values(row) for change in changes for row in change.outbox_put]
    try:
        _insert(connection, "outbox_put", puts)
    except sqlite3.IntegrityError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_NOTNULL:
            raise no_room() from error
        raise taken_place() from error
    refusals = [
        (reason, change.room_id, bytes.fromhex(key))
        for change in changes
        for key, reason in change.outbox_refuse
    ]
    if refusals:
        connection.executemany(_REFUSE, refusals)
    drops = [
        (change.room_id, bytes.fromhex(key)) for change in changes for key in change.outbox_drop
    ]
    if drops:
        connection.executemany(_DROP, drops)


def _insert(connection: sqlite3.Connection, view: str, rows: Sequence[tuple[Any, ...]]) -> None:
    for start in range(0, len(rows), _ROWS_PER_STATEMENT):
        part = rows[start : start + _ROWS_PER_STATEMENT]
        connection.execute(_statement(view, len(part), len(part[0])), _flat(part))


@functools.cache
def _statement(view: str, rows: int, columns: int) -> str:
    """An insertion of that many rows; at most 64 texts for each view, each prepared once."""
    row = f"({', '.join('?' * columns)})"
    return f"INSERT INTO {view} VALUES {', '.join([row] * rows)}"


def _flat(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    return [value for row in rows for value in row]
