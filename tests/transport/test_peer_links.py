"""Two links to one install: the rule as a table, and as it goes on real sockets."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest

from mesh.core.errors import MeshError
from mesh.storage.certificate import Certificate
from mesh.transport import peer_links
from mesh.transport.dialer import Backoff
from mesh.transport.link_runner import LinkRunner
from mesh.transport.peer_links import PeerLink, Rule, rule_for
from mesh.wire import link
from tests.transport.nodes import Node, SeededEntropy, a_raw_peer, a_signal, an_end, number_of

MakeNode = Callable[[int], Node]

LOW, HIGH = "install:" + "0" * 32, "install:" + "f" * 32


def a_link(install_id: str, *, dialed: bool, boot: int = 1) -> LinkRunner:
    peer = SimpleNamespace(install_id=install_id, boot_id=bytes([boot]) * 16)
    return cast(LinkRunner, SimpleNamespace(peer=peer, is_dialed=dialed, address="https://a:1"))


@pytest.mark.parametrize(
    ("ours", "theirs", "old_dialed", "new_dialed", "new_boot", "rule"),
    [
        # The same side dialed twice: it lost the old one.
        (LOW, HIGH, True, True, 1, Rule.REPLACE),
        (LOW, HIGH, False, False, 1, Rule.REPLACE),
        (HIGH, LOW, True, True, 1, Rule.REPLACE),
        (HIGH, LOW, False, False, 1, Rule.REPLACE),
        # Both dialed: what the lower one dialed stays, seen from either end.
        (LOW, HIGH, False, True, 1, Rule.REPLACE),
        (HIGH, LOW, True, False, 1, Rule.REPLACE),
        (LOW, HIGH, True, False, 1, Rule.ASK_OLD),
        (HIGH, LOW, False, True, 1, Rule.ASK_OLD),
        # Another boot: restarted, or a copy of the home.
        (LOW, HIGH, True, True, 2, Rule.ASK_OLD_BOOT),
        (HIGH, LOW, True, False, 2, Rule.ASK_OLD_BOOT),
    ],
)
def test_the_rule(
    ours: str, theirs: str, old_dialed: bool, new_dialed: bool, new_boot: int, rule: Rule
) -> None:
    old = a_link(theirs, dialed=old_dialed)
    new = a_link(theirs, dialed=new_dialed, boot=new_boot)
    assert rule_for(ours, old, new) is rule


def test_both_ends_keep_the_same_link() -> None:
    """Whatever the order in which each end finishes the two handshakes."""
    for low_first in (True, False):
        for high_first in (True, False):
            kept = {
                _kept(LOW, HIGH, is_dialed_first=low_first),
                _kept(HIGH, LOW, is_dialed_first=high_first),
            }
            assert kept == {"dialed by low"}


def _kept(ours: str, theirs: str, *, is_dialed_first: bool) -> str:
    first = a_link(theirs, dialed=is_dialed_first)
    second = a_link(theirs, dialed=not is_dialed_first)
    stays = second if rule_for(ours, first, second) is Rule.REPLACE else first
    is_low = ours if stays.is_dialed else theirs
    return "dialed by low" if is_low == LOW else "dialed by high"


def test_the_right_address_moves_to_the_front_and_strange_ones_do_not_come_in() -> None:
    peer = PeerLink(install_id=LOW, backoff=Backoff(SeededEntropy()), since_ms=5)
    peer.addresses = ("https://a:1", "https://b:1", "https://c:1")
    peer.prefer("https://c:1")
    assert peer.addresses == ("https://c:1", "https://a:1", "https://b:1")
    peer.prefer("https://evil:1")
    assert peer.addresses == ("https://c:1", "https://a:1", "https://b:1")


def test_what_people_see_of_a_peer() -> None:
    peer = PeerLink(install_id=LOW, backoff=Backoff(SeededEntropy()), since_ms=5)
    assert (peer.state().state, peer.state().reason, peer.state().address) == (
        "down",
        "peer_offline",
        "",
    )
    assert peer.is_forgettable
    peer.seating = 1
    assert not peer.is_forgettable


@pytest.mark.parametrize("round_number", range(5))
async def test_when_both_dial_one_link_survives(node: MakeNode, round_number: int) -> None:
    async with node(1) as one, node(2) as two:
        low, high = sorted((one, two), key=lambda there: there.install_id)
        for there, other in ((one, two), (two, one)):
            there.entropy = SeededEntropy(round_number)
            there.table.want(other.install_id, [other.url])
        await one.until_up(two)
        await two.until_up(one)
        # Both attempts may have been under way. A message each way on the link that is left
        # proves that both ends hold the same one; then nothing more may happen to it.
        await _talk_until_heard(one, two)
        await _talk_until_heard(two, one)
        ups = len(one.peers), len(two.peers)
        assert max(ups) <= 2
        for _ in range(3):
            one.table.sweep()
            two.table.sweep()
            await _talk_until_heard(low, high)
        assert (len(one.peers), len(two.peers)) == ups


async def _talk_until_heard(there: Node, other: Node) -> None:
    """Send until something arrives: a layer above does so by catching up after each up."""
    before = len(other.messages)
    known = -1
    while len(other.messages) == before:
        if len(there.peers) != known:
            known = len(there.peers)
            there.table.send(other.install_id, a_signal(known))
        await asyncio.sleep(0)


async def test_a_second_dial_finds_the_link_that_is_open(node: MakeNode) -> None:
    async with node(1) as one, node(2) as two:
        first = await one.table.dial_once(two.url, two.install_id)
        assert await one.table.dial_once(two.url, two.install_id) is first
        assert len(one.peers) == 1


async def test_the_link_dialed_by_the_lower_install_wins_over_a_later_one(node: MakeNode) -> None:
    async with node(1) as one, node(2) as two:
        low, high = sorted((one, two), key=lambda there: there.install_id)
        await low.table.dial_once(high.url, high.install_id)
        await high.until_up(low)
        met = await high.table.dial_once(low.url, None)
        assert met.install_id == low.install_id
        assert (len(low.peers), len(high.peers)) == (1, 1)
        assert low.downs() == high.downs() == []


async def test_the_link_dialed_by_the_lower_install_replaces_an_earlier_one(
    node: MakeNode,
) -> None:
    async with node(1) as one, node(2) as two:
        low, high = sorted((one, two), key=lambda there: there.install_id)
        await high.table.dial_once(low.url, low.install_id)
        await low.until_up(high)
        await low.table.dial_once(high.url, None)
        await high.until(lambda: len(high.peers) == 2)
        for there in (low, high):
            kinds = [entry[0] for entry in there.heard]
            assert kinds == ["up", "down", "up"]
            assert there.downs() == ["replaced"]


async def test_a_copied_home_is_noticed_by_both(certificate: Certificate) -> None:
    async with (
        Node(us=an_end(1), certificate=certificate) as one,
        Node(us=an_end(1, boot=99), certificate=certificate) as copy,
    ):
        with pytest.raises(MeshError) as caught:
            await one.table.dial_once(copy.url, None)
        assert caught.value.reason == "duplicate_instance"
        sentence = "another node runs with this install's key"
        assert sentence in one.log.events("warning")
        assert sentence in copy.log.events("warning")
        assert one.heard == copy.heard == []
        assert one.table.is_copied and copy.table.is_copied


async def test_a_second_instance_is_refused_while_the_first_answers(node: MakeNode) -> None:
    async with node(1) as one, a_raw_peer(an_end(2), one.url) as first:
        await one.until_up(first)
        async with asyncio.TaskGroup() as tasks:
            alive = tasks.create_task(first.answer_pings())
            async with a_raw_peer(an_end(2, boot=99), one.url) as second:
                assert await second.close_code() == link.DUPLICATE
            assert "two nodes run with one key" in one.log.events("warning")
            state = one.state_of(first.us.chain.install_id)
            assert (state.state, state.reason) == ("up", "duplicate_instance")
            await first.send(a_signal(1))
            await one.until_messages(1)
            assert len(one.peers) == 1
            alive.cancel()


async def test_a_restarted_node_replaces_its_silent_link(
    node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_links, "LINK_PROBE_S", 0.05)
    async with node(1) as one, a_raw_peer(an_end(2), one.url) as first:
        await one.until_up(first)
        async with a_raw_peer(an_end(2, boot=99), one.url) as second:
            await one.until(lambda: len(one.peers) == 2)
            assert one.downs() == ["replaced"]
            assert one.peers[1].boot_id == second.us.boot_id
            # What the first still says is not heard any more.
            await first.send(a_signal(1))
            await second.send(a_signal(2))
            await one.until_messages(1)
            assert number_of(one.messages[0]) == 2


async def test_the_same_boot_dialing_again_replaces_its_link(node: MakeNode) -> None:
    async with node(1) as one, a_raw_peer(an_end(2), one.url) as first:
        await one.until_up(first)
        async with a_raw_peer(an_end(2), one.url):
            await one.until(lambda: len(one.peers) == 2)
            assert await first.close_code() == link.REPLACED
