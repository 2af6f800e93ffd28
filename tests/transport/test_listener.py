"""One port: two protocols, opened and closed live, with no room for who asks nothing."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from mesh.core.errors import MeshError
from mesh.core.limits import PEEK_S
from mesh.storage.certificate import Certificate
from mesh.telemetry import Metrics
from mesh.transport import gate, listener
from mesh.transport.addresses import own_ips
from mesh.transport.listener import ALL, LOOPBACK, Listener
from tests.transport.nodes import WAIT_S, KeptLog


@pytest.fixture
def abroad() -> str:
    """An IPv4 address of this machine that is not loopback."""
    found = [str(ip) for ip in own_ips() if ip.version == 4]
    if not found:
        pytest.skip("this machine has no address but loopback")
    return found[0]


@contextlib.asynccontextmanager
async def a_listener(certificate: Certificate, port: int = 0) -> AsyncIterator[Listener]:
    """A listener before an application that answers `hello` everywhere."""

    async def hello(request: web.Request) -> web.Response:
        assert request.transport is not None
        is_tls = request.transport.get_extra_info("ssl_object") is not None
        return web.Response(text=f"hello by {'tls' if is_tls else 'plain'}")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", hello)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    server = runner.server
    assert server is not None
    try:
        async with Listener(
            server, certificate.context, port=port, log=KeptLog(), metrics=Metrics()
        ) as made:
            yield made
    finally:
        await runner.cleanup()


async def get(url: str, method: str = "GET") -> tuple[int, str, str]:
    """Status, text and Location of one request, with no redirect followed."""
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    connector = aiohttp.TCPConnector(ssl=tls, force_close=True)
    async with (
        asyncio.timeout(WAIT_S),
        aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session,
        session.request(method, url, allow_redirects=False) as answer,
    ):
        return answer.status, await answer.text(), answer.headers.get("Location", "")


async def raw(host: str, port: int, data: bytes) -> bytes:
    """Send bytes, and read until the other side ends."""
    async with asyncio.timeout(WAIT_S):
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(data)
            return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def test_both_protocols_are_served_on_loopback(certificate: Certificate) -> None:
    async with a_listener(certificate) as made:
        assert await get(f"http://127.0.0.1:{made.port}/") == (200, "hello by plain", "")
        assert await get(f"https://127.0.0.1:{made.port}/") == (200, "hello by tls", "")
        if LOOPBACK[1] in made.hosts:
            assert (await get(f"http://[::1]:{made.port}/"))[0] == 200
            assert (await get(f"https://[::1]:{made.port}/"))[0] == 200


async def test_the_certificate_that_was_given_is_shown(certificate: Certificate) -> None:
    async with a_listener(certificate) as made:
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
        _, writer = await asyncio.open_connection("127.0.0.1", made.port, ssl=tls)
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        assert len(shown) > 100
        assert writer.get_extra_info("ssl_object").version() == "TLSv1.3"
        writer.close()
        await writer.wait_closed()


async def test_other_machines_come_in_only_while_the_lan_is_open(
    certificate: Certificate, abroad: str
) -> None:
    async with a_listener(certificate) as made:
        url = f"https://{abroad}:{made.port}/"
        with pytest.raises(aiohttp.ClientConnectorError):
            await get(url)
        for _ in range(3):
            made.set_lan(True)
            assert await get(url) == (200, "hello by tls", "")
            assert (await get(f"http://127.0.0.1:{made.port}/"))[0] == 200
            made.set_lan(False)
            with pytest.raises(aiohttp.ClientConnectorError):
                await get(url)
            assert (await get(f"http://127.0.0.1:{made.port}/"))[0] == 200


async def test_plain_http_abroad_is_sent_to_https_and_nothing_else(
    certificate: Certificate, abroad: str
) -> None:
    async with a_listener(certificate) as made:
        made.set_lan(True)
        here = f"{abroad}:{made.port}"
        for method in ("GET", "HEAD"):
            status, text, place = await get(f"http://{here}/i?x=1", method)
            assert (status, text, place) == (308, "", f"https://{here}/i?x=1")
        for method in ("POST", "PUT", "OPTIONS"):
            status, text, place = await get(f"http://{here}/rpc", method)
            assert (status, text, place) == (426, "", "")


async def test_closing_the_lan_cuts_who_is_connected(
    certificate: Certificate, abroad: str
) -> None:
    async with a_listener(certificate) as made:
        made.set_lan(True)
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
        far_reader, far = await asyncio.open_connection(abroad, made.port, ssl=tls)
        near_reader, near = await asyncio.open_connection("127.0.0.1", made.port)
        for reader, writer in ((far_reader, far), (near_reader, near)):
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await reader.readuntil(b"hello by")
        made.set_lan(False)
        async with asyncio.timeout(WAIT_S):
            with contextlib.suppress(ConnectionResetError):
                await far_reader.read()
        near.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await near_reader.readuntil(b"hello by")
        for writer in (far, near):
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()


async def test_a_connection_in_the_backlog_survives_the_exchange(certificate: Certificate) -> None:
    async with a_listener(certificate) as made:
        with socket.create_connection(("127.0.0.1", made.port)) as waiting:
            made.set_lan(True)
            waiting.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            waiting.setblocking(False)
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(WAIT_S):
                assert (await loop.sock_recv(waiting, 100)).startswith(b"HTTP/1.1 200")


async def test_a_taken_port_is_said_and_what_to_do(certificate: Certificate) -> None:
    async with a_listener(certificate) as made:
        with pytest.raises(MeshError) as caught:
            async with a_listener(certificate, port=made.port):
                pass
        assert caught.value.reason == "port_taken"
        assert caught.value.fields["port"] == made.port
        assert "--listen" in caught.value.next


async def test_a_port_taken_on_ipv6_alone_is_taken(certificate: Certificate) -> None:
    try:
        other = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with other, pytest.raises(MeshError, match="port_taken"):
        async with a_listener(certificate, port=other.getsockname()[1]):
            pass


async def test_when_the_lan_cannot_be_opened_loopback_stays(
    certificate: Certificate, abroad: str
) -> None:
    async with a_listener(certificate) as made:
        with socket.create_server((abroad, made.port)):
            with pytest.raises(MeshError, match="port_taken"):
                made.set_lan(True)
        assert not made.is_lan
        assert (await get(f"http://127.0.0.1:{made.port}/"))[0] == 200
        made.set_lan(True)
        assert set(made.hosts) <= set(ALL)


@pytest.mark.parametrize(
    "data",
    [b"\x16garbage that is no TLS", b"\x16\x03\x01\xff\xff" + bytes(70_000), b"\x80" * 32],
)
async def test_garbage_is_closed_and_the_port_goes_on(
    certificate: Certificate, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "HEADER_S", 0.05)
    async with a_listener(certificate) as made:
        assert b"hello" not in await raw("127.0.0.1", made.port, data)
        assert (await get(f"https://127.0.0.1:{made.port}/"))[0] == 200


async def test_an_endless_header_is_answered_and_ended(certificate: Certificate) -> None:
    async with a_listener(certificate) as made:
        data = b"GET / HTTP/1.1\r\nX: " + b"a" * 40_000
        answer = await raw("127.0.0.1", made.port, data)
        assert answer.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400")) or answer == b""


@pytest.mark.parametrize(
    ("setting", "data"),
    [
        ("PEEK_S", b""),
        ("TLS_HANDSHAKE_S", b"\x16\x03\x01"),
        ("HEADER_S", b"GET / HTTP/1.1\r\nHost: loc"),
    ],
)
async def test_who_is_slow_is_ended_at_every_step(
    certificate: Certificate, setting: str, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, setting, 0.05)
    async with a_listener(certificate) as made:
        assert await raw("127.0.0.1", made.port, data) == b""


async def test_half_open_connections_are_bounded_and_give_their_place_back(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "UNAUTHENTICATED_SOCKETS_MAX", 4)
    async with a_listener(certificate) as made, contextlib.AsyncExitStack() as stack:
        held = []
        for _ in range(4):
            _, writer = await asyncio.open_connection("127.0.0.1", made.port)
            writer.write(b"GET / HT")
            held.append(writer)
            stack.callback(writer.close)
        # The fifth is closed at once, whatever it says.
        assert await raw("127.0.0.1", made.port, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n") == b""
        # One that has asked its question holds no place.
        held[0].write(b"TP/1.1\r\nHost: localhost\r\n\r\n")
        status = 0
        async with asyncio.timeout(WAIT_S):
            while status != 200:
                with contextlib.suppress(aiohttp.ClientError):
                    status = (await get(f"http://127.0.0.1:{made.port}/"))[0]


async def test_half_open_hundreds_do_not_slow_down_an_honest_peer(
    certificate: Certificate,
) -> None:
    """Attack 49; Linux lets the honest one come from another loopback address."""
    async with a_listener(certificate) as made, contextlib.AsyncExitStack() as stack:
        for _ in range(500):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", made.port)))
            half.send(b"\x16\x03")
            await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        slowest_s = 0.0
        for _ in range(20):
            began_s = loop.time()
            async with asyncio.timeout(WAIT_S):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", made.port, local_addr=("127.0.0.2", 0)
                )
                writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert b"hello" in await reader.read()
                writer.close()
            slowest_s = max(slowest_s, loop.time() - began_s)
        # Who waits behind the half-open ones waits until they are given up.
        assert slowest_s < PEEK_S / 2


async def test_an_end_with_connections_half_open_is_quick(certificate: Certificate) -> None:
    async with asyncio.timeout(WAIT_S / 4), a_listener(certificate) as made:
        readers = []
        for data in (b"", b"\x16\x03\x01", b"GET / HT"):
            reader, writer = await asyncio.open_connection("127.0.0.1", made.port)
            writer.write(data)
            readers.append((reader, writer))
    for reader, writer in readers:
        with contextlib.suppress(ConnectionResetError):
            await reader.read()
        writer.close()


@pytest.mark.parametrize(
    ("header", "first_line", "place"),
    [
        (b"GET /a?b=c HTTP/1.1\r\nHost: n:7420\r\n\r\n", b"308", b"https://n:7420/a?b=c\r\n"),
        (b"HEAD / HTTP/1.0\r\nhost: [::1]:1\r\n\r\n", b"308", b"https://[::1]:1/\r\n"),
        (b"GET / HTTP/1.1\r\n\r\n", b"426", b""),
        (b"GET http://evil/ HTTP/1.1\r\nHost: n\r\n\r\n", b"426", b""),
        (b"GET / HTTP/1.1\r\nHost: n/evil\r\n\r\n", b"426", b""),
        (b"GET / HTTP/1.1\r\nHost: user@n\r\n\r\n", b"426", b""),
        (b"POST / HTTP/1.1\r\nHost: n\r\n\r\n", b"426", b""),
        (b"\x00\x01\x02", b"426", b""),
    ],
)
def test_the_way_to_https(header: bytes, first_line: bytes, place: bytes) -> None:
    answer = gate.answer_abroad(header)
    assert answer.split(b" ")[1] == first_line
    assert place in answer
    assert (b"Location" in answer) == bool(place)
    assert answer.endswith(b"\r\n\r\n")
