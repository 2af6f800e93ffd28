"""Rooms, their logs and their outboxes; and the fence.

The fence: a room's head moves only if the promised epoch is not higher than the event's, and the
head is exactly the one that the event links to. It is checked by the statement that inserts
(`append`), in the same transaction.

P, H and signatures are stored as the bytes that were signed and are never made again.
"""

import functools
import itertools
import sqlite3
from collections.abc import Sequence
from typing import Final

from mesh.core.event import GENESIS, Event
from mesh.core.link_messages import WireEvent
from mesh.storage import append, chain_check, event_rows
from mesh.storage.chain_check import ChainFault
from mesh.storage.database import Database
from mesh.stores import OutboxRow, RoomChange, RoomRow

_SELECT_EVENTS: Final = f"""
    SELECT {event_rows.EVENT_COLUMNS} FROM events
    WHERE place > ((SELECT room FROM rooms WHERE room_id = ?1) << 40) + ?2
        AND place < ((SELECT room FROM rooms WHERE room_id = ?1) + 1) << 40
    ORDER BY place LIMIT ?3
"""


class DiskEventStore:
    """`stores.EventStore` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create_room(self, row: RoomRow, events: Sequence[Event]) -> None:
        """Store a new room. `row` tells its head *after* `events`, which begin at seq 1.

        The stored promise is the row's or the last event's epoch, whichever is higher.

        Raises:
            Refused: reason `conflict`, the room is here already.
            StorageFailed: nothing was stored.
        """
        check_first_events(row, events)
        job = functools.partial(_create_room, row=row, events=tuple(events))
        await self._database.write(job, events=len(events))

    async def apply(self, change: RoomChange) -> None:
        """Commit one change whole.

        Raises:
            Refused: `stale_epoch`, the fence holds; `not_found`, no such room; `conflict`, an
                event's key is in the log already.
            StorageFailed: nothing was stored.
        """
        check_dense(change.events)
        assert all(event.room_id == change.room_id for event in change.events)
        assert all(row.proposal.room_id == change.room_id for row in change.outbox_put)
        merge = append.apply_changes
        await self._database.write_merged(merge, change, events=len(change.events))

    async def rooms(self) -> tuple[RoomRow, ...]:
        """All rooms, in the order in which they came here."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                f"SELECT {event_rows.ROOM_COLUMNS} FROM rooms ORDER BY room"
            ).fetchall()
        )
        return tuple(map(event_rows.room, rows))

    async def read(
        self, room_id: str, since_seq: int, limit: int, size_bytes_max: int
    ) -> tuple[Event, ...]:
        """Events after `since_seq`, in order; at least one if there is one, within both bounds.

        Raises:
            StorageFailed: an event is not what was stored.
        """

        def job(connection: sqlite3.Connection) -> tuple[Event, ...]:
            cursor = connection.execute(_SELECT_EVENTS, (room_id, since_seq, limit))
            rows = event_rows.fetch_within(cursor, limit, size_bytes_max)
            return tuple(map(event_rows.event, rows))

        return await self._database.read(job)

    async def read_wire(
        self, room_id: str, since_seq: int, limit: int, size_bytes_max: int
    ) -> tuple[WireEvent, ...]:
        """As `read`, but unparsed, to be streamed to copies.

        Raises:
            StorageFailed: an event is not what was stored.
        """

        def job(connection: sqlite3.Connection) -> tuple[WireEvent, ...]:
            cursor = connection.execute(_SELECT_EVENTS, (room_id, since_seq, limit))
            rows = event_rows.fetch_within(cursor, limit, size_bytes_max)
            return tuple(map(event_rows.wire_event, rows))

        return await self._database.read(job)

    async def by_key(self, room_id: str, key: str) -> Event | None:
        """The event with that key (64 hex digits), if it is in the log."""
        row = await self._database.read(
            lambda connection: connection.execute(
                f"SELECT {event_rows.EVENT_COLUMNS} FROM events"
                " WHERE room = (SELECT room FROM rooms WHERE room_id = ?) AND key = ?",
                (room_id, bytes.fromhex(key)),
            ).fetchone()
        )
        return None if row is None else event_rows.event(row)

    async def outbox(self, room_id: str) -> tuple[OutboxRow, ...]:
        """Rows of a room in the order they were queued."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                f"SELECT {event_rows.OUTBOX_COLUMNS} FROM outbox"
                " WHERE room = (SELECT room FROM rooms WHERE room_id = ?) ORDER BY n",
                (room_id,),
            ).fetchall()
        )
        return tuple(map(event_rows.outbox, rows))

    async def forget_room(self, room_id: str) -> None:
        """Delete a copy this install no longer keeps. An unknown room is no error."""
        await self._database.write(functools.partial(_forget_room, room_id=room_id))

    async def verify_chain(self, room_id: str) -> ChainFault | None:
        """Walk the whole log: for the doctor, and for the start after an unclean stop."""
        return await chain_check.verify_chain(self._database, room_id)


def check_first_events(row: RoomRow, events: Sequence[Event]) -> None:
    """Assert that a new room's row and its first events are about the same log."""
    check_dense(events)
    if events:
        first, last = events[0], events[-1]
        assert (first.seq, first.prev_hash) == (1, GENESIS), "a log begins at seq 1"
        assert (row.head_seq, row.head_hash) == (last.seq, last.hash), "the head is the last event"
        assert all(event.room_id == row.room_id for event in events), "events of another room"
    else:
        assert (row.head_seq, row.head_hash) == (0, GENESIS), "a log begins empty"


def check_dense(events: Sequence[Event]) -> None:
    """Assert that each event follows the one before it."""
    for older, newer in itertools.pairwise(events):
        assert newer.seq == older.seq + 1, f"seq {newer.seq} after {older.seq}"
        assert newer.prev_hash == older.hash, f"seq {newer.seq} is not chained"
        assert newer.epoch >= older.epoch, f"seq {newer.seq} has a lower epoch"


# ---- jobs of the writing thread


def _create_room(
    connection: sqlite3.Connection, *, row: RoomRow, events: tuple[Event, ...]
) -> None:
    known = connection.execute("SELECT 1 FROM rooms WHERE room_id = ?", (row.room_id,)).fetchone()
    if known is not None:
        raise append.room_is_here()
    connection.execute(
        f"INSERT INTO rooms ({event_rows.ROOM_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
        (
            row.room_id,
            row.authority_install_id,
            0,
            0,
            bytes.fromhex(GENESIS),
            row.joined_at_ms,
        ),
    )
    if events:
        append.insert_events(connection, events)
    connection.execute(
        "UPDATE rooms SET promised_epoch = max(promised_epoch, ?) WHERE room_id = ?",
        (row.promised_epoch, row.room_id),
    )


def _forget_room(connection: sqlite3.Connection, *, room_id: str) -> None:
    row = connection.execute("SELECT room FROM rooms WHERE room_id = ?", (room_id,)).fetchone()
    if row is None:
        return
    connection.execute("DELETE FROM outbox WHERE room = ?", row)
    connection.execute("DELETE FROM events WHERE room = ?", row)
    connection.execute("DELETE FROM rooms WHERE room = ?", row)
