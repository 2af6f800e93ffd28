"""The node's port: TLS and plain HTTP on one number, told apart by the first byte.

    accept -> peek one byte (PEEK_S)
      0x16  -> TLS handshake (TLS_HANDSHAKE_S) ----------------\
      other -> on a loopback address: plain HTTP ---------------> first header (HEADER_S) -> HTTP
            -> elsewhere: 308 to https for GET and HEAD, 426 for the rest, and close

Whether plain HTTP is served rests on the address of *our* end of the socket, which nobody can
forge: it never leaves the machine. Until its first request header is complete a connection
counts against UNAUTHENTICATED_SOCKETS_MAX of its address and cannot stay (attack 49).

The port is always open on loopback. `set_lan(True)` opens it on all interfaces and
`set_lan(False)` takes that back, live: connections from other machines are then cut. Linux does
not bind 0.0.0.0 next to 127.0.0.1, so the sockets are exchanged: close, bind, listen, without a
turn of the loop in between; whoever is in the old backlog is taken first. If the new ones cannot
be had, the old ones come back and `port_taken` says so.
"""

import asyncio
import errno
import ipaddress
import socket as sockets
import ssl
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from mesh.core.errors import MeshError
from mesh.core.limits import (
    ACCEPT_BACKLOG,
    HEADER_S,
    PEEK_S,
    TLS_HANDSHAKE_S,
    UNAUTHENTICATED_SOCKETS_ALL_MAX,
    UNAUTHENTICATED_SOCKETS_MAX,
)
from mesh.telemetry import Log, Metrics
from mesh.transport.gate import Gate

LOOPBACK: Final = ("127.0.0.1", "::1")
ALL: Final = ("0.0.0.0", "::")
_TLS_RECORD: Final = 0x16
_PORT_TRIES: Final = 8
_ACCEPTS_MAX: Final = ACCEPT_BACKLOG
_ACCEPT_PAUSE_S: Final = 0.2
_NO_IPV6: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})

ProtocolFactory = Callable[[], asyncio.Protocol]


class Listener:
    """Owns the port. `async with` it; `factory` makes the HTTP protocol of one connection."""

    def __init__(
        self,
        factory: ProtocolFactory,
        tls: ssl.SSLContext,
        *,
        port: int,
        log: Log,
        metrics: Metrics,
        lan_hosts: Sequence[str] = ALL,
    ) -> None:
        assert 0 <= port <= 65_535, port
        self._factory = factory
        self._tls = tls
        self._port = port
        self._log = log
        self._metrics = metrics
        self._lan_hosts = tuple(lan_hosts)
        self._tasks = asyncio.TaskGroup()
        self._open: dict[str, sockets.socket] = {}
        self._admissions: set[asyncio.Task[str]] = set()
        self._waiting: set[sockets.socket] = set()
        self._pending: Counter[str] = Counter()
        self._foreign: weakref.WeakSet[asyncio.Transport] = weakref.WeakSet()

    @property
    def port(self) -> int:
        """The port number; known once the listener is open."""
        return self._port

    @property
    def hosts(self) -> tuple[str, ...]:
        """The addresses that are bound now."""
        return tuple(self._open)

    @property
    def is_lan(self) -> bool:
        """True while other machines can connect."""
        return any(host not in LOOPBACK for host in self._open)

    async def __aenter__(self) -> Self:
        """Open the port on loopback. Raises MeshError `port_taken`."""
        self._open = self._bind_loopback()
        await self._tasks.__aenter__()
        for host in self._open:
            self._listen(host)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for host in self.hosts:
            self._shut(host)
        for task in self._admissions:
            task.cancel()
        await self._tasks.__aexit__(kind, error, trace)

    def set_lan(self, enabled: bool) -> None:
        """Open the port for other machines, or close it for them and cut those connected.

        Raises:
            MeshError: `port_taken`; then nothing has changed.
        """
        wanted = _wanted_hosts(self._lan_hosts) if enabled else LOOPBACK
        before = tuple(self._open)
        if set(before) == set(wanted):
            return
        for host in before:
            if host not in wanted:
                self._accept_on(host)
                self._shut(host)
        try:
            for host in wanted:
                if host not in self._open:
                    self._bind_into(host)
        except MeshError:
            for host in [host for host in self._open if host not in before]:
                self._shut(host)
            for host in before:
                if host not in self._open:
                    self._bind_into(host)
            raise
        if not enabled:
            for transport in list(self._foreign):
                transport.abort()

    def use_certificate(self, tls: ssl.SSLContext) -> None:
        """Show another certificate to connections from now on."""
        self._tls = tls

    # ------------------------------------------------------------------ sockets

    def _bind_loopback(self) -> dict[str, sockets.socket]:
        """Bind 127.0.0.1 and, where the machine has it, ::1, to one number."""
        for attempt in range(_PORT_TRIES):
            first = _bound(LOOPBACK[0], self._port)
            assert first is not None
            port = first.getsockname()[1]
            try:
                second = _bound(LOOPBACK[1], port)
            except MeshError:
                first.close()
                # A free number of ours may be taken on the other family: try the next.
                if self._port != 0 or attempt == _PORT_TRIES - 1:
                    raise
                continue
            self._port = port
            found = {LOOPBACK[0]: first}
            if second is not None:
                found[LOOPBACK[1]] = second
            return found
        raise AssertionError("unreachable")

    def _bind_into(self, host: str) -> None:
        bound = _bound(host, self._port)
        if bound is not None:
            self._open[host] = bound
            self._listen(host)

    def _listen(self, host: str) -> None:
        bound = self._open.get(host)
        if bound is not None:
            loop = asyncio.get_running_loop()
            loop.add_reader(bound.fileno(), self._accept_on, host)

    def _shut(self, host: str) -> None:
        bound = self._open.pop(host)
        asyncio.get_running_loop().remove_reader(bound.fileno())
        bound.close()

    def _accept_on(self, host: str) -> None:
        """Take what waits on one socket, a bounded number at a time."""
        for _ in range(_ACCEPTS_MAX):
            try:
                accepted, remote = self._open[host].accept()
            except BlockingIOError:
                return
            except OSError as error:
                # Out of file descriptors, most likely. The node lives; the backlog waits.
                self._log.warning("a connection was not accepted", text=str(error))
                loop = asyncio.get_running_loop()
                loop.remove_reader(self._open[host].fileno())
                loop.call_later(_ACCEPT_PAUSE_S, self._listen, host)
                return
            self._take(accepted, remote)

    def _take(self, accepted: sockets.socket, remote: tuple[Any, ...]) -> None:
        origin = _origin(str(remote[0]))
        if (
            self._pending[origin] >= UNAUTHENTICATED_SOCKETS_MAX
            or len(self._admissions) >= UNAUTHENTICATED_SOCKETS_ALL_MAX
        ):
            self._metrics.sockets.labels("refused").inc()
            accepted.close()
            return
        accepted.setblocking(False)
        self._pending[origin] += 1
        self._waiting.add(accepted)
        task = self._tasks.create_task(self._admit(accepted))
        self._admissions.add(task)
        task.add_done_callback(partial(self._ended, accepted, origin))

    def _ended(self, accepted: sockets.socket, origin: str, task: asyncio.Task[str]) -> None:
        self._admissions.discard(task)
        self._pending[origin] -= 1
        if not self._pending[origin]:
            del self._pending[origin]
        if accepted in self._waiting:  # cancelled before its first step: nobody else closes it
            self._waiting.discard(accepted)
            accepted.close()
        if not task.cancelled() and task.exception() is None:
            self._metrics.sockets.labels(task.result()).inc()

    # ------------------------------------------------------------------ one connection

    async def _admit(self, accepted: sockets.socket) -> str:
        """Bring one connection to its first request; return the outcome in a word."""
        self._waiting.discard(accepted)
        ours = str(accepted.getsockname()[0]).partition("%")[0]
        is_local = ipaddress.ip_address(ours).is_loopback
        try:
            async with asyncio.timeout(PEEK_S):
                first = await _peek(accepted)
        except (TimeoutError, OSError):
            accepted.close()
            return "silent"
        except asyncio.CancelledError:
            accepted.close()
            raise
        if not first:
            accepted.close()
            return "silent"
        is_tls = first[0] == _TLS_RECORD
        gate = Gate()
        try:
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                lambda: gate,
                accepted,
                ssl=self._tls if is_tls else None,
                ssl_handshake_timeout=TLS_HANDSHAKE_S if is_tls else None,
            )
        except (OSError, TimeoutError):  # ssl.SSLError is an OSError
            accepted.close()
            return "no_tls"
        assert isinstance(transport, asyncio.Transport)
        if not is_local:
            if not self.is_lan:  # closed for other machines while it was greeting
                transport.abort()
                return "lost"
            self._foreign.add(transport)
        is_abroad = not (is_tls or is_local)
        return await self._first_request(transport, gate, is_plain_abroad=is_abroad)

    async def _first_request(
        self, transport: asyncio.Transport, gate: Gate, *, is_plain_abroad: bool
    ) -> str:
        is_handed_over = False
        try:
            async with asyncio.timeout(HEADER_S):
                await gate.has_header.wait()
            if gate.lost.is_set():
                return "lost"
            if is_plain_abroad:
                await gate.send_to_tls()
                return "sent_to_tls"
            gate.become(self._factory())
            is_handed_over = True
        except TimeoutError:
            return "slow"
        finally:
            if not is_handed_over:
                transport.abort()
        return "tls" if transport.get_extra_info("ssl_object") is not None else "plain"


async def _peek(accepted: sockets.socket) -> bytes:
    """The first byte, left where it is."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            return accepted.recv(1, sockets.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            pass
        readable: asyncio.Future[None] = loop.create_future()
        loop.add_reader(accepted.fileno(), _wake, readable)
        try:
            await readable
        finally:
            loop.remove_reader(accepted.fileno())


def _origin(remote: str) -> str:
    """What connections are counted by: the address; for IPv6 its /64, which one host owns."""
    ip = ipaddress.ip_address(remote.partition("%")[0])
    if ip.version == 4:
        return str(ip)
    return str(ipaddress.IPv6Network((int(ip), 64), strict=False).network_address)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _bound(host: str, port: int) -> sockets.socket | None:
    """A listening socket; None where the machine has no such address (no IPv6).

    Raises:
        MeshError: `port_taken`, also for a port that needs privileges.
    """
    family = sockets.AF_INET6 if ":" in host else sockets.AF_INET
    try:
        made = sockets.socket(family, sockets.SOCK_STREAM)
    except OSError:
        return None
    try:
        # A port of ours in TIME_WAIT is free; one that somebody listens on is not.
        made.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
        if family == sockets.AF_INET6:
            made.setsockopt(sockets.IPPROTO_IPV6, sockets.IPV6_V6ONLY, 1)
        made.setblocking(False)
        made.bind((host, port))
        made.listen(ACCEPT_BACKLOG)
    except OSError as error:
        made.close()
        if host in (LOOPBACK[1], ALL[1]) and error.errno in _NO_IPV6:
            return None
        raise MeshError(
            "port_taken",
            f"Port {port} on {host} cannot be used ({error.strerror}).",
            host=host,
            port=port,
        ) from None
    return made


def _wanted_hosts(lan_hosts: Sequence[str]) -> tuple[str, ...]:
    """Loopback and the LAN's; a wildcard covers loopback of its family."""
    loopback = [
        host for host, wildcard in zip(LOOPBACK, ALL, strict=True) if wildcard not in lan_hosts
    ]
    return (*loopback, *lan_hosts)
