"""Browser sessions, and the one-time links that begin them. Digests only, never a secret."""

import functools
import sqlite3
from typing import Final

from mesh.storage.database import Database
from mesh.stores import SessionRow

_COLUMNS: Final = (
    "session_id, secret_sha256, created_at_ms, last_seen_at_ms, expires_at_ms, user_agent"
)

_PUT: Final = f"INSERT OR REPLACE INTO browser_sessions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"


class DiskSessionStore:
    """`stores.SessionStore` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, row: SessionRow) -> None:
        """Insert or replace."""
        values = (
            row.session_id,
            row.secret_sha256,
            row.created_at_ms,
            row.last_seen_at_ms,
            row.expires_at_ms,
            row.user_agent,
        )
        await self._database.write(
            lambda connection: (
                connection.execute(
                    _PUT,
                    values,
                ).rowcount
            )
        )

    async def all(self) -> tuple[SessionRow, ...]:
        """All rows, oldest first; expired ones too."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                f"SELECT {_COLUMNS} FROM browser_sessions ORDER BY created_at_ms, session_id"
            ).fetchall()
        )
        return tuple(
            SessionRow(
                session_id=row[0],
                secret_sha256=row[1],
                created_at_ms=row[2],
                last_seen_at_ms=row[3],
                expires_at_ms=row[4],
                user_agent=row[5],
            )
            for row in rows
        )

    async def delete(self, session_id: str) -> bool:
        """End one; False if there is none with that id."""
        count = await self._database.write(
            lambda connection: (
                connection.execute(
                    "DELETE FROM browser_sessions WHERE session_id = ?", (session_id,)
                ).rowcount
            )
        )
        return count == 1

    async def put_login(self, secret_sha256: str, expires_at_ms: int) -> None:
        """Remember a one-time link."""
        await self._database.write(
            lambda connection: (
                connection.execute(
                    "INSERT INTO login_links (secret_sha256, expires_at_ms) VALUES (?, ?)",
                    (secret_sha256, expires_at_ms),
                ).rowcount
            )
        )

    async def spend_login(self, secret_sha256: str, now_ms: int) -> bool:
        """True exactly once for a link that is there and not expired."""
        return await self._database.write(
            functools.partial(_spend_login, secret_sha256=secret_sha256, now_ms=now_ms)
        )


def _spend_login(connection: sqlite3.Connection, *, secret_sha256: str, now_ms: int) -> bool:
    # Deleting is spending: of any number of racing requests one finds the row (situation 63).
    # The expiry is judged in the same statement, not before it.
    spent = connection.execute(
        "DELETE FROM login_links WHERE secret_sha256 = ? AND expires_at_ms > ?",
        (secret_sha256, now_ms),
    )
    connection.execute("DELETE FROM login_links WHERE expires_at_ms <= ?", (now_ms,))
    return spent.rowcount == 1
