"""The port as other machines find it: https for everybody, links for the right install only."""

import asyncio
import hashlib
import ssl
from dataclasses import replace

import pytest

from mesh.client import Connection, RequestRejected
from mesh.client.invitations import new_request_id
from mesh.core.invitation import decode_link
from tests.netns.conftest import Three
from tests.netns.following import WAIT_S, following
from tests.netns.machines import join
from tests.netns.network import Network
from tests.processes.node_process import NodeProcess

LOOK_EVERY_S = 0.05
pytestmark = pytest.mark.timeout(90)
ANSWER_S = 10.0


async def asked(
    network: Network,
    source: str,
    target: tuple[str, int],
    request: bytes,
    tls: ssl.SSLContext | None = None,
) -> tuple[bytes, bytes | None]:
    """Send bytes from one machine to another's port; the answer, and the certificate if any."""
    made = network.socket(source)
    async with asyncio.timeout(ANSWER_S):
        await asyncio.get_running_loop().sock_connect(made, target)
        reader, writer = await asyncio.open_connection(
            sock=made, ssl=tls, server_hostname="" if tls else None
        )
        writer.write(request)
        answer = await reader.read()
        tls_object = writer.get_extra_info("ssl_object")
        certificate = tls_object.getpeercert(binary_form=True) if tls_object else None
        writer.close()
        await writer.wait_closed()
    return answer, certificate


def unverified() -> ssl.SSLContext:
    """TLS that looks at no name: the certificate's digest is what is compared."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def test_plain_http_from_another_machine_is_sent_to_https(three: Three) -> None:
    network, node = three.network, three.a
    host = network.address(node.name)
    where, source = (host, node.port), three.c.name
    named = f"Host: {host}:{node.port}\r\n".encode()
    answer, _ = await asked(network, source, where, b"GET /livez HTTP/1.1\r\n" + named + b"\r\n")
    status, *fields = answer.split(b"\r\n")
    assert status == b"HTTP/1.1 308 Permanent Redirect"
    assert f"Location: https://{host}:{node.port}/livez".encode() in fields
    # Not even with the node's own token.
    async with node.connected() as connection:
        link = (await connection.node.login_link())["link"]
    body = b'{"secret":"%s"}' % link.rpartition("=")[2].encode()
    answer, _ = await asked(
        network,
        source,
        where,
        b"POST /login HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s" % (named, len(body), body),
    )
    assert answer.startswith(b"HTTP/1.1 426 ")
    assert b"Set-Cookie" not in answer
    end = b"GET /livez HTTP/1.1\r\n%sConnection: close\r\n\r\n" % named
    answer, certificate = await asked(network, source, where, end, unverified())
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert certificate is not None
    async with node.connected() as connection:
        shown = (await connection.node.info())["fingerprint"]
    assert bytes.fromhex(shown) == hashlib.sha256(certificate).digest()


async def test_an_invitation_that_leads_to_another_install_is_refused(three: Three) -> None:
    network, host, guest, stranger = three.network, three.a, three.b, three.c
    async with host.connected() as connection:
        room_id = (await connection.rooms.create("Den"))["room_id"]
        link = (await connection.invitations.create(room_id))["link"]
    elsewhere = f"https://{network.address(stranger.name)}:{stranger.port}"
    forged = replace(decode_link(link), addresses=(elsewhere,)).encode(elsewhere)
    async with guest.connected() as connection:
        with pytest.raises(RequestRejected, match="peer_identity_mismatch"):
            await connection.invitations.preview(forged)
        with pytest.raises(RequestRejected, match="peer_identity_mismatch"):
            await connection.invitations.accept(forged, request_id=new_request_id())
        assert not await connection.rooms.list()
        assert not await connection.peers.list()
        assert (await connection.invitations.preview(link))["room_name"] == "Den"


async def test_a_stranger_at_an_old_address_is_not_taken_for_the_host(three: Three) -> None:
    network, host, guest = three.network, three.a, three.b
    async with host.connected() as connection:
        room_id = (await connection.rooms.create("Den"))["room_id"]
    await join(host, guest, room_id)
    async with following(guest, room_id) as at_guest, guest.connected() as connection:
        assert await host.stop() == 0
        stranger = NodeProcess(
            host.home.with_name("stranger"),
            "stranger",
            port=host.port,
            lan=True,
            prefix=network.prefix(host.name),
        )
        async with stranger:
            await until_refused(connection, host.install_id)
            queued = await connection.rooms.send(room_id, "for the host alone", wait_ms=100)
            assert queued["queued"]
            async with stranger.connected() as at_stranger:
                assert not await at_stranger.peers.list()
        await host.restart()
        await at_guest.shows("for the host alone")


async def until_refused(connection: Connection, install_id: str) -> None:
    """Wait until the node has met somebody else where that install was: nothing announces it."""
    async with asyncio.timeout(WAIT_S):
        while True:
            if (await connection.peers.show(install_id))["reason"] == "peer_identity_mismatch":
                return
            await asyncio.sleep(LOOK_EVERY_S)
