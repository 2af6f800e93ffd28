"""What a dial makes of everything that may answer at an address."""

import asyncio
import contextlib
import hashlib
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from mesh.core.errors import MeshError, PeerFault
from mesh.core.limits import DIAL_BACKOFF_FIRST_S, DIAL_BACKOFF_MAX_S
from mesh.storage.certificate import Certificate
from mesh.transport import dialer
from mesh.transport.addresses import own_ips, vet_url
from mesh.transport.dialer import SUBPROTOCOL, Backoff, Dialer
from mesh.wire.handshake import AcceptorHandshake
from mesh.wire.transcript import PLAIN_LOOPBACK
from tests.transport.nodes import (
    FixedResolver,
    Node,
    SeededEntropy,
    a_certificate_for,
    a_signal,
    an_end,
)

CANARY = "canary-secret-in-a-page"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextlib.asynccontextmanager
async def a_web_server(
    handler: Handler, tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """Some other service; yields its URL."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def a_raw_server(answer: bytes | None) -> AsyncIterator[int]:
    """A server that answers these bytes to anything, or nothing at all; yields its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            if answer is not None:
                await reader.read(1)
                writer.write(answer)
                await writer.drain()
            else:
                await reader.read()
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def dial(url: str) -> MeshError:
    async with Dialer() as made:
        with pytest.raises(MeshError) as caught:
            await made.open(vet_url(url))
    assert CANARY not in str(caught.value)
    return caught.value


async def login_page(_: web.Request) -> web.StreamResponse:
    return web.Response(text=f"<html>log in, {CANARY}</html>", content_type="text/html")


async def empty(_: web.Request) -> web.StreamResponse:
    return web.Response()


async def server_error(_: web.Request) -> web.StreamResponse:
    return web.Response(status=503, text=CANARY)


async def echo_socket(request: web.Request) -> web.StreamResponse:
    """A WebSocket service that is no node: it does not know our subprotocol."""
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for _ in socket:
        pass
    return socket


@pytest.mark.parametrize("handler", [login_page, empty, server_error, echo_socket])
async def test_what_is_not_a_node_is_said_to_be_none(handler: Handler) -> None:
    async with a_web_server(handler) as url:
        assert (await dial(url)).reason == "not_a_node"


async def test_a_page_behind_tls_is_no_node_either(certificate: Certificate) -> None:
    async with a_web_server(login_page, certificate.context) as url:
        assert (await dial(url)).reason == "not_a_node"


async def test_a_redirect_is_not_followed(certificate: Certificate) -> None:
    async with Node(us=an_end(1), certificate=certificate) as node:

        async def elsewhere(_: web.Request) -> web.StreamResponse:
            raise web.HTTPFound(f"{node.plain_url}/link")

        async with a_web_server(elsewhere) as url:
            assert (await dial(url)).reason == "not_a_node"
        assert node.log.lines == []


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH_9.2\r\n", b"\x00" * 64, b"HTTP/1.1 999 what\r\n\r\n"]
)
async def test_bytes_that_are_no_http_are_no_node(answer: bytes) -> None:
    async with a_raw_server(answer) as port:
        assert (await dial(f"http://127.0.0.1:{port}")).reason == "not_a_node"
        assert (await dial(f"https://127.0.0.1:{port}")).reason == "not_a_node"


async def test_a_closed_port_and_a_mute_one_are_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialer, "DIAL_S", 0.1)
    async with a_raw_server(None) as port:
        assert (await dial(f"http://127.0.0.1:{port}")).reason == "peer_offline"
        assert (await dial(f"https://127.0.0.1:{port}")).reason == "peer_offline"
    assert (await dial(f"https://127.0.0.1:{port}")).reason == "peer_offline"


async def test_a_socket_that_knows_the_name_but_not_the_greeting_is_no_node(
    certificate: Certificate,
) -> None:
    async def impostor(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=(SUBPROTOCOL,))
        await socket.prepare(request)
        await socket.send_bytes(b"hello, I am certainly a node")
        heard.append(await socket.receive())
        return socket

    heard: list[object] = []
    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        a_web_server(impostor) as url,
    ):
        with pytest.raises(PeerFault) as caught:
            await node.table.dial_once(url, None)
        assert caught.value.reason == "not_a_node"
        assert node.heard == []


async def test_another_install_hears_nothing_from_us(certificate: Certificate) -> None:
    """Situation 75: the wrong node answers; the dialing side has not even said who it is."""
    heard: list[str] = []

    async def wrong(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=(SUBPROTOCOL,))
        await socket.prepare(request)
        greeting = AcceptorHandshake(an_end(3), bytes(32), (PLAIN_LOOPBACK,))
        await socket.send_bytes(greeting.hello(1_790_000_000_000))
        heard.append((await socket.receive()).type.name)
        return socket

    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        a_web_server(wrong) as url,
    ):
        with pytest.raises(PeerFault) as caught:
            await node.table.dial_once(url, an_end(2).chain.install_id)
        assert caught.value.reason == "peer_identity_mismatch"
        assert not node.table.send(an_end(2).chain.install_id, a_signal(1))
    assert heard == ["CLOSE"]


async def test_the_certificate_that_was_seen_is_what_is_bound(certificate: Certificate) -> None:
    async with Node(us=an_end(1), certificate=certificate) as node, Dialer() as made:
        dialed = await made.open(vet_url(node.url))
        assert dialed.bindings == (f"cert:{certificate.sha256}",)
        await dialed.socket.close()
        plain = await made.open(vet_url(node.plain_url))
        assert plain.bindings == ("plain:loopback",)
        await plain.socket.close()


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_a_name_is_offered_only_where_the_system_vouches_for_it(
    certificate: Certificate, is_trusted: bool, tmp_path: Path
) -> None:
    abroad = [str(ip) for ip in own_ips() if ip.version == 4]
    if not abroad:
        pytest.skip("this machine has no address but loopback")
    named, trust = a_certificate_for("node.example", tmp_path)

    async def join(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=(SUBPROTOCOL,))
        await socket.prepare(request)
        await socket.receive()
        return socket

    app = web.Application()
    app.router.add_get("/link", join)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, abroad[0], 0, ssl_context=named).start()
    url = f"https://node.example:{runner.addresses[0][1]}"
    try:
        async with Dialer(FixedResolver(abroad[0]), trust if is_trusted else None) as made:
            dialed = await made.open(vet_url(url))
            assert [binding.split(":")[0] for binding in dialed.bindings] == (
                ["cert", "host"] if is_trusted else ["cert"]
            )
            assert dialed.bindings[1:] == (("host:node.example",) if is_trusted else ())
            await dialed.socket.close()
    finally:
        await runner.cleanup()


async def test_a_name_that_leads_home_is_not_dialed() -> None:
    async with Dialer(FixedResolver("127.0.0.1")) as made:
        with pytest.raises(MeshError) as caught:
            await made.open(vet_url("https://node.example:7420"))
    assert caught.value.reason == "peer_offline"


async def test_somebody_between_with_their_own_certificate_gains_nothing(
    certificate: Certificate, other_certificate: Certificate
) -> None:
    """A relay that ends TLS: it can read the greeting, and can never pass for the node."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while data := await reader.read(65_536):
                writer.write(data)
        writer.close()

    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        Node(us=an_end(2), certificate=certificate) as dialing,
    ):
        unverified = ssl.create_default_context()
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            far_reader, far_writer = await asyncio.open_connection(
                "127.0.0.1", node.port, ssl=unverified
            )
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(pump(reader, far_writer))
                tasks.create_task(pump(far_reader, writer))

        server = await asyncio.start_server(
            relay, "127.0.0.1", 0, ssl=other_certificate.context
        )
        async with server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(MeshError) as caught:
                await dialing.table.dial_once(f"https://127.0.0.1:{port}", node.install_id)
            assert caught.value.reason == "peer_identity_mismatch"
        assert node.heard == dialing.heard == []


def test_the_digest_is_of_the_whole_certificate(certificate: Certificate) -> None:
    assert len(bytes.fromhex(certificate.sha256)) == hashlib.sha256().digest_size


def test_every_wait_is_jittered_from_the_first_and_bounded() -> None:
    tops = []

    class Asked(SeededEntropy):
        def uniform(self, low: float, high: float) -> float:
            assert low == 0.0
            tops.append(high)
            return random.Random(7).uniform(low, high)

    backoff = Backoff(Asked())
    for _ in range(40):
        assert 0 <= backoff.next_s() <= DIAL_BACKOFF_MAX_S
    assert tops[:3] == [DIAL_BACKOFF_FIRST_S, DIAL_BACKOFF_FIRST_S * 2, DIAL_BACKOFF_FIRST_S * 4]
    assert tops[-1] == DIAL_BACKOFF_MAX_S
    backoff.reset()
    backoff.next_s()
    assert tops[-1] == DIAL_BACKOFF_FIRST_S
