"""Two real node processes with one room: A hosts it, B keeps the one copy."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

READY_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProcess:
    """A node that answers. `cpu_s` is user and system time of its process so far."""

    home: Path
    process: asyncio.subprocess.Process
    control: dict[str, Any]

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU this process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def resident_mb(self) -> float:
        """Resident memory in megabytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@asynccontextmanager
async def node(home: Path, name: str) -> AsyncIterator[NodeProcess]:
    """Start a node and wait until its control file says that it is ready."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mesh.cli.main", "--home", str(home), "up"),
        *("--listen", "127.0.0.1:0", "--name", name, "--no-discovery"),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(READY_S):
            first = await process.stdout.readline()
        assert first, "the node ended before it was ready"
        control = json.loads((home / "control.json").read_text())
        yield NodeProcess(home=home, process=process, control=control)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            await process.wait()


class Client:
    """One WebSocket to a node, raw, so that the client's own cost stays small."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self._id = 0

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One request; notifications that come first are dropped."""
        self._id += 1
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        await self.socket.send_str(json.dumps(request))
        while True:
            answer = json.loads((await self.socket.receive()).data)
            if answer.get("id") == self._id:
                assert "result" in answer, answer
                result: dict[str, Any] = answer["result"]
                return result


@asynccontextmanager
async def client(node: NodeProcess) -> AsyncIterator[Client]:
    """A connection with the node's token."""
    headers = {"Authorization": f"Bearer {node.control['token']}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.ws_connect(f"{node.control['url']}/rpc", max_msg_size=0) as socket,
    ):
        yield Client(socket)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A hosts the room, B has a copy."""

    a: NodeProcess
    b: NodeProcess
    room_id: str


@asynccontextmanager
async def pair(folder: Path) -> AsyncIterator[Pair]:
    """Two nodes that share a room."""
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(node(folder / "a", "a"))
        b = await stack.enter_async_context(node(folder / "b", "b"))
        async with client(a) as at_a, client(b) as at_b:
            room_id = (await at_a.call("groups.create", name="bench"))["room"]["room_id"]
            link = (await at_a.call("invitations.create", room_id=room_id))["link"]
            joined = await at_b.call("invitations.accept", link=link, request_id="bench")
            assert joined["status"] == "applied", joined
        yield Pair(a=a, b=b, room_id=room_id)
