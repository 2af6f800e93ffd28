"""A connection before its first request: it may hold a place only so long, and only so much.

The gate is the protocol of a connection until the first request header is complete. Then it
either hands the connection on, with exactly the bytes that arrived, or answers itself: plain HTTP
from another machine is told where https is (308 for GET and HEAD, 426 for the rest).
"""

import asyncio
import contextlib
import re
from typing import Final

from mesh.core.limits import HEADER_BYTES_MAX

_LINGER_S: Final = 1.0
_HOST: Final = re.compile(rb"\r\n[Hh][Oo][Ss][Tt]:[ \t]*([A-Za-z0-9.:\[\]-]{1,255})[ \t]*(?=\r\n)")
_REQUEST: Final = re.compile(rb"(GET|HEAD) (/[!-~]{0,2048}) HTTP/1\.[01]\r\n")


class Gate(asyncio.Protocol):
    """Holds a connection until its first request header is complete, then steps aside.

    `has_header` is set when there is something to decide: a whole header, more than a header
    may have, or the end of the connection (`lost`).
    """

    def __init__(self) -> None:
        self.has_header = asyncio.Event()
        self.lost = asyncio.Event()
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self.has_header.is_set():
            return  # an answer was given; the rest of the request is read and dropped
        self._received += data
        if b"\r\n\r\n" in self._received or len(self._received) > HEADER_BYTES_MAX:
            # Whatever comes now waits in the kernel until somebody reads it. A header that is
            # too large goes on as it is: HTTP has an answer for it.
            assert self._transport is not None
            self._transport.pause_reading()
            self.has_header.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.lost.set()
        self.has_header.set()

    def become(self, inner: asyncio.Protocol) -> None:
        """Hand the connection, with what was read, to its real protocol."""
        assert self._transport is not None and not self.lost.is_set()
        self._transport.set_protocol(inner)
        inner.connection_made(self._transport)
        inner.data_received(bytes(self._received))
        self._transport.resume_reading()

    async def send_to_tls(self) -> None:
        """Answer where https is, let the other side read it, and close."""
        assert self._transport is not None
        self._transport.write(answer_abroad(self._received))
        if self._transport.can_write_eof():
            self._transport.write_eof()
        # Closing with unread input would reset the connection before the answer is read.
        self._transport.resume_reading()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                await self.lost.wait()
        self._transport.abort()


def answer_abroad(header: bytes | bytearray) -> bytes:
    """What plain HTTP gets from another machine: the way to https, and nothing else."""
    request = _REQUEST.match(header)
    host = _HOST.search(header)
    if request is None or host is None:
        status, extra = b"426 Upgrade Required", b"Upgrade: TLS/1.3\r\nConnection: Upgrade, close"
    else:
        status = b"308 Permanent Redirect"
        extra = b"Location: https://%s%s\r\nConnection: close" % (host[1], request[2])
    return b"HTTP/1.1 %s\r\n%s\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n" % (
        status,
        extra,
    )
