"""Loans and grants: what this install lends, and which grants it issued or holds.

A grant id is used once, for ever, and a revoked one stays revoked; triggers in the schema say so
too. Nothing is deleted, so an old id that comes back is still known.
"""

import functools
import sqlite3
from typing import Any, Final

from mesh.core import canonical
from mesh.core.errors import Refused
from mesh.storage.database import Database
from mesh.stores import GrantRow, LoanRow

_LOAN: Final = (
    "room_id, member_id, profile, permissions, until_ms, policy_digest, catalog_digest,"
    " created_at_ms, withdrawn_at_ms"
)
_GRANT: Final = (
    "grant_id, direction, room_id, member_id, profile, permissions, home_install_id,"
    " target_install_id, issued_at_ms, expires_at_ms, token, catalog, revoked_at_ms,"
    " last_used_at_ms"
)


class DiskGrantStore:
    """`stores.GrantStore` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put_loan(self, row: LoanRow) -> None:
        """Insert or replace the loan of (room, member)."""
        values = (
            row.room_id,
            row.member_id,
            row.profile,
            canonical.encode(row.permissions),
            row.until_ms,
            row.policy_digest,
            row.catalog_digest,
            row.created_at_ms,
            row.withdrawn_at_ms,
        )
        await self._database.write(
            lambda connection: (
                connection.execute(
                    f"INSERT OR REPLACE INTO loans ({_LOAN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    values,
                ).rowcount
            )
        )

    async def loans(self) -> tuple[LoanRow, ...]:
        """All loans, withdrawn ones too, oldest first."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                f"SELECT {_LOAN} FROM loans ORDER BY created_at_ms, rowid"
            ).fetchall()
        )
        return tuple(map(_loan, rows))

    async def put_grant(self, row: GrantRow) -> None:
        """Insert a grant.

        Raises:
            Refused: reason `conflict`; a grant id that is stored is never replaced.
        """
        values = (
            row.grant_id,
            row.direction,
            row.room_id,
            row.member_id,
            row.profile,
            canonical.encode(row.permissions),
            row.home_install_id,
            row.target_install_id,
            row.issued_at_ms,
            row.expires_at_ms,
            row.token,
            canonical.encode(row.catalog),
            row.revoked_at_ms,
            row.last_used_at_ms,
        )
        await self._database.write(functools.partial(_put_grant, values=values))

    async def grants(self) -> tuple[GrantRow, ...]:
        """All grants, oldest first."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                f"SELECT {_GRANT} FROM grants ORDER BY rowid"
            ).fetchall()
        )
        return tuple(map(_grant, rows))

    async def revoke(self, room_id: str, member_id: str, now_ms: int) -> tuple[str, ...]:
        """Withdraw the loan and revoke all grants of that member, in one transaction.

        Returns the ids that this call revoked; those revoked before keep their instant.
        """
        return await self._database.write(
            functools.partial(_revoke, room_id=room_id, member_id=member_id, now_ms=now_ms)
        )

    async def used(self, grant_id: str, now_ms: int) -> None:
        """Remember when a grant was last used; never goes back."""
        await self._database.write(
            lambda connection: (
                connection.execute(
                    "UPDATE grants SET last_used_at_ms = ? WHERE grant_id = ?"
                    " AND coalesce(last_used_at_ms, 0) < ?",
                    (now_ms, grant_id, now_ms),
                ).rowcount
            )
        )


def _put_grant(connection: sqlite3.Connection, *, values: tuple[Any, ...]) -> None:
    stored = connection.execute(
        f"INSERT OR IGNORE INTO grants ({_GRANT}) VALUES ({', '.join('?' * len(values))})", values
    )
    if stored.rowcount != 1:
        raise Refused("conflict", "A grant with this id is stored already.")


def _revoke(
    connection: sqlite3.Connection, *, room_id: str, member_id: str, now_ms: int
) -> tuple[str, ...]:
    connection.execute(
        "UPDATE loans SET withdrawn_at_ms = ?"
        " WHERE room_id = ? AND member_id = ? AND withdrawn_at_ms IS NULL",
        (now_ms, room_id, member_id),
    )
    rows = connection.execute(
        "UPDATE grants SET revoked_at_ms = ?"
        " WHERE room_id = ? AND member_id = ? AND revoked_at_ms IS NULL RETURNING grant_id",
        (now_ms, room_id, member_id),
    ).fetchall()
    return tuple(sorted({row[0] for row in rows}))


def _loan(row: tuple[Any, ...]) -> LoanRow:
    return LoanRow(
        room_id=row[0],
        member_id=row[1],
        profile=row[2],
        permissions=tuple(canonical.decode(row[3])),
        until_ms=row[4],
        policy_digest=row[5],
        catalog_digest=row[6],
        created_at_ms=row[7],
        withdrawn_at_ms=row[8],
    )


def _grant(row: tuple[Any, ...]) -> GrantRow:
    return GrantRow(
        grant_id=row[0],
        direction=row[1],
        room_id=row[2],
        member_id=row[3],
        profile=row[4],
        permissions=tuple(canonical.decode(row[5])),
        home_install_id=row[6],
        target_install_id=row[7],
        issued_at_ms=row[8],
        expires_at_ms=row[9],
        token=row[10],
        catalog=canonical.decode_object(row[11]),
        revoked_at_ms=row[12],
        last_used_at_ms=row[13],
    )
