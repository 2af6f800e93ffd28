"""One of fifty readers never reads: it is cut with its own code, and costs the others nothing.

Situation 157, on a whole node over real sockets.
"""

import asyncio
import json
import socket
import time
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from mesh.core.limits import CUT_READER_S, SUBSCRIBER_QUEUE_BYTES_MAX
from mesh.http import stream
from tests.node.followed import WAIT_S, eventually
from tests.node.nodes import Install, a_world

READERS = 49
LONG = "x" * 120_000
SLOW_READER = 4008


async def never_reads(install: Install, room_id: str) -> socket.socket:
    """A WebSocket that subscribes, with a small receive buffer, and then falls silent."""
    raw = socket.create_connection(("127.0.0.1", install.port))
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    raw.setblocking(False)
    loop = asyncio.get_running_loop()
    head = (
        f"GET /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {install.token}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    await loop.sock_sendall(raw, head.encode())
    first = await loop.sock_recv(raw, 4_096)
    assert b" 101 " in first, first
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "groups.subscribe",
        "params": {"room_id": room_id, "since_seq": 0},
    }
    await loop.sock_sendall(raw, frame(json.dumps(asked).encode()))
    first = b""
    while b"room.created" not in first:
        first += await loop.sock_recv(raw, 4_096)
    return raw


def frame(payload: bytes) -> bytes:
    """One masked WebSocket text frame; the mask is all zeros."""
    assert 125 < len(payload) < 65_536
    return b"\x81\xfe" + len(payload).to_bytes(2, "big") + bytes(4) + payload


async def metric(install: Install, name: str) -> float:
    """One counter of /metrics."""
    lines = (await install.metrics()).splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(name + " ")))


async def reads(install: Install, room_id: str, counts: list[int], number: int) -> None:
    """A client that takes every notification as it comes, and counts."""
    headers = {"Authorization": f"Bearer {install.token}"}
    asked = {"room_id": room_id, "since_seq": 0}
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{install.url}/rpc", headers=headers, decode_text=False) as ws,
    ):
        await ws.send_json(
            {"jsonrpc": "2.0", "id": 1, "method": "groups.subscribe", "params": asked}
        )
        async for _ in ws:
            counts[number] += 1


async def test_one_of_fifty_that_never_reads_is_cut_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the kernel holds comes on top; the bound itself is tested in tests/http.
    monkeypatch.setattr(stream, "SUBSCRIBER_QUEUE_BYTES_MAX", 1 << 20)
    async with AsyncExitStack() as stack, a_world(tmp_path) as world:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        slow = await never_reads(host, room_id)
        stack.callback(slow.close)
        counts = [0] * READERS
        room = host.node.services.rooms.get(room_id)

        async def readers() -> int:
            return len(room.subscriptions)

        for number in range(READERS):
            # One after the other: one address may have few connections that have asked nothing.
            world.follow(reads(host, room_id, counts, number))
            await eventually(readers, (number + 2).__eq__)
        longest_s = 0.0
        sent = 0
        while len(room.subscriptions) > READERS:
            began = time.monotonic()
            await host.says(room_id, LONG)
            longest_s = max(longest_s, time.monotonic() - began)
            sent += 1
            assert sent * len(LONG) < 4 * SUBSCRIBER_QUEUE_BYTES_MAX, "never cut"
        assert await close_code(slow) == SLOW_READER
        await host.says(room_id, "and on")

        async def read_so_far() -> list[int]:
            return counts

        # The answer to the subscription, the founding, and every message.
        await eventually(read_so_far, lambda c: min(c) == max(c) == 1 + 1 + sent + 1)
        assert longest_s < CUT_READER_S / 3, "somebody waited for the one"

        async def counted() -> float:
            return await metric(host, "roommesh_slow_readers_total")

        await eventually(counted, lambda count: count == 1)


async def close_code(raw: socket.socket) -> int:
    """Read to the end, at last; the code in the close frame, which is the last thing sent."""
    loop = asyncio.get_running_loop()
    tail = b""
    async with asyncio.timeout(WAIT_S):
        while data := await loop.sock_recv(raw, 1 << 20):
            tail = (tail + data)[-64:]
            mark = tail.find(b"\x88")
            if mark >= 0 and b"slow_reader" in tail[mark:]:
                return int.from_bytes(tail[mark + 2 : mark + 4], "big")
    raise AssertionError("the connection ended without a close frame")
