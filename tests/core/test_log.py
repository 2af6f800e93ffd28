"""The laws of a log: dense, linked, and never back to an older epoch (invariant I4)."""

import pytest

from mesh.core.errors import PeerFault
from mesh.core.event import GENESIS, Event, admit
from mesh.core.log import Head
from tests.core.test_event import AUTHORITY, said


def event(seq: int, prev_hash: str, epoch: int = 1) -> Event:
    """An event at a place in a log."""
    return admit(
        AUTHORITY,
        said(event_id=f"e-{seq}"),
        epoch=epoch,
        seq=seq,
        prev_hash=prev_hash,
        admitted_at_ms=seq,
    )


def test_a_log_grows_by_what_follows() -> None:
    head = Head()
    for seq in range(1, 4):
        following = event(seq, head.hash, epoch=seq // 2)
        head = head.follow(following)
        assert (head.seq, head.epoch, head.hash) == (seq, seq // 2, following.hash)


@pytest.mark.parametrize(
    ("seq", "prev_hash", "epoch", "reason"),
    [
        (1, GENESIS, 1, "fork"),
        (3, "right", 1, "fork"),
        (9, "right", 1, "fork"),
        (2, GENESIS, 1, "fork"),
        (2, "0" * 63 + "1", 1, "fork"),
        (2, "right", 0, "stale_epoch"),
    ],
)
def test_what_does_not_follow_is_a_peers_fault(
    seq: int, prev_hash: str, epoch: int, reason: str
) -> None:
    head = Head().follow(event(1, GENESIS))
    wrong = event(seq, head.hash if prev_hash == "right" else prev_hash, epoch)
    with pytest.raises(PeerFault) as fault:
        head.follow(wrong)
    assert fault.value.reason == reason
