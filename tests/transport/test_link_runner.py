"""One open link against a peer that spoils it."""

import asyncio

import pytest

from mesh.core.limits import LINK_CHUNK_BYTES_MAX, LINK_FRAME_BYTES_MAX
from mesh.storage.certificate import Certificate
from mesh.transport import link_runner
from mesh.wire import codec, link
from tests.transport.nodes import Node, a_raw_peer, a_signal, an_end, number_of


@pytest.fixture(autouse=True)
def short_goodbyes(monkeypatch: pytest.MonkeyPatch) -> None:
    """These peers do not answer a goodbye."""
    monkeypatch.setattr(link_runner, "LINK_CLOSE_S", 0.05)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (bytes(LINK_CHUNK_BYTES_MAX + 1), "too_large"),
        ((LINK_FRAME_BYTES_MAX + 1).to_bytes(4, "big"), "protocol"),
        (b"\x00\x00\x00\x03abc", "protocol"),
        (b"\x00\x00\x00\x00", "protocol"),
    ],
)
async def test_bytes_that_are_no_messages_cut_this_link_and_no_other(
    certificate: Certificate, data: bytes, word: str
) -> None:
    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        a_raw_peer(an_end(2), node.url) as bad,
        a_raw_peer(an_end(3), node.url) as good,
    ):
        await node.until(lambda: len(node.peers) == 2)
        await bad.socket.send_bytes(data)
        await node.until_down(word)
        await good.send(a_signal(1))
        await node.until_messages(1)


async def test_a_deep_frame_over_many_chunks_is_refused_when_it_is_whole(
    certificate: Certificate,
) -> None:
    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        a_raw_peer(an_end(2), node.url) as peer,
    ):
        await node.until_up(peer)
        await peer.send(a_signal(1))
        stream = b"\x00\x08\x00\x00\x82\xa1z" + b"\x91" * (0x80000 - 3)
        for at in range(0, len(stream), LINK_CHUNK_BYTES_MAX):
            await peer.socket.send_bytes(stream[at : at + LINK_CHUNK_BYTES_MAX])
        await node.until_down("protocol")
        assert len(node.messages) == 1


async def test_a_text_message_is_against_the_protocol(certificate: Certificate) -> None:
    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        a_raw_peer(an_end(2), node.url) as peer,
    ):
        await node.until_up(peer)
        await peer.socket.send_str("hello")
        assert await peer.close_code() == link.PROTOCOL
        await node.until_down("protocol")


async def test_messages_before_the_fault_are_delivered(certificate: Certificate) -> None:
    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        a_raw_peer(an_end(2), node.url) as peer,
    ):
        good = b"".join(codec.frame(a_signal(number)) for number in range(3))
        await peer.socket.send_bytes(good + b"\x00\x00\x00\x01\xc1")
        await node.until_down("protocol")
        assert list(map(number_of, node.messages)) == [0, 1, 2]


async def test_pings_of_the_peer_are_answered_with_their_content(
    certificate: Certificate,
) -> None:
    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        a_raw_peer(an_end(2), node.url) as peer,
    ):
        await peer.socket.ping(b"8 bytes!")
        answer = await peer.socket.receive()
        assert (answer.type.name, answer.data) == ("PONG", b"8 bytes!")


async def test_a_lost_connection_is_a_link_down(certificate: Certificate) -> None:
    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        a_raw_peer(an_end(2), node.url) as peer,
    ):
        await node.until_up(peer)
        link_runner.tear(link_runner.socket_under(peer.socket))
        await node.until_down("peer_offline")


async def test_the_peers_reason_is_reported(certificate: Certificate) -> None:
    async with Node(us=an_end(1), certificate=certificate) as node:
        for code, word in ((link.DRAIN, "drain"), (link.BUSY, "busy"), (4999, "protocol")):
            async with a_raw_peer(an_end(2), node.url) as peer:
                await node.until_up(peer)
                await peer.socket.close(code=code)
                await node.until_down(word)


async def test_a_peer_that_ignores_the_goodbye_is_torn_off(certificate: Certificate) -> None:
    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        a_raw_peer(an_end(2), node.url) as peer,
    ):
        await node.until_up(peer)
        node.table.cut(peer.us.chain.install_id)
        await node.until_down("unwanted")
        assert not node.table.is_up(peer.us.chain.install_id)


async def test_nothing_is_delivered_after_the_cut(certificate: Certificate) -> None:
    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        a_raw_peer(an_end(2), node.url) as peer,
    ):
        await node.until_up(peer)
        node.table.cut(peer.us.chain.install_id)
        await peer.send(*map(a_signal, range(50)))
        await node.until_down("unwanted")
        assert node.messages == []
        assert not node.table.send(peer.us.chain.install_id, a_signal(1))


async def test_many_small_messages_share_few_chunks(certificate: Certificate) -> None:
    async with (
        Node(us=an_end(1), certificate=certificate) as node,
        a_raw_peer(an_end(2), node.url) as peer,
    ):
        await node.until_up(peer)
        for number in range(1_000):
            assert node.table.send(peer.us.chain.install_id, a_signal(number))
        reader = codec.FrameReader()
        chunks = 0
        found: list[int] = []
        async with asyncio.timeout(5):
            while len(found) < 1_000:
                message = await peer.socket.receive()
                if message.type.name == "BINARY":
                    chunks += 1
                    found += [number_of(codec.decode(d)) for d in reader.feed(message.data)]
        assert found == list(range(1_000))
        assert chunks <= 5
