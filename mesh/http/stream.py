"""WebSocket `/rpc`: requests both ways, events and signals as notifications.

Each connection has a reader, one writer, and a task per request in flight. Requests start in the
order in which they came, so that what one client sends reaches a room in that order; their answers
may overtake each other. A reader that does not read is cut with code 4008 instead of being waited
for (situation 157): it resumes from its cursor.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from aiohttp import WSMsgType, web

from mesh.core.errors import Refused
from mesh.core.limits import (
    CALLS_IN_FLIGHT_MAX,
    CALLS_WAITING_BYTES_MAX,
    CALLS_WAITING_MAX,
    CUT_READER_S,
    DRAIN_S,
    HEARTBEAT_S,
    RPC_BYTES_MAX,
    SUBSCRIBER_QUEUE_BYTES_MAX,
    SUBSCRIBER_QUEUE_MAX,
)
from mesh.http.authentication import Authentication
from mesh.http.browser_session import BrowserSessions
from mesh.rpc.caller import Caller
from mesh.rpc.dispatch import Dispatch
from mesh.telemetry import Log, Metrics

GOING_AWAY: Final = 1001
TEXT_ONLY: Final = 1003
LOGGED_OUT: Final = 4001
SLOW_READER: Final = 4008

Answer = Callable[[bytes], Awaitable[bytes | None]]


class LiveConnection:
    """One WebSocket of a client; `mesh.rpc.caller.Connection` to the methods."""

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport) -> None:
        """`socket` is prepared."""
        self._socket = socket
        self._transport = transport
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._something = asyncio.Event()
        self._roomy = asyncio.Event()
        self._roomy.set()
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._in_flight = 0
        self._cut = asyncio.Event()
        self._cut_with = (GOING_AWAY, b"")
        self._closed = False
        self._callbacks: list[Callable[[], None]] = []

    @property
    def closed(self) -> bool:
        """True from the moment the connection was lost or cut."""
        return self._closed

    @property
    def cut_code(self) -> int | None:
        """The code it was cut with by this side, if it was."""
        return self._cut_with[0] if self._cut.is_set() else None

    def notify(self, message: bytes) -> None:
        """Queue one encoded JSON text; a full queue cuts the reader."""
        if self._closed:
            return
        full = len(self._queue) >= SUBSCRIBER_QUEUE_MAX
        if full or self._queued_bytes + len(message) > SUBSCRIBER_QUEUE_BYTES_MAX:
            self.cut(SLOW_READER, b"slow_reader")
            return
        self._put(message)

    async def drain(self) -> None:
        """Wait until the queue is at most half full, or the connection has ended."""
        await self._roomy.wait()

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call that once when the connection ends; at once if it has ended."""
        if self._closed:
            callback()
        else:
            self._callbacks.append(callback)

    def cut(self, code: int, reason: bytes) -> None:
        """End the connection with that close code. What is queued is dropped."""
        if self._closed:
            return
        self._cut_with = (code, reason)
        self._cut.set()
        self._end()

    async def run(self, answer: Answer, refuse: Callable[[bytes], bytes | None]) -> None:
        """Serve until the connection ends; calls under way may finish within DRAIN_S.

        Raises:
            TimeoutError: some did not, and were cancelled.
        """
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as deadline, asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(self._write())
            cutter = tasks.create_task(self._cut_when_told())
            try:
                await self._read(tasks, answer, refuse)
            finally:
                self._end()
                writer.cancel()
                if not self._cut.is_set():
                    cutter.cancel()
                # A peer that takes no byte would keep the socket for ever.
                loop.call_later(CUT_READER_S, self._transport.abort)
            deadline.reschedule(loop.time() + DRAIN_S)

    async def _read(
        self,
        tasks: asyncio.TaskGroup,
        answer: Answer,
        refuse: Callable[[bytes], bytes | None],
    ) -> None:
        """Take requests until the end. It never waits for a call, so that pings are answered."""
        async for message in self._socket:
            if message.type is not WSMsgType.TEXT:
                self.cut(TEXT_ONLY, b"text_only")
                return
            data: bytes = message.data
            if self._in_flight < CALLS_IN_FLIGHT_MAX:
                self._in_flight += 1
                tasks.create_task(self._call(data, answer))
            elif (
                len(self._waiting) < CALLS_WAITING_MAX
                and self._waiting_bytes + len(data) <= CALLS_WAITING_BYTES_MAX
            ):
                self._waiting.append(data)
                self._waiting_bytes += len(data)
            elif (refusal := refuse(data)) is not None:
                self.notify(refusal)

    async def _call(self, data: bytes, answer: Answer) -> None:
        """Answer a request, then those that waited for a place, in their order."""
        while True:
            answered = await answer(data)
            if answered is not None and not self._closed:
                # Never cut for an answer: the client asked for it. It holds its place until
                # the client has read, so that what is queued stays bounded.
                self._put(answered)
                if not self._roomy.is_set():
                    await self.drain()
            if not self._waiting:
                break
            data = self._waiting.popleft()
            self._waiting_bytes -= len(data)
        self._in_flight -= 1
        assert self._in_flight >= 0

    def _put(self, message: bytes) -> None:
        assert not self._closed, "nothing is queued after the end"
        self._queue.append(message)
        self._queued_bytes += len(message)
        self._something.set()
        if self._is_half_full():
            self._roomy.clear()

    def _is_half_full(self) -> bool:
        return (
            len(self._queue) * 2 > SUBSCRIBER_QUEUE_MAX
            or self._queued_bytes * 2 > SUBSCRIBER_QUEUE_BYTES_MAX
        )

    async def _write(self) -> None:
        """Send what is queued; the only place that sends."""
        try:
            while True:
                while self._queue:
                    message = self._queue.popleft()
                    self._queued_bytes -= len(message)
                    assert self._queued_bytes >= 0
                    await self._socket.send_frame(message, WSMsgType.TEXT)
                    if not self._roomy.is_set() and not self._is_half_full():
                        self._roomy.set()
                self._something.clear()
                await self._something.wait()
        except ConnectionError:
            # Lost: the reader hears it too and ends the connection.
            self._end()

    async def _cut_when_told(self) -> None:
        await self._cut.wait()
        code, reason = self._cut_with
        try:
            async with asyncio.timeout(CUT_READER_S):
                await self._socket.close(code=code, message=reason)
        except TimeoutError:
            self._transport.abort()

    def _end(self) -> None:
        """Mark it ended and tell those who asked, once."""
        if self._closed:
            return
        self._closed = True
        self._queue.clear()
        self._queued_bytes = 0
        self._waiting.clear()
        self._waiting_bytes = 0
        self._roomy.set()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


class Stream:
    """The route, and all connections that are open."""

    def __init__(
        self,
        *,
        authentication: Authentication,
        sessions: BrowserSessions,
        dispatch: Dispatch,
        log: Log,
        metrics: Metrics,
    ) -> None:
        self._authentication = authentication
        self._sessions = sessions
        self._dispatch = dispatch
        self._log = log
        self._open: set[LiveConnection] = set()
        self._gauge = metrics.gauge("connections", "Open WebSockets of clients.")
        self._slow = metrics.counter("slow_readers", "Readers that were cut.")

    async def upgrade(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection. A page needs our Origin, a program its token."""
        caller = await self._authentication.caller(request, acts=True)
        # Compression is off: it costs memory per connection and leaks lengths of secrets.
        # The server refuses messages *from* max_msg_size on, hence one more.
        socket = web.WebSocketResponse(
            heartbeat=HEARTBEAT_S, max_msg_size=RPC_BYTES_MAX + 1, compress=False, decode_text=False
        )
        await socket.prepare(request)
        transport = request.transport
        if transport is None:
            return socket
        connection = LiveConnection(socket, transport)
        self._open.add(connection)
        self._gauge.set(len(self._open))
        try:
            if caller.session_id is None:
                await self._serve(connection, caller)
            else:
                with self._sessions.watching(
                    caller.session_id, lambda: connection.cut(LOGGED_OUT, b"logged_out")
                ):
                    await self._serve(connection, caller)
        finally:
            self._open.discard(connection)
            self._gauge.set(len(self._open))
        return socket

    def cut_all(self) -> None:
        """Say goodbye to everyone: the node drains."""
        for connection in tuple(self._open):
            connection.cut(GOING_AWAY, b"drain")

    async def _serve(self, connection: LiveConnection, caller: Caller) -> None:
        caller = replace(caller, connection=connection)
        busy = Refused("busy", "Too many requests of this connection are waiting.")
        try:
            await connection.run(
                lambda data: self._dispatch.answer(data, caller),
                lambda data: self._dispatch.refusal(data, busy),
            )
        except TimeoutError:
            self._log.warning("stream.calls_cancelled", drain_s=DRAIN_S)
        if connection.cut_code == SLOW_READER:
            self._slow.inc()
            self._log.info("stream.slow_reader")
