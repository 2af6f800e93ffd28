"""Refusals: one tree, drawn as it is, and one table of words."""

import re

import pytest

from mesh.core import errors
from mesh.core.errors import REASONS, MeshError, PeerFault, Refused


def test_the_tree_is_drawn_as_it_is() -> None:
    drawing = str(errors.__doc__)
    drawn = set(re.findall(r"^ {4}(?:\+-- )?([A-Z]\w+)", drawing, re.MULTILINE))
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, MeshError)
    }
    assert drawn == classes
    assert all(
        vars(errors)[name].__bases__ == (MeshError,) for name in classes - {"MeshError"}
    ), "the drawing has two levels"


def test_an_error_carries_what_a_program_and_a_person_need() -> None:
    refused = Refused("conflict", "This id was used for other content.", seq=3)
    assert (refused.reason, refused.status, refused.fields) == ("conflict", 409, {"seq": 3})
    assert refused.next == REASONS["conflict"].next
    assert str(refused) == "conflict: This id was used for other content."
    assert Refused("conflict", "x", next="Ask.").next == "Ask."


def test_a_word_that_is_not_in_the_table_is_our_own_fault() -> None:
    with pytest.raises(AssertionError):
        PeerFault("nonsense", "x")


def test_each_reason_has_a_status_a_reader_knows() -> None:
    for word, reason in REASONS.items():
        assert re.fullmatch(r"[a-z][a-z_]*", word)
        assert 400 <= reason.status < 600, word
        assert reason.next == "" or reason.next.endswith("."), word


# The words of the design's list, section 7: clients compare them, so none may go.
FROZEN = """
    invalid_params not_found forbidden conflict not_authority stale_epoch unknown_epoch no_lease
    disbanded unknown_issuer bad_signature wrong_audience wrong_room wrong_profile
    wrong_authority grant_invalid grant_expired grant_revoked proof_required replayed skew
    policy_changed catalog_changed invitation_spent invitation_expired invitation_revoked
    invitation_damaged not_reachable peer_offline peer_identity_mismatch not_a_node
    duplicate_instance owner_equivocation fork rolled_back too_large rate_limited storage_full
    storage_failed busy unsupported uncertain voice_unavailable voice_lost
"""


def test_no_promised_word_is_missing() -> None:
    assert set(FROZEN.split()) <= REASONS.keys()
