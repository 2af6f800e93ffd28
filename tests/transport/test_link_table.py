"""Links between nodes on real sockets: one per install, in order, and none to anybody else."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from mesh.core.errors import PeerFault, Refused
from mesh.core.link_messages import LinkMessage
from mesh.storage.certificate import Certificate
from mesh.transport import link_table, peer_links
from mesh.wire import link
from tests.transport.nodes import (
    Node,
    a_raw_peer,
    a_signal,
    an_end,
    number_of,
    passing,
)

MakeNode = Callable[[int], Node]


@pytest.mark.parametrize("is_tls", [True, False])
async def test_two_nodes_meet_and_talk_in_order(node: MakeNode, is_tls: bool) -> None:
    async with node(1) as one, node(2) as two:
        met = await one.table.dial_once(two.url if is_tls else two.plain_url, two.install_id)
        await two.until_up(one)
        assert met.name == "node 2"
        assert met.binding.startswith("cert:" if is_tls else "plain:")
        assert two.peers[0].install_id == one.install_id
        for number in range(100):
            assert one.table.send(two.install_id, a_signal(number))
            assert two.table.send(one.install_id, a_signal(number, size_bytes=1_000))
        for there in (one, two):
            await there.until_messages(100)
            assert list(map(number_of, there.messages)) == list(range(100))


async def test_a_large_message_passes_whole(node: MakeNode) -> None:
    async with node(1) as one, node(2) as two:
        await one.table.dial_once(two.url, two.install_id)
        assert one.table.send(two.install_id, a_signal(1, size_bytes=900_000))
        await two.until_messages(1)
        assert two.messages == [a_signal(1, size_bytes=900_000)]


async def test_messages_to_oneself_come_in_order_and_not_at_once(node: MakeNode) -> None:
    async with node(1) as one:
        assert one.table.is_up(one.install_id)
        for number in range(10):
            assert one.table.send(one.install_id, a_signal(number))
        assert one.messages == []
        await one.until_messages(10)
        assert list(map(number_of, one.messages)) == list(range(10))
        assert {entry[1] for entry in one.heard} == {one.install_id}


async def test_a_message_to_nobody_is_not_taken(node: MakeNode) -> None:
    async with node(1) as one:
        assert not one.table.send(an_end(2).chain.install_id, a_signal(1))
        assert not one.table.is_up(an_end(2).chain.install_id)


async def test_ourselves_are_not_dialed(node: MakeNode) -> None:
    async with node(1) as one:
        with pytest.raises(PeerFault) as caught:
            await one.table.dial_once(one.url, None)
        assert caught.value.reason == "peer_identity_mismatch"
        one.table.want(one.install_id, [one.url])
        assert one.table.state() == ()


async def test_another_install_at_the_address_is_named_and_left(node: MakeNode) -> None:
    async with node(1) as one, node(2) as two, node(3) as three:
        with pytest.raises(PeerFault) as caught:
            await one.table.dial_once(two.url, three.install_id)
        assert caught.value.reason == "peer_identity_mismatch"
        assert two.peers == []
        one.table.want(three.install_id, [two.url, three.url])
        await one.until_up(three)
        assert two.peers == []


async def test_a_wanted_peer_that_is_another_says_so(node: MakeNode) -> None:
    async with node(1) as one, node(2) as two:
        wanted = an_end(3).chain.install_id
        one.table.want(wanted, [two.url])
        await passing(lambda: one.state_of(wanted).reason == "peer_identity_mismatch")
        assert one.state_of(wanted).state == "down"
        one.table.unwant(wanted)
        assert one.table.state() == ()


async def test_a_peer_that_comes_back_is_dialed_again(certificate: Certificate) -> None:
    async with Node(us=an_end(1), certificate=certificate) as one:
        async with Node(us=an_end(2), certificate=certificate) as two:
            one.table.want(two.install_id, [two.url])
            await two.until_up(one)
        await one.until_down("drain")
        assert one.state_of(two.install_id).state == "down"
        async with Node(us=an_end(2, boot=99), certificate=certificate, port=two.port) as again:
            await one.until_up(again)
            assert one.peers[-1].boot_id == again.us.boot_id


async def test_the_address_that_was_right_is_tried_first(node: MakeNode) -> None:
    async with node(1) as one, node(2) as two, node(3) as three:
        one.table.want(three.install_id, [two.url, three.url])
        await one.until_up(three)
        one.table.want(three.install_id, [two.url, three.url, three.plain_url])
        state = one.state_of(three.install_id)
        assert (state.state, state.address, state.reason) == ("up", three.url, "")
        one.table.cut(three.install_id)
        await one.until_down("unwanted")
        assert one.state_of(three.install_id).address == three.url


async def test_who_is_no_longer_wanted_is_not_dialed(node: MakeNode) -> None:
    async with node(1) as one:
        async with node(2) as two:
            one.table.want(two.install_id, [two.url])
            await two.until_up(one)
            one.table.unwant(two.install_id)
            assert one.table.is_up(two.install_id)
        await one.until_down("drain")
        assert one.table.state() == ()


async def test_a_link_nobody_wants_closes_when_idle(node: MakeNode) -> None:
    async with node(1) as one, node(2) as two, node(3) as three:
        two.table.want(one.install_id, [one.url])
        await three.table.dial_once(one.url, None)
        one.table.want(two.install_id, [two.url])
        for other in (two, three):
            await one.until_up(other)
        one.clock.ahead_s = 20
        await two.until(lambda: two.table.send(one.install_id, a_signal(1)))
        await one.until_messages(1)
        for _, other in enumerate((two, three)):
            other.table.sweep()
        one.clock.ahead_s = 61
        # Only idleness is looked at here; that both are alive was just heard.
        for peer in (two, three):
            _heard_now(one, peer)
        one.table.sweep()
        await one.until_down("unwanted")
        assert one.table.is_up(two.install_id)
        assert not one.table.is_up(three.install_id)


def _heard_now(there: Node, other: Node) -> None:
    peer = there.table._peers.get(other.install_id)
    assert peer is not None and peer.runner is not None
    peer.runner._link.heard(there.clock.now().mono_s)


async def test_a_silent_peer_is_cut_by_the_clock_that_counts_sleep(node: MakeNode) -> None:
    async with node(1) as one, a_raw_peer(an_end(2), one.url) as silent:
        await one.until_up(silent)
        one.clock.ahead_s = 26
        one.table.sweep()
        assert await silent.close_code() == link.SILENT
        await one.until_down("silent")


async def test_the_round_trip_is_measured(node: MakeNode) -> None:
    async with node(1) as one, node(2) as two:
        await one.table.dial_once(two.url, two.install_id)
        assert 0 <= await one.table.ping(two.install_id) < 2_000_000
        assert one.state_of(two.install_id).rtt_us is not None
        hello = one.table.hello_of(two.install_id)
        assert hello is not None
        assert hello.chain == two.us.chain
        assert one.table.hello_of(an_end(3).chain.install_id) is None
        with pytest.raises(Refused, match="peer_offline"):
            await one.table.ping(an_end(3).chain.install_id)


async def test_a_ping_that_nobody_answers_says_so(
    node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_table, "LINK_PROBE_S", 0.05)
    async with node(1) as one, a_raw_peer(an_end(2), one.url) as silent:
        await one.until_up(silent)
        with pytest.raises(Refused, match="peer_offline"):
            await one.table.ping(silent.us.chain.install_id)


async def test_what_waits_is_sent_before_the_end(node: MakeNode) -> None:
    async with node(2) as two:
        async with node(1) as one:
            await one.table.dial_once(two.url, two.install_id)
            await two.until_up(one)
            for number in range(2_000):
                assert one.table.send(two.install_id, a_signal(number, size_bytes=500))
        await two.until_down("drain")
        assert list(map(number_of, two.messages)) == list(range(2_000))
        assert one.downs() == ["drain"]


async def test_a_reader_that_does_not_read_is_cut_and_others_are_not(node: MakeNode) -> None:
    async with node(1) as one, node(3) as three, a_raw_peer(an_end(2), one.url) as slow:
        await three.table.dial_once(one.url, one.install_id)
        await one.until_up(slow)
        await one.until_up(three)
        slow_id = slow.us.chain.install_id
        sent = 0
        while one.table.send(slow_id, a_signal(sent, size_bytes=500_000)):
            assert one.table.send(three.install_id, a_signal(sent))
            sent += 1
            await asyncio.sleep(0)
        await one.until_down("slow_reader")
        assert not one.table.is_up(slow_id)
        await three.until_messages(sent)
        assert one.table.is_up(three.install_id)


async def test_a_peer_fault_in_the_layer_above_cuts_the_link(node: MakeNode) -> None:
    def refuse(_: str, __: LinkMessage) -> None:
        raise PeerFault("invalid_params", "not like this")

    async with node(1) as one, node(2) as two:
        two.on_message = refuse
        await one.table.dial_once(two.url, two.install_id)
        assert one.table.send(two.install_id, a_signal(1))
        await one.until_down("protocol")
        assert "a peer broke the link protocol" in two.log.events("warning")


async def test_a_fault_of_ours_in_the_layer_above_ends_the_table(node: MakeNode) -> None:
    def fail(_: str, __: LinkMessage) -> None:
        raise ZeroDivisionError

    async with node(1) as one:
        two = node(2)
        two.on_message = fail
        with pytest.raises(ExceptionGroup) as caught:
            async with two:
                await one.table.dial_once(two.url, two.install_id)
                assert one.table.send(two.install_id, a_signal(1))
                await asyncio.Event().wait()
        assert caught.group_contains(ZeroDivisionError, depth=2)


async def test_uninvited_links_are_bounded_and_wanted_ones_still_come(
    node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_links, "UNWANTED_LINKS_MAX", 2)
    async with node(1) as one, AsyncExitStack() as peers:
        for seed in (11, 12):
            await one.until_up(await peers.enter_async_context(a_raw_peer(an_end(seed), one.url)))
        async with a_raw_peer(an_end(13), one.url) as third:
            assert await third.close_code() == link.BUSY
        async with node(2) as two:
            one.table.want(two.install_id, [two.url])
            await two.until_up(one)


async def test_hints_of_another_machine_never_name_this_one(certificate: Certificate) -> None:
    hints = ("http://127.0.0.1:22", "https://192.168.7.7:7420", "https://169.254.169.254:80")
    async with Node(us=an_end(1), certificate=certificate) as one:
        end = an_end(2)
        object.__setattr__(end, "addresses", hints)
        async with a_raw_peer(end, one.url) as local:
            await one.until_up(local)
            # Told over loopback, a loopback hint may be meant.
            assert one.peers[0].addresses == hints[:2]


async def test_a_closing_node_takes_no_new_links(node: MakeNode) -> None:
    async with node(1) as one, node(2) as two:
        await two.table.drain()
        await one.table.dial_once(two.url, two.install_id)
        # The dialing side has proved itself before it can be told.
        await one.until_down("busy")
        assert two.peers == []
        two.table.want(one.install_id, [one.url])
        assert two.table.state() == ()
        assert two.table.send(two.install_id, a_signal(1))
        await two.until_messages(1)
