"""What this install alone knows of the invitations it issued. Their truth is in the log."""

from mesh.storage.database import Database
from mesh.stores import NoteRow


class DiskInvitationNotes:
    """`stores.InvitationNotes` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, row: NoteRow) -> None:
        """Insert or replace."""
        values = (row.invitation_id, row.room_id, row.created_at_ms, row.previewed_at_ms)
        await self._database.write(
            lambda connection: (
                connection.execute(
                    "INSERT OR REPLACE INTO invitation_notes"
                    " (invitation_id, room_id, created_at_ms, previewed_at_ms) VALUES (?, ?, ?, ?)",
                    values,
                ).rowcount
            )
        )

    async def all(self) -> tuple[NoteRow, ...]:
        """All rows, oldest first."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT invitation_id, room_id, created_at_ms, previewed_at_ms"
                " FROM invitation_notes ORDER BY created_at_ms, invitation_id"
            ).fetchall()
        )
        return tuple(
            NoteRow(
                invitation_id=row[0],
                room_id=row[1],
                created_at_ms=row[2],
                previewed_at_ms=row[3],
            )
            for row in rows
        )
