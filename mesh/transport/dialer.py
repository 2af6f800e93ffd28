"""One connection to one address: a WebSocket to `/link`, and what was seen of it.

TLS certificates of nodes are self-signed; whose connection this is, is proved by the handshake,
which signs the certificate that was seen here (`wire.handshake`). Only for a DNS name is the
operating system's trust asked first: where it vouches for the name, a proxy may stand in between
and `host:` can be offered as well.

Whatever answers that is not a node (a login page, a redirect, another WebSocket service, a
printer) becomes `not_a_node`: nothing of its answer is followed, read on, repeated or shown
(situation 74). No proxy settings, cookies or compression; each look-up is vetted.
"""

import asyncio
import hashlib
import ssl
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from aiohttp import web
from aiohttp.abc import AbstractResolver
from aiohttp.client_middlewares import ClientHandlerType

from mesh.core.errors import MeshError, PeerFault
from mesh.core.limits import (
    DIAL_BACKOFF_FIRST_S,
    DIAL_BACKOFF_MAX_S,
    DIAL_S,
    LINK_CHUNK_BYTES_MAX,
    LINK_CLOSE_S,
)
from mesh.ports import Entropy
from mesh.transport.addresses import Address, VettedResolver
from mesh.wire.transcript import PLAIN_LOOPBACK

SUBPROTOCOL: Final = "roommesh-link"
LINK_PATH: Final = "/link"
Socket = aiohttp.ClientWebSocketResponse[Any] | web.WebSocketResponse[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialed:
    """An open WebSocket that has proved nothing yet. `bindings` is what we saw, best first."""

    socket: aiohttp.ClientWebSocketResponse[Any]
    bindings: tuple[str, ...]
    address: Address


class Backoff:
    """How long to wait before the next attempt: full jitter from the first one on.

    After n failures the wait is uniform between 0 and FIRST * 2**n, at most MAX, so that a
    hundred nodes that lost the same peer do not come back in the same instant.
    """

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._attempt = 0

    def next_s(self) -> float:
        """The next wait in seconds; counts as an attempt."""
        top_s = min(DIAL_BACKOFF_MAX_S, DIAL_BACKOFF_FIRST_S * 2 ** min(self._attempt, 16))
        self._attempt += 1
        return self._entropy.uniform(0.0, top_s)

    def reset(self) -> None:
        """The peer was heard of: start over."""
        self._attempt = 0


class Dialer:
    """Opens connections. `async with` it; all share one client session without state.

    `resolver` looks names up (each answer is vetted) and `trust` vouches for names; both are the
    operating system's unless given.
    """

    def __init__(
        self, resolver: AbstractResolver | None = None, trust: ssl.SSLContext | None = None
    ) -> None:
        self._http: aiohttp.ClientSession | None = None
        self._resolver = resolver
        self._unverified = _tls(verify=False)
        self._verified = trust or _tls(verify=True)

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=VettedResolver(self._resolver),
                use_dns_cache=False,
                force_close=True,
                limit=0,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "roommesh"},
            middlewares=(_upgrade_or_nothing,),
            trust_env=False,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._http is not None
        await self._http.close()

    async def open(self, address: Address) -> Dialed:
        """Connect and upgrade, within DIAL_S.

        Raises:
            MeshError: `peer_offline` (nothing answers in time) or `not_a_node`.
        """
        try:
            async with asyncio.timeout(DIAL_S):
                return await self._open(address)
        except TimeoutError:
            raise MeshError("peer_offline", f"{address.url} does not answer.") from None

    async def _open(self, address: Address) -> Dialed:
        if not address.is_tls:
            assert address.is_loopback
            return Dialed(
                socket=await self._upgrade(address, None),
                bindings=(PLAIN_LOOPBACK,),
                address=address,
            )
        if address.is_public_name:
            try:
                socket = await self._upgrade(address, self._verified)
            except aiohttp.ClientConnectorCertificateError:
                pass  # The usual case: a node with its own certificate behind a name.
            else:
                seen = (_certificate_binding(socket), f"host:{address.host}")
                return Dialed(socket=socket, bindings=seen, address=address)
        socket = await self._upgrade(address, self._unverified)
        return Dialed(socket=socket, bindings=(_certificate_binding(socket),), address=address)

    async def _upgrade(
        self, address: Address, tls: ssl.SSLContext | None
    ) -> aiohttp.ClientWebSocketResponse[Any]:
        assert self._http is not None
        try:
            socket = await self._http.ws_connect(
                address.url + LINK_PATH,
                protocols=(SUBPROTOCOL,),
                ssl=tls if tls is not None else False,
                autoping=False,
                compress=0,
                max_msg_size=LINK_CHUNK_BYTES_MAX + 1,  # refused from this size on
                timeout=aiohttp.ClientWSTimeout(ws_close=LINK_CLOSE_S),
            )
        except aiohttp.ClientConnectorCertificateError:
            if tls is self._verified:
                raise
            raise _not_a_node(address) from None
        except aiohttp.ClientSSLError:
            # Something listens there, and it does not speak TLS.
            raise _not_a_node(address) from None
        except (aiohttp.ClientConnectorError, aiohttp.ServerDisconnectedError, OSError) as error:
            raise MeshError(
                "peer_offline", f"{address.url} cannot be reached ({_errno_words(error)})."
            ) from None
        except (aiohttp.ClientError, ValueError):
            # A status that is not 101, a redirect, a page, bytes that are not HTTP. The answer
            # is not quoted: it is a stranger's text, and may hold somebody's secrets.
            raise _not_a_node(address) from None
        if socket.protocol != SUBPROTOCOL:
            await socket.close()
            raise _not_a_node(address)
        return socket


async def _upgrade_or_nothing(
    request: aiohttp.ClientRequest, send: ClientHandlerType
) -> aiohttp.ClientResponse:
    """Take no answer but 101: aiohttp would follow a redirect to wherever a stranger points."""
    answer = await send(request)
    if answer.status != 101:
        answer.close()
        raise aiohttp.ClientError("not an upgrade")
    return answer


def _not_a_node(address: Address) -> PeerFault:
    return PeerFault("not_a_node", f"What answers at {address.url} is not a node.")


def _errno_words(error: BaseException) -> str:
    words = error.strerror if isinstance(error, OSError) else None
    return words or "the connection was closed"


def _certificate_binding(socket: aiohttp.ClientWebSocketResponse[Any]) -> str:
    tls = socket.get_extra_info("ssl_object")
    certificate = tls.getpeercert(binary_form=True) if tls is not None else None
    if certificate is None:
        raise MeshError("peer_offline", "The connection was closed before it was used.")
    return f"cert:{hashlib.sha256(certificate).hexdigest()}"


def _tls(*, verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not verify:
        # Not trust on first use and not blind trust: the peer signs the certificate we saw.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context
