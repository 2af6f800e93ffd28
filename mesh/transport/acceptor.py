"""The handler of `/link`: the accepting side of links between nodes.

Browsers never come here: a request with an Origin is a page that tries a node's door (attack 53),
and is refused before anything is said. What the connection can be bound to is read from the
socket itself: our own certificate on TLS, loopback on plain HTTP, and in both cases a name of
our public_url, for a proxy that ends TLS in front of us. Sockets that are still shaking hands
are counted per address and bounded (attack 49).
"""

import ipaddress
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from aiohttp import hdrs, web

from mesh.core.errors import MeshError
from mesh.core.limits import LINK_CHUNK_BYTES_MAX, LINK_CLOSE_S, UNAUTHENTICATED_SOCKETS_MAX
from mesh.telemetry import Log
from mesh.transport.dialer import SUBPROTOCOL
from mesh.transport.link_table import LinkTable
from mesh.wire.transcript import PLAIN_LOOPBACK

_HOSTS_MAX: Final = 4


class Acceptor:
    """Takes link requests and gives them to the table.

    `certificate_sha256` is of the certificate the listener shows now; `public_hosts` are the
    names of public_url, in lower case.
    """

    def __init__(
        self,
        table: LinkTable,
        *,
        certificate_sha256: Callable[[], str],
        public_hosts: Callable[[], tuple[str, ...]],
        log: Log,
    ) -> None:
        self._table = table
        self._certificate_sha256 = certificate_sha256
        self._public_hosts = public_hosts
        self._log = log
        self._greeting: Counter[str] = Counter()

    async def accept(self, request: web.Request) -> web.StreamResponse:
        """Upgrade, prove, and stay until the link ends.

        Raises:
            web.HTTPException: 403 for a page, 426 for anything that is no upgrade to a link,
                503 when too many from one address are still greeting.
        """
        host, port = _remote(request)
        socket = self._upgrade(request)
        bindings = self._bindings(request)
        if self._greeting[host] >= UNAUTHENTICATED_SOCKETS_MAX:
            raise web.HTTPServiceUnavailable(text="Too many greetings at once.\n")
        self._greeting[host] += 1
        try:
            await socket.prepare(request)
            runner = await self._table.admit(
                socket,
                bindings,
                address=_address(host, port),
                is_local=ipaddress.ip_address(host).is_loopback,
            )
        except MeshError as error:
            self._log.info(
                "a link was refused", address=host, reason=error.reason, text=error.message
            )
            return socket
        finally:
            self._greeting[host] -= 1
            if not self._greeting[host]:
                del self._greeting[host]
        await runner.closed.wait()
        return socket

    def _upgrade(self, request: web.Request) -> web.WebSocketResponse[Any]:
        if hdrs.ORIGIN in request.headers:
            raise web.HTTPForbidden(text="Links are for nodes, not for pages.\n")
        socket: web.WebSocketResponse[Any] = web.WebSocketResponse(
            protocols=(SUBPROTOCOL,),
            autoping=False,
            compress=False,
            max_msg_size=LINK_CHUNK_BYTES_MAX + 1,  # refused from this size on
            timeout=LINK_CLOSE_S,
        )
        ready = socket.can_prepare(request)
        if not ready or ready.protocol != SUBPROTOCOL:
            raise web.HTTPUpgradeRequired(
                text="This is the door for links between nodes.\n",
                headers={hdrs.UPGRADE: "websocket"},
            )
        return socket

    def _bindings(self, request: web.Request) -> tuple[str, ...]:
        """What this connection may be bound to, best first."""
        names = tuple(f"host:{name}" for name in self._public_hosts()[:_HOSTS_MAX])
        if request.transport is None:
            raise web.HTTPServiceUnavailable
        if request.transport.get_extra_info("ssl_object") is not None:
            return (f"cert:{self._certificate_sha256()}", *names)
        local = request.transport.get_extra_info("sockname")
        # The listener serves plain HTTP on loopback only; this is the second look (rule 5).
        if not ipaddress.ip_address(local[0]).is_loopback:
            raise web.HTTPUpgradeRequired(headers={hdrs.UPGRADE: "TLS/1.3"})
        return (PLAIN_LOOPBACK, *names)


def _remote(request: web.Request) -> tuple[str, int]:
    name = request.transport.get_extra_info("peername") if request.transport else None
    if not name:
        raise web.HTTPServiceUnavailable
    return str(name[0]).partition("%")[0], int(name[1])


def _address(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"https://{shown}:{port}"
