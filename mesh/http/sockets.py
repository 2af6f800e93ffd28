"""HTTP on sockets that somebody else accepted, with patience that ends (attack 49).

The listener decides which socket is TLS and hands it over by `protocol()`. A socket whose first
request has no complete header after HTTP_HEADER_S is cut; later ones have HTTP_IDLE_S from the end
of the last answer. WebSockets have their own heartbeat and are left alone.
"""

import asyncio

from aiohttp import web
from aiohttp.typedefs import Handler
from aiohttp.web_protocol import RequestHandler

from mesh.core.limits import DRAIN_S, HTTP_HEADER_BYTES_MAX, HTTP_HEADER_S, HTTP_IDLE_S


class Patience:
    """Cuts sockets that hold a place and ask nothing."""

    def __init__(self) -> None:
        self._timers: dict[RequestHandler, asyncio.TimerHandle] = {}

    def accepted(self, handler: RequestHandler) -> None:
        """A socket was opened."""
        self._arm(handler, HTTP_HEADER_S)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Stop the timer while a request is answered."""
        # Annotated in aiohttp as a generic of itself; one class in fact.
        socket: RequestHandler = request.protocol
        timer = self._timers.pop(socket, None)
        if timer is not None:
            timer.cancel()
        try:
            return await handler(request)
        finally:
            if timer is not None and socket.transport is not None:
                self._arm(socket, HTTP_IDLE_S)

    def close(self) -> None:
        """Forget all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _arm(self, socket: RequestHandler, patience_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._timers[socket] = loop.call_later(patience_s, self._run_out, socket)

    def _run_out(self, socket: RequestHandler) -> None:
        self._timers.pop(socket, None)
        if socket.transport is not None:
            socket.force_close()


class HttpSockets:
    """An application ready to take sockets."""

    def __init__(self, app: web.Application) -> None:
        self._patience = Patience()
        app.middlewares.insert(0, self._patience.middleware)
        self._runner = web.AppRunner(
            app,
            handle_signals=False,
            access_log=None,  # addresses and paths of people are nobody's record
            keepalive_timeout=HTTP_IDLE_S,
            lingering_time=1.0,
            max_line_size=HTTP_HEADER_BYTES_MAX,
            max_field_size=HTTP_HEADER_BYTES_MAX,
            auto_decompress=False,
            shutdown_timeout=DRAIN_S,
        )

    async def start(self) -> None:
        """Make the application ready; sockets may come from now on."""
        await self._runner.setup()

    def protocol(self) -> asyncio.Protocol:
        """A protocol for one accepted socket, plain or TLS."""
        server = self._runner.server
        assert server is not None, "start() first"
        handler = server()
        self._patience.accepted(handler)
        return handler

    async def close(self) -> None:
        """Cut WebSockets, let running requests finish within DRAIN_S, close all sockets."""
        self._patience.close()
        await self._runner.cleanup()
