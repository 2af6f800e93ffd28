"""A server that answers every connection with the bytes a test gives it, right or wrong."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


def response(body: bytes, status: str = "200 OK", kind: str = "text/event-stream") -> bytes:
    """A response without a length: its body ends where the connection does."""
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode() + body


@asynccontextmanager
async def raw_server(answer: bytes, *, hangs: bool = False) -> AsyncIterator[str]:
    """The server's base_url; with `hangs` it says nothing more and holds the connection."""

    talks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own = asyncio.current_task()
        assert own is not None
        talks[own] = writer
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            if hangs:
                await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # The caller has heard enough.
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        server.close()
        for writer in talks.values():
            writer.transport.abort()
        if talks:
            await asyncio.wait(talks)


async def closed_port() -> str:
    """A base_url on which nobody listens."""
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return f"http://127.0.0.1:{port}/v1"
