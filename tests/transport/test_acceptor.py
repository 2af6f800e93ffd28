"""The door for nodes: no pages, no strangers' proxies, no crowd."""

import asyncio
from contextlib import AsyncExitStack

import aiohttp
import pytest
from aiohttp import hdrs

from mesh.core.errors import MeshError
from mesh.storage.certificate import Certificate
from mesh.transport import acceptor, link_runner
from mesh.transport.addresses import vet_url
from mesh.transport.dialer import SUBPROTOCOL, Dialer
from mesh.transport.link_runner import shake_hands
from mesh.wire.handshake import DialerHandshake
from tests.transport.nodes import Node, SkippingClock, a_raw_peer, an_end, passing

UPGRADE: dict[str, str] = {
    hdrs.CONNECTION: "Upgrade",
    hdrs.UPGRADE: "websocket",
    hdrs.SEC_WEBSOCKET_VERSION: "13",
    hdrs.SEC_WEBSOCKET_KEY: "AAAAAAAAAAAAAAAAAAAAAA==",
    hdrs.SEC_WEBSOCKET_PROTOCOL: SUBPROTOCOL,
}


async def status_of(node: Node, headers: dict[str, str]) -> int:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{node.plain_url}/link", headers=headers) as answer,
    ):
        return answer.status


async def test_pages_and_curious_clients_are_turned_away(certificate: Certificate) -> None:
    async with Node(us=an_end(1), certificate=certificate) as node:
        assert await status_of(node, {}) == 426
        assert await status_of(node, UPGRADE | {hdrs.SEC_WEBSOCKET_PROTOCOL: "chat"}) == 426
        assert await status_of(node, UPGRADE | {hdrs.ORIGIN: "http://127.0.0.1"}) == 403
        assert await status_of(node, UPGRADE | {hdrs.ORIGIN: "null"}) == 403
        assert node.heard == []


async def test_one_that_never_greets_is_let_go(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_runner, "HANDSHAKE_S", 0.05)
    async with Node(us=an_end(1), certificate=certificate) as node, Dialer() as dialer:
        dialed = await dialer.open(vet_url(node.url))
        assert (await dialed.socket.receive()).type is aiohttp.WSMsgType.BINARY
        assert (await dialed.socket.receive()).type is aiohttp.WSMsgType.CLOSE
        await passing(lambda: "a link was refused" in node.log.events("info"))


async def test_greetings_are_bounded_per_address_and_give_their_place_back(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptor, "UNAUTHENTICATED_SOCKETS_MAX", 2)
    async with Node(us=an_end(1), certificate=certificate) as node, AsyncExitStack() as stack:
        dialer = await stack.enter_async_context(Dialer())
        for _ in range(2):
            dialed = await dialer.open(vet_url(node.url))
            stack.push_async_callback(dialed.socket.close)
        with pytest.raises(MeshError, match="not_a_node"):
            await dialer.open(vet_url(node.url))
        await dialed.socket.close()
        async with asyncio.timeout(5):
            while not node.peers:
                try:
                    peer = await stack.enter_async_context(a_raw_peer(an_end(2), node.url))
                except MeshError:
                    continue
                await node.until_up(peer)


@pytest.mark.parametrize(("names", "is_taken"), [(("mesh.example.org",), True), ((), False)])
async def test_a_proxy_counts_only_under_our_public_name(
    certificate: Certificate, names: tuple[str, ...], is_taken: bool
) -> None:
    """The proxy ends TLS and comes in over loopback; the dialing side saw its certificate."""
    async with (
        Node(us=an_end(1), certificate=certificate, public_hosts=names) as node,
        Dialer() as dialer,
    ):
        dialed = await dialer.open(vet_url(node.plain_url))
        seen = ("cert:" + "ab" * 32, "host:mesh.example.org")
        handshake = DialerHandshake(an_end(2), bytes(32), seen)
        if is_taken:
            met = await shake_hands(dialed.socket, handshake, SkippingClock())
            assert met.binding == "host:mesh.example.org"
            await node.until(lambda: len(node.peers) == 1)
        else:
            with pytest.raises(MeshError) as caught:
                await shake_hands(dialed.socket, handshake, SkippingClock())
            assert caught.value.reason == "peer_identity_mismatch"
        await dialed.socket.close()


@pytest.mark.parametrize("garbage", [b"", b"\x00" * 100, b"\x91" * 15_000, b"x" * 17_000])
async def test_garbage_for_a_greeting_is_refused(
    certificate: Certificate, garbage: bytes
) -> None:
    async with Node(us=an_end(1), certificate=certificate) as node, Dialer() as dialer:
        dialed = await dialer.open(vet_url(node.url))
        await dialed.socket.receive()
        await dialed.socket.send_bytes(garbage)
        assert (await dialed.socket.receive()).type is aiohttp.WSMsgType.CLOSE
        assert node.heard == []
        async with a_raw_peer(an_end(2), node.url) as peer:
            await node.until_up(peer)
