"""Real nodes for the command to talk to, and the command as a call.

A node runs in the test's loop; the command runs in a thread, as its own process would run beside.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mesh.cli import main
from mesh.config import read_settings
from mesh.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON value it is."""
        return json.loads(self.out)

    @property
    def reason(self) -> str:
        """The reason of the error that --json printed."""
        return str(self.json["error"]["reason"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`roommesh --home HOME`."""

    home: Path
    capsys: pytest.CaptureFixture[str]

    async def __call__(self, *arguments: str) -> Said:
        """Run it beside the node, and return what it said."""
        self.capsys.readouterr()
        line = ["--home", str(self.home), *arguments]
        status = await asyncio.to_thread(main.run, line)
        out, err = self.capsys.readouterr()
        return Said(status=status, out=out, err=err)


@asynccontextmanager
async def running_node(home: Path, name: str, **flags: object) -> AsyncIterator[Node]:
    """A node of that home on a free port, without mDNS."""
    chosen = {"listen": "127.0.0.1:0", "name": name, "discovery": False, **flags}
    async with Node(read_settings(home, chosen, {})) as node:
        yield node


@asynccontextmanager
async def process(*arguments: str, **pipes: Any) -> AsyncIterator[asyncio.subprocess.Process]:
    """The command as a process of its own; it never outlives the block."""
    code = "from mesh.cli.main import main; main()"
    made = await asyncio.create_subprocess_exec(sys.executable, "-c", code, *arguments, **pipes)
    try:
        yield made
    finally:
        if made.returncode is None:
            made.kill()
        await made.communicate()
