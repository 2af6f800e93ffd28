"""Two homes with a node each, and the command for them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.nodes import Command, running_node


@pytest.fixture
async def alpha(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> AsyncIterator[Command]:
    """The command for a running node called alpha."""
    async with running_node(tmp_path / "alpha", "alpha"):
        yield Command(home=tmp_path / "alpha", capsys=capsys)


@pytest.fixture
async def beta(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> AsyncIterator[Command]:
    """The command for another, called beta."""
    async with running_node(tmp_path / "beta", "beta"):
        yield Command(home=tmp_path / "beta", capsys=capsys)


@pytest.fixture
def nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command for a home in which no node runs."""
    return Command(home=tmp_path / "nowhere", capsys=capsys)
