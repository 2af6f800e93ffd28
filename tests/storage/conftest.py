"""A database of its own for every test that asks."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mesh.storage.database import Database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "node.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    async with Database(path) as opened:
        yield opened
