"""Nodes on loopback with real sockets, and peers that do not behave.

`a_node()` is a link table behind a real listener; what it hears is kept and can be waited for.
`RawPeer` speaks the bytes itself, so that it can leave out, repeat or spoil whatever it likes.
"""

import asyncio
import contextlib
import datetime
import random
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import aiohttp
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mesh.core.identity import KeyChain, SigningKey
from mesh.core.inputs import Now
from mesh.core.link_messages import LinkMessage, Signal
from mesh.storage.certificate import Certificate, open_certificate
from mesh.telemetry import Metrics
from mesh.transport.acceptor import Acceptor
from mesh.transport.addresses import vet_url
from mesh.transport.dialer import Dialer
from mesh.transport.link_runner import shake_hands
from mesh.transport.link_table import LinkTable
from mesh.transport.listener import Listener
from mesh.transport.peer_links import LinkState
from mesh.wire import codec
from mesh.wire.handshake import DialerHandshake, OurEnd, PeerHello

WAIT_S = 8.0
ROOM = "r_" + "0" * 32


class SkippingClock:
    """The machine's clocks, which a test may put forward."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now(self) -> Now:
        ahead_ms = int(self.ahead_s * 1000)
        return Now(
            wall_ms=time.time_ns() // 1_000_000 + ahead_ms,
            mono_s=time.monotonic() + self.ahead_s,
        )


class SeededEntropy:
    """Entropy that a seed replays. With `patience` 0 no attempt waits."""

    def __init__(self, seed: int = 0, patience: float = 0.0) -> None:
        self._random = random.Random(seed)
        self._patience = patience

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def uniform(self, low: float, high: float) -> float:
        return self._patience * self._random.uniform(low, high)


class KeptLog:
    """A log that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, object]]] = []

    def events(self, level: str) -> list[str]:
        return [event for kept, event, _ in self.lines if kept == level]

    def debug(self, event: str, **values: object) -> None:
        self.lines.append(("debug", event, values))

    def info(self, event: str, **values: object) -> None:
        self.lines.append(("info", event, values))

    def warning(self, event: str, **values: object) -> None:
        self.lines.append(("warning", event, values))

    def error(self, event: str, **values: object) -> None:
        self.lines.append(("error", event, values))


def an_end(seed: int, boot: int | None = None) -> OurEnd:
    """An install made of one byte; `boot` tells its starts apart."""
    key = SigningKey.from_seed(bytes([seed]) * 32)
    return OurEnd(
        key=key,
        chain=KeyChain(keys=(key.public,)),
        boot_id=bytes([seed if boot is None else boot]) * 16,
        name=f"node {seed}",
    )


def a_signal(number: int, size_bytes: int = 0) -> Signal:
    """A message that can be told from others, of at least that size."""
    return Signal(room_id=ROOM, body=b"%d:" % number + bytes(size_bytes))


def number_of(message: LinkMessage) -> int:
    assert isinstance(message, Signal)
    return int(message.body.split(b":")[0])


@dataclass(kw_only=True)
class Node:
    """A node and everything it heard: ("up", id), ("down", id, reason), ("message", id, m)."""

    us: OurEnd
    certificate: Certificate
    clock: SkippingClock = field(default_factory=SkippingClock)
    entropy: SeededEntropy = field(default_factory=SeededEntropy)
    log: KeptLog = field(default_factory=KeptLog)
    metrics: Metrics = field(default_factory=Metrics)
    public_hosts: tuple[str, ...] = ()
    port: int = 0
    heard: list[tuple[Any, ...]] = field(default_factory=list)
    peers: list[PeerHello] = field(default_factory=list)
    on_message: Callable[[str, LinkMessage], None] | None = None

    def __post_init__(self) -> None:
        self._news = asyncio.Event()
        self.table = LinkTable(
            us=lambda: self.us,
            clock=self.clock,
            entropy=self.entropy,
            log=self.log,
            metrics=self.metrics,
            on_up=self._up,
            on_message=self._message,
            on_down=lambda peer, reason: self._hear("down", peer, reason),
        )
        acceptor = Acceptor(
            self.table,
            certificate_sha256=lambda: self.certificate.sha256,
            public_hosts=lambda: self.public_hosts,
            log=self.log,
        )
        app = web.Application()
        app.router.add_get("/link", acceptor.accept)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    @property
    def install_id(self) -> str:
        return self.us.chain.install_id

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def plain_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def messages(self) -> list[LinkMessage]:
        return [entry[2] for entry in self.heard if entry[0] == "message"]

    def downs(self) -> list[str]:
        return [entry[2] for entry in self.heard if entry[0] == "down"]

    def state_of(self, install_id: str) -> LinkState:
        return next(s for s in self.table.state() if s.install_id == install_id)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until what was heard makes the condition true."""
        async with asyncio.timeout(WAIT_S):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def until_messages(self, count: int) -> None:
        await self.until(lambda: len(self.messages) >= count)
        assert len(self.messages) == count

    async def until_up(self, other: "Node | RawPeer") -> None:
        await self.until(lambda: self.table.is_up(other.us.chain.install_id))

    async def until_down(self, reason: str) -> None:
        await self.until(lambda: reason in self.downs())

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        self._listener = Listener(
            lambda: self._runner.server(),  # type: ignore[misc]
            self.certificate.context,
            port=self.port,
            log=self.log,
            metrics=self.metrics,
        )
        await self._listener.__aenter__()
        self.port = self._listener.port
        await self.table.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        try:
            await self.table.__aexit__(*error)
        finally:
            await self._listener.__aexit__(None, None, None)
            await self._runner.cleanup()

    def _up(self, peer: PeerHello) -> None:
        self.peers.append(peer)
        self._hear("up", peer.install_id)

    def _message(self, install_id: str, message: LinkMessage) -> None:
        self._hear("message", install_id, message)
        if self.on_message is not None:
            self.on_message(install_id, message)

    def _hear(self, *entry: Any) -> None:
        self.heard.append(entry)
        self._news.set()


class RawPeer:
    """An install that speaks by hand, over a link that it dialed and proved."""

    def __init__(
        self, us: OurEnd, socket: aiohttp.ClientWebSocketResponse[Any], met: PeerHello
    ) -> None:
        self.us = us
        self.socket = socket
        self.met = met

    async def send(self, *messages: LinkMessage) -> None:
        await self.socket.send_bytes(b"".join(map(codec.frame, messages)))

    async def answer_pings(self) -> int:
        """Behave like a live node that has nothing to say; return the close code at the end."""
        while True:
            message = await self.socket.receive()
            if message.type is aiohttp.WSMsgType.PING:
                await self.socket.pong(message.data)
            elif message.type is not aiohttp.WSMsgType.BINARY:
                return self.socket.close_code or 0

    async def close_code(self) -> int:
        """Wait, without answering anything, for the end."""
        async with asyncio.timeout(WAIT_S):
            while True:
                message = await self.socket.receive()
                if message.type in _ENDS:
                    return self.socket.close_code or 0


_ENDS = (
    aiohttp.WSMsgType.CLOSE,
    aiohttp.WSMsgType.CLOSED,
    aiohttp.WSMsgType.CLOSING,
    aiohttp.WSMsgType.ERROR,
)


@contextlib.asynccontextmanager
async def a_raw_peer(us: OurEnd, url: str) -> AsyncIterator[RawPeer]:
    """Dial `url` and shake hands as that install."""
    async with Dialer() as dialer:
        dialed = await dialer.open(vet_url(url))
        handshake = DialerHandshake(us, random.Random(url).randbytes(32), dialed.bindings)
        try:
            met = await shake_hands(dialed.socket, handshake, SkippingClock())
            yield RawPeer(us, dialed.socket, met)
        finally:
            await dialed.socket.close()


async def passing(condition: Callable[[], bool]) -> None:
    """Let the loop run until the condition holds, where nothing announces it."""
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)


def certificate_in(folder: Path) -> Certificate:
    """A certificate of its own for a test's nodes."""
    return open_certificate(folder, "laptop", time.time_ns() // 1_000_000)


class FixedResolver(AbstractResolver):
    """A resolver that answers what it was given."""

    def __init__(self, *hosts: str) -> None:
        self._hosts = hosts

    async def resolve(
        self, host: str, port: int = 0, family: Any = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host, host=ip, port=port, family=socket.AF_INET, proto=0, flags=0
            )
            for ip in self._hosts
        ]

    async def close(self) -> None:
        """Nothing to close."""


def a_certificate_for(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of a server with a certificate for `name`, and of a client that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    text = made.public_bytes(serialization.Encoding.PEM)
    (folder / "both.pem").write_bytes(
        text
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "both.pem")
    return server, ssl.create_default_context(cadata=text.decode())
