"""A door into a machine: a loopback port here that leads to the same port on its loopback.

The SDK finds a node by its `control.json`, which names the node's own loopback address. Inside a
network namespace that is another loopback than the test's; with a door on the same number the
address holds on both sides, and the node is asked as any program on its machine asks it. Cut
roads do not cut it, as they would not cut a program from the node beside it.
"""

import asyncio
import socket as sockets
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

LOOPBACK: Final = "127.0.0.1"
_CHUNK_BYTES: Final = 64 << 10


class Door:
    """`async with` it; `port` is known from the beginning."""

    def __init__(self, make_socket: Callable[[], sockets.socket]) -> None:
        """`make_socket` makes a TCP socket on the other side, not connected."""
        self._make_socket = make_socket
        self._listener = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM)
        self._listener.setblocking(False)
        self._listener.bind((LOOPBACK, 0))
        self._listener.listen()
        self.port = int(self._listener.getsockname()[1])
        self._tasks = asyncio.TaskGroup()
        self._passing: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._start(self._open())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in tuple(self._passing):
            task.cancel()
        await self._tasks.__aexit__(None, None, None)
        self._listener.close()

    def _start(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = self._tasks.create_task(work)
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)

    async def _open(self) -> None:
        while True:
            near, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            self._start(self._pass(near))

    async def _pass(self, near: sockets.socket) -> None:
        """Carry one connection. Where nobody listens on the other side it closes at once."""
        with near, self._make_socket() as far:
            near.setblocking(False)
            with suppress(OSError):
                await asyncio.get_running_loop().sock_connect(far, (LOOPBACK, self.port))
                async with asyncio.TaskGroup() as ways:
                    ways.create_task(_carry(near, far))
                    ways.create_task(_carry(far, near))


async def _carry(source: sockets.socket, target: sockets.socket) -> None:
    """Carry bytes one way to their end, and then the end itself."""
    loop = asyncio.get_running_loop()
    with suppress(OSError):
        while data := await loop.sock_recv(source, _CHUNK_BYTES):
            await loop.sock_sendall(target, data)
    with suppress(OSError):
        target.shutdown(sockets.SHUT_WR)
