"""A wire between a program and its node that can be cut, or swallow one direction.

    async with a_wire(install.port) as wire:
        connect(url=wire.url, token=install.token)
        wire.cut()            # both sides see the connection end, as with 1006
        wire.is_deaf = True   # requests arrive at the node, answers never come back
        wire.is_numb = True   # requests are read and thrown away
        await wire.closes()   # nobody listens any more: connections are refused
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Wire:
    """Carries bytes both ways until it is told otherwise."""

    def __init__(self, target_port: int) -> None:
        self.is_deaf = False
        self.is_numb = False
        self.cuts_when_swallowed = False
        self.port = 0
        self._target_port = target_port
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """What a program connects to."""
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Tear every connection; new ones are carried."""
        for writer in self._open:
            writer.transport.abort()

    def heals(self) -> None:
        """Carry everything again."""
        self.is_deaf = self.is_numb = self.cuts_when_swallowed = False

    async def opens(self) -> None:
        """Listen, always at the same port."""
        self._server = await asyncio.start_server(self.carry, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def closes(self) -> None:
        """Tear every connection and listen no more."""
        if self._server is not None:
            server, self._server = self._server, None
            server.close()
            self.cut()
            await server.wait_closed()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        there, back = await asyncio.open_connection("127.0.0.1", self._target_port)
        self._open |= {writer, back}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pass_on(reader, back, to_node=True))
                tasks.create_task(self._pass_on(there, writer, to_node=False))
        finally:
            self._open -= {writer, back}
            writer.transport.abort()
            back.transport.abort()

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, to_node: bool
    ) -> None:
        try:
            while data := await reader.read(65_536):
                if self.is_numb if to_node else self.is_deaf:
                    if self.cuts_when_swallowed:
                        self.cut()
                    continue
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass  # torn: the other direction is torn with it
        finally:
            writer.transport.abort()


@asynccontextmanager
async def a_wire(target_port: int) -> AsyncIterator[Wire]:
    """A wire to that port of this machine."""
    wire = Wire(target_port)
    await wire.opens()
    try:
        yield wire
    finally:
        await wire.closes()
