"""The durable inbox that makes a turn run once.

Dispatch is at least once: the same turn may be asked for again after a lost answer or a restart.
The row is stored before the turn runs and is never deleted, so the second request finds it.
"""

import functools
import sqlite3
from typing import Any, Final

from mesh.core.errors import Refused
from mesh.storage.database import Database
from mesh.stores import InboxRow

_COLUMNS: Final = (
    "turn_id, room_id, member_id, trigger_seq, root, hop, attempt, deadline_ms, grant_id, state,"
    " reason, message, created_at_ms"
)


class DiskTurnInbox:
    """`stores.TurnInbox` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, row: InboxRow) -> bool:
        """Store a new row; False (and nothing changed) if that turn_id is known."""
        return await self._database.write(functools.partial(_put, row=row))

    async def set_state(
        self, turn_id: str, state: str, reason: str = "", message: str = ""
    ) -> None:
        """Move a row on. Which step is legal is decided by `core.turn`, not here.

        Raises:
            Refused: reason `not_found`.
        """
        await self._database.write(
            functools.partial(_set_state, turn_id=turn_id, values=(state, reason, message))
        )

    async def open_rows(self) -> tuple[InboxRow, ...]:
        """Rows that are not closed, oldest first."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                f"SELECT {_COLUMNS} FROM turn_inbox WHERE closed = 0 ORDER BY n"
            ).fetchall()
        )
        return tuple(map(_inbox, rows))

    async def get(self, turn_id: str) -> InboxRow | None:
        """One row, closed or not."""
        row = await self._database.read(
            lambda connection: connection.execute(
                f"SELECT {_COLUMNS} FROM turn_inbox WHERE turn_id = ?", (turn_id,)
            ).fetchone()
        )
        return None if row is None else _inbox(row)

    async def close(self, turn_id: str) -> None:
        """The log shows the end of this turn. An unknown turn is no error."""
        await self._database.write(
            lambda connection: (
                connection.execute(
                    "UPDATE turn_inbox SET closed = 1 WHERE turn_id = ?", (turn_id,)
                ).rowcount
            )
        )

    async def context_seq(self, room_id: str, member_id: str) -> int:
        """The highest seq that was given to this member as context (0 at first)."""
        row = await self._database.read(
            lambda connection: connection.execute(
                "SELECT seq FROM contexts WHERE room_id = ? AND member_id = ?",
                (room_id, member_id),
            ).fetchone()
        )
        return 0 if row is None else int(row[0])

    async def set_context_seq(self, room_id: str, member_id: str, seq: int) -> None:
        """Remember it; never goes back."""
        assert seq >= 0, seq
        await self._database.write(
            lambda connection: (
                connection.execute(
                    "INSERT INTO contexts (room_id, member_id, seq) VALUES (?, ?, ?)"
                    " ON CONFLICT (room_id, member_id) DO UPDATE SET seq = max(seq, excluded.seq)",
                    (room_id, member_id, seq),
                ).rowcount
            )
        )


def _put(connection: sqlite3.Connection, *, row: InboxRow) -> bool:
    known = connection.execute("SELECT 1 FROM turn_inbox WHERE turn_id = ?", (row.turn_id,))
    if known.fetchone() is not None:
        return False
    connection.execute(
        f"INSERT INTO turn_inbox ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row.turn_id,
            row.room_id,
            row.member_id,
            row.trigger_seq,
            row.root,
            row.hop,
            row.attempt,
            row.deadline_ms,
            row.grant_id,
            row.state,
            row.reason,
            row.message,
            row.created_at_ms,
        ),
    )
    return True


def _set_state(
    connection: sqlite3.Connection, *, turn_id: str, values: tuple[str, str, str]
) -> None:
    moved = connection.execute(
        "UPDATE turn_inbox SET state = ?, reason = ?, message = ? WHERE turn_id = ?",
        (*values, turn_id),
    )
    if moved.rowcount != 1:
        raise Refused("not_found", "This turn is not in the inbox.")


def _inbox(row: tuple[Any, ...]) -> InboxRow:
    return InboxRow(
        turn_id=row[0],
        room_id=row[1],
        member_id=row[2],
        trigger_seq=row[3],
        root=row[4],
        hop=row[5],
        attempt=row[6],
        deadline_ms=row[7],
        grant_id=row[8],
        state=row[9],
        reason=row[10],
        message=row[11],
        created_at_ms=row[12],
    )
