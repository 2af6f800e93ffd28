"""Other installs we have met: their keys, and hints where they may be found."""

from typing import Any

from mesh.core import canonical
from mesh.storage.database import Database
from mesh.stores import PeerRow


class DiskPeerStore:
    """`stores.PeerStore` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, row: PeerRow) -> None:
        """Insert or replace."""
        values = (
            row.install_id,
            row.name,
            canonical.encode(row.public_keys),
            canonical.encode(row.addresses),
            row.last_seen_ms,
        )
        await self._database.write(
            lambda connection: (
                connection.execute(
                    "INSERT OR REPLACE INTO peers"
                    " (install_id, name, public_keys, addresses, last_seen_ms)"
                    " VALUES (?, ?, ?, ?, ?)",
                    values,
                ).rowcount
            )
        )

    async def all(self) -> tuple[PeerRow, ...]:
        """Everyone, by install id."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT install_id, name, public_keys, addresses, last_seen_ms FROM peers"
                " ORDER BY install_id"
            ).fetchall()
        )
        return tuple(map(_peer, rows))


def _peer(row: tuple[Any, ...]) -> PeerRow:
    return PeerRow(
        install_id=row[0],
        name=row[1],
        public_keys=tuple(canonical.decode(row[2])),
        addresses=tuple(canonical.decode(row[3])),
        last_seen_ms=row[4],
    )
