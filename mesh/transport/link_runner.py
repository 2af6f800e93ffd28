"""Drives one open link: reads, writes, pings, and ends it with a reason.

One reader, one writer and one closer per link, in one TaskGroup; the books are in `wire.link`.
The writer takes all that waits at once, so that a thousand small messages are a few WebSocket
messages. Pongs go through the writer too: a reader that waited for a full pipe could wait for
the other side's reader, which waits for ours.

After `cut` or `mute` nothing is delivered any more, whatever still arrives.
"""

import asyncio
import contextlib
import socket as sockets
from collections.abc import Callable
from typing import Final

from aiohttp import WebSocketError, WSMsgType

from mesh.core.errors import Malformed, MeshError
from mesh.core.limits import HANDSHAKE_S, LINK_CLOSE_S
from mesh.core.link_messages import LinkMessage
from mesh.ports import Clock
from mesh.telemetry import Log, Metrics
from mesh.transport.dialer import Socket
from mesh.wire import codec, link
from mesh.wire.handshake import AcceptorHandshake, DialerHandshake, PeerHello

# A reader whose buffer is never empty would never let another task run.
_CHUNKS_PER_YIELD: Final = 8


async def shake_hands(
    socket: Socket, handshake: DialerHandshake | AcceptorHandshake, clock: Clock
) -> PeerHello:
    """Run the handshake over a fresh socket, within HANDSHAKE_S.

    Raises:
        MeshError: what `receive` of the handshake raises; `peer_offline` when the other side
            is silent or leaves. The socket is still to be closed by the caller.
    """
    try:
        async with asyncio.timeout(HANDSHAKE_S):
            if isinstance(handshake, AcceptorHandshake):
                await socket.send_bytes(handshake.hello(clock.now().wall_ms))
            while True:
                data = await _handshake_message(socket)
                step = handshake.receive(data, clock.now().wall_ms)
                if step.send is not None:
                    await socket.send_bytes(step.send)
                if step.peer is not None:
                    return step.peer
    except TimeoutError:
        raise MeshError("peer_offline", "The other side did not finish its greeting.") from None
    except ConnectionError:
        raise MeshError("peer_offline", "The other side left during the greeting.") from None


async def _handshake_message(socket: Socket) -> bytes:
    message = await socket.receive()
    if message.type is WSMsgType.BINARY:
        return bytes(message.data)
    if message.type in (WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.CLOSING):
        code = socket.close_code
        reason = link.word_of(code)
        raise MeshError(
            reason if reason in _TOLD else "peer_offline",
            f"The other side ended the greeting ({reason}).",
        )
    raise Malformed("invalid_params", "Not a handshake message.")


# Codes below 4000 describe what an end saw; they are not said to the other one.
_SENDABLE: Final = frozenset(code for code in link.CLOSE_CODES if code >= 4000)
# Close codes of the other side that are reasons of our own error tree.
_TOLD: Final = frozenset(
    {"peer_identity_mismatch", "unsupported", "duplicate_instance", "busy", "skew"}
)


async def say_goodbye(socket: Socket, under: sockets.socket | None, code: int) -> None:
    """Close a socket with a code; whatever the other side does, it is over in LINK_CLOSE_S."""
    with contextlib.suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(LINK_CLOSE_S):
            await socket.close(code=code if code in _SENDABLE else 1001)
    tear(under)


def socket_under(socket: Socket) -> sockets.socket | None:
    """The operating system's socket under a WebSocket. Ask while it is open, and keep it."""
    found: sockets.socket | None = socket.get_extra_info("socket")
    return found


def tear(socket: sockets.socket | None) -> None:
    """End a connection at once, whatever its buffers hold."""
    if socket is not None:
        with contextlib.suppress(OSError):
            socket.shutdown(sockets.SHUT_RDWR)


class LinkRunner:
    """One open link. `run` is to be awaited by an owner's task; the rest is called from outside.

    `deliver` is called with each message, in order; a MeshError that it raises is the peer's
    fault and cuts the link.
    """

    def __init__(
        self,
        *,
        socket: Socket,
        under: sockets.socket | None,
        peer: PeerHello,
        is_dialed: bool,
        address: str,
        clock: Clock,
        log: Log,
        metrics: Metrics,
        deliver: Callable[[LinkMessage], None],
    ) -> None:
        self.peer = peer
        self.is_dialed = is_dialed
        self.address = address
        self.closed = asyncio.Event()
        self._socket = socket
        self._under = under
        self._clock = clock
        self._log = log
        self._metrics = metrics
        self._deliver: Callable[[LinkMessage], None] | None = deliver
        self._link = link.Link(clock.now().mono_s)
        self._frames = codec.FrameReader()
        self._wake = asyncio.Event()
        self._cut = asyncio.Event()
        self._answered = asyncio.Event()
        self._pong: bytes | None = None
        self._is_ping_due = False

    @property
    def rtt_us(self) -> int | None:
        """The last measured round trip in microseconds."""
        return self._link.rtt_us

    @property
    def queued_bytes(self) -> int:
        """Bytes of frames that wait for the peer to read."""
        return self._link.queued_bytes

    def idle_s(self) -> float:
        """Seconds without a message either way."""
        return self._link.idle_s(self._clock.now().mono_s)

    def send(self, message: LinkMessage) -> bool:
        """Queue a message. False if the link is closing, or now cut because it reads too slowly.

        Raises:
            Malformed: the message does not fit a frame.
        """
        frame = codec.frame(message)
        is_queued = self._link.queue(frame, self._clock.now().mono_s)
        if is_queued:
            self._wake.set()
            self._metrics.link_messages.labels("out").inc()
            self._metrics.link_bytes.labels("out").inc(len(frame))
        elif self._link.code == link.SLOW_READER:
            self.cut(link.SLOW_READER)
        return is_queued

    def tick(self) -> None:
        """See whether a ping is due or the peer has been silent for too long."""
        due = self._link.tick(self._clock.now().mono_s)
        if due is link.Due.PING:
            self._is_ping_due = True
            self._wake.set()
        elif due is link.Due.CUT:
            self.cut(link.SILENT)

    def cut(self, code: int) -> None:
        """End the link for this reason. Nothing is delivered any more."""
        self.mute()
        self._link.close(code)
        self._cut.set()

    def mute(self) -> None:
        """Deliver nothing any more."""
        self._deliver = None

    async def drain(self) -> None:
        """Send what waits, then say goodbye. Bounded by the caller."""
        self._link.drain()
        self._wake.set()
        await self.closed.wait()

    async def answers(self, within_s: float) -> bool:
        """True if the peer answers a ping in that time: the old link is alive."""
        self._answered.clear()
        self._is_ping_due = True
        self._wake.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._answered.wait()
        return self._answered.is_set() and not self.closed.is_set()

    async def run(self) -> int:
        """Drive the link to its end; return the close code. Cancellation tears it."""
        try:
            async with asyncio.TaskGroup() as tasks:
                writer = tasks.create_task(self._write())
                closer = tasks.create_task(self._close())
                code = await self._read()
                self._link.close(code)
                writer.cancel()
                self._cut.set()
                await closer
        finally:
            self.mute()
            self._link.close(link.DRAIN)
            tear(self._under)
            self.closed.set()
            self._answered.set()
        return self._link.code or link.LOST

    async def _read(self) -> int:
        """Deliver until the link ends; return the close code that tells why."""
        chunks = 0
        while True:
            message = await self._socket.receive()
            now_s = self._clock.now().mono_s
            if message.type is WSMsgType.BINARY:
                self._link.heard(now_s, is_message=True)
                if not self._deliver_all(message.data):
                    return link.PROTOCOL
                chunks += 1
                if chunks % _CHUNKS_PER_YIELD == 0:
                    await asyncio.sleep(0)
            elif message.type is WSMsgType.PING:
                self._link.heard(now_s)
                self._pong = bytes(message.data)
                self._wake.set()
            elif message.type is WSMsgType.PONG:
                if self._link.ponged(bytes(message.data), now_s):
                    self._answered.set()
            elif message.type in (WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.CLOSING):
                return self._socket.close_code or link.LOST
            elif message.type is WSMsgType.ERROR:
                error = message.data
                return int(error.code) if isinstance(error, WebSocketError) else link.LOST
            else:
                return link.PROTOCOL

    def _deliver_all(self, chunk: bytes) -> bool:
        """Deliver the messages that a chunk completes. False if the peer broke the protocol."""
        try:
            for data in self._frames.feed(chunk):
                message = codec.decode(data)
                self._metrics.link_messages.labels("in").inc()
                self._metrics.link_bytes.labels("in").inc(len(data))
                if self._deliver is None:
                    return True
                self._deliver(message)
        except MeshError as error:
            self._log.warning(
                "a peer broke the link protocol",
                install_id=self.peer.install_id,
                reason=error.reason,
                text=error.message,
            )
            return False
        return True

    async def _write(self) -> None:
        """Send whatever waits, as it comes, until the link is flushed after a drain."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._flush()
                if self._link.status is link.Status.DRAINING:
                    break
        except ConnectionError:
            # The reader sees the end too; what was queued is caught up on the next link.
            self._link.close(link.LOST)
        else:
            self._link.close(link.DRAIN)
        self._cut.set()

    async def _flush(self) -> None:
        while True:
            if self._is_ping_due:
                self._is_ping_due = False
                await self._socket.ping(self._link.ping(self._clock.now().mono_s))
            if self._pong is not None:
                pong, self._pong = self._pong, None
                await self._socket.pong(pong)
            chunk = self._link.take()
            if not chunk:
                return
            await self._socket.send_bytes(chunk)

    async def _close(self) -> None:
        """Wait for the cut, say goodbye, tear the connection."""
        await self._cut.wait()
        assert self._link.code is not None
        await say_goodbye(self._socket, self._under, self._link.code)
