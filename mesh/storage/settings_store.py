"""Small values of this install that the program itself sets."""

from mesh.storage.database import Database


class DiskSettings:
    """`stores.Settings` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, name: str) -> str | None:
        """The value, or None."""
        row = await self._database.read(
            lambda connection: connection.execute(
                "SELECT value FROM settings WHERE name = ?", (name,)
            ).fetchone()
        )
        return None if row is None else str(row[0])

    async def put(self, name: str, value: str) -> None:
        """Store it."""
        await self._database.write(
            lambda connection: (
                connection.execute(
                    "INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)", (name, value)
                ).rowcount
            )
        )
