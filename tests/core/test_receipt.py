"""Receipts: every pair of statuses, and what one id may be used for."""

from itertools import product

import pytest

from mesh.core import receipt
from mesh.core.errors import Malformed, Refused
from mesh.core.receipt import STEPS, Claim, Ground, Status

LEGAL = {
    ("pending", "pending", False),
    ("pending", "applied", False),
    ("pending", "rejected", False),
    ("pending", "applied", True),
    ("pending", "rejected", True),
    ("pending", "uncertain", False),
    ("uncertain", "applied", True),
    ("uncertain", "rejected", True),
}


@pytest.mark.parametrize(("now", "to", "proved"), list(product(Status, Status, (False, True))))
def test_every_step_is_legal_or_loud(now: Status, to: Status, proved: bool) -> None:
    if (now.value, to.value, proved) in LEGAL:
        assert receipt.step(now, to, proved=proved) is to
    else:
        with pytest.raises(AssertionError, match=f"from {now} to {to}"):
            receipt.step(now, to, proved=proved)


def test_nothing_leaves_a_final_status_and_nothing_enters_pending() -> None:
    assert all(now not in receipt.FINAL for now, _ in STEPS)
    assert all(to is not Status.PENDING for _, to in STEPS)


def test_the_drawing_names_every_status_and_every_ground() -> None:
    drawing = str(receipt.__doc__)
    for word in (*Status, *Ground):
        assert word in drawing


def test_the_same_claim_is_answered() -> None:
    claim = Claim(operation="invitations.accept", owner="operator", input_sha256="aa")
    receipt.same_or_refuse(claim, claim)


@pytest.mark.parametrize(
    ("operation", "owner", "digest", "reason"),
    [
        ("other", "operator", "aa", "conflict"),
        ("accept", "operator", "bb", "conflict"),
        ("accept", "stranger", "aa", "not_found"),
        # A stranger learns nothing, not even that the input is another.
        ("other", "stranger", "bb", "not_found"),
    ],
)
def test_another_claim_is_refused(operation: str, owner: str, digest: str, reason: str) -> None:
    stored = Claim(operation="accept", owner="operator", input_sha256="aa")
    with pytest.raises(Refused) as refused:
        receipt.same_or_refuse(stored, Claim(operation=operation, owner=owner, input_sha256=digest))
    assert refused.value.reason == reason


def test_the_input_is_compared_by_meaning() -> None:
    assert receipt.input_sha256({"a": 1, "b": [True]}) == receipt.input_sha256(
        {"b": [True], "a": 1}
    )
    assert receipt.input_sha256({"a": 1}) != receipt.input_sha256({"a": "1"})
    with pytest.raises(Malformed):
        receipt.input_sha256({"a": 1.5})
