"""The rule for two links to one install, as a table."""

from types import SimpleNamespace
from typing import cast

import pytest

from mesh.transport.dialer import Backoff
from mesh.transport.link_runner import LinkRunner
from mesh.transport.peer_links import PeerLink, Rule, rule_for
from tests.transport.nodes import SeededEntropy

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
