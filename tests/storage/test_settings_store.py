"""Settings: the last value wins, and stays."""

from pathlib import Path

from mesh import stores
from mesh.storage.database import Database
from mesh.storage.settings_store import DiskSettings


async def test_a_setting_is_kept_and_replaced(path: Path) -> None:
    async with Database(path) as database:
        settings: stores.Settings = DiskSettings(database)
        assert await settings.get("name") is None
        await settings.put("name", "Ada")
        await settings.put("name", "\u00c9milie")
        await settings.put("lan", "")
    async with Database(path) as database:
        settings = DiskSettings(database)
        assert await settings.get("name") == "\u00c9milie"
        assert await settings.get("lan") == ""
