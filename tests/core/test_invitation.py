"""Invitations: a link that is whole or damaged, a life that is a table, a secret that stays."""

import hashlib
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core import canonical, ids, invitation
from mesh.core.errors import Malformed, Refused
from mesh.core.invitation import (
    REFUSALS,
    Invitation,
    InvitationLink,
    InvitationState,
    Redemption,
    check_terms,
    decode_link,
    preview_mac,
)
from mesh.core.limits import INVITATION_LINK_CHARS_MAX, INVITATION_USES_MAX

LINK = InvitationLink(
    room_id="r_" + "1" * 32,
    invitation_id="i_" + "2" * 32,
    inviter_key=bytes(range(32)),
    addresses=("https://192.0.2.7:7420", "https://[2001:db8::7]:7420"),
    secret=b"s" * 32,
    expires_at_s=1_790_000_000,
)
TEXT = LINK.encode("https://192.0.2.7:7420")
OPEN = Invitation(
    invitation_id=LINK.invitation_id,
    room_id=LINK.room_id,
    secret_sha256=LINK.secret_sha256,
    role="member",
    uses=2,
    expires_at_ms=1_000,
    issuer_member_id="m_" + "1" * 32,
    created_at_ms=0,
)
GUEST = Redemption(member_id="m_" + "3" * 32, display_name="Bob", at_ms=5)


def test_a_link_comes_back_as_it_was() -> None:
    assert decode_link(TEXT) == LINK
    assert decode_link(TEXT.partition("#")[2]) == LINK
    assert decode_link(f"  {TEXT}\n") == LINK
    assert TEXT.startswith("https://192.0.2.7:7420/i#") and len(TEXT) < INVITATION_LINK_CHARS_MAX


def test_the_secret_stands_in_the_fragment_alone_and_is_not_printed() -> None:
    path = TEXT.partition("#")[0]
    assert path == "https://192.0.2.7:7420/i"
    assert "s" * 8 not in repr(LINK) and LINK.secret.hex() not in repr(LINK)


def test_a_damaged_link_is_not_an_expired_one() -> None:
    fragment = TEXT.partition("#")[2]
    for at in range(len(fragment)):
        for other in "A-9":
            if fragment[at] != other:
                with pytest.raises(Malformed) as damaged:
                    decode_link(fragment[:at] + other + fragment[at + 1 :])
                assert damaged.value.reason == "invitation_damaged"
    for cut in range(0, len(fragment), 7):
        with pytest.raises(Malformed, match="damaged"):
            decode_link(TEXT[:-1 - cut])


def rewritten(**changes: object) -> str:
    """A link with anything in it and the right checksum."""
    body = canonical.decode_object(ids.unb64(TEXT.partition("#")[2], "link")[:-4])
    data = canonical.encode(body | changes)
    return ids.b64(data + hashlib.sha256(b"roommesh/v1/link\0" + data).digest()[:4])


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2}, {"more": 1}, {"room_id": "r_1"}, {"id": None}, {"key": "AAAA"}, {"to": "x"},
        {"to": ["https://a"] * 9}, {"to": ["a\nb"]}, {"secret": "AAAA"}, {"exp": -1},
        {"exp": True}, {"exp": "1"}, {"exp": 2**53 - 1}, {"key": ["a"]},
    ],
    ids=str,
)
def test_a_link_of_another_form_is_damaged(change: dict[str, object]) -> None:
    assert decode_link(rewritten()) == LINK
    with pytest.raises(Malformed) as damaged:
        decode_link(rewritten(**change))
    assert damaged.value.reason == "invitation_damaged"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_link_or_damaged(text: str) -> None:
    with pytest.raises(Malformed, match="damaged"):
        decode_link(text)


def test_a_link_is_bounded() -> None:
    with pytest.raises(Malformed, match="damaged"):
        decode_link("A" * (INVITATION_LINK_CHARS_MAX + 1))


# --- its life -----------------------------------------------------------------------------------


def judged(revoked: bool, used: int, now_ms: int) -> InvitationState:
    """The state of an invitation for two, which ends at 1,000 ms."""
    return replace(OPEN, revoked=revoked, redeemed=(GUEST,) * used).state(now_ms)


@pytest.mark.parametrize(("revoked", "used"), list(product((False, True), (0, 1, 2))))
@pytest.mark.parametrize("now_ms", [999, 1_000])
def test_revoked_before_used_before_expired(revoked: bool, used: int, now_ms: int) -> None:
    if revoked:
        expected = InvitationState.REVOKED
    elif used == 2:
        expected = InvitationState.USED
    else:
        expected = InvitationState.EXPIRED if now_ms >= 1_000 else InvitationState.OPEN
    assert judged(revoked, used, now_ms) is expected
    drawn = replace(OPEN, revoked=revoked, redeemed=(GUEST,) * used)
    if expected is InvitationState.OPEN:
        drawn.check_open(now_ms)
    else:
        with pytest.raises(Refused) as refused:
            drawn.check_open(now_ms)
        assert refused.value.reason == REFUSALS[expected]


def test_the_drawing_names_every_state_and_nothing_leaves_an_end() -> None:
    drawing = str(invitation.__doc__)
    assert all(state in drawing for state in InvitationState)
    assert set(REFUSALS) == set(InvitationState) - {InvitationState.OPEN}
    used = OPEN.used_by(GUEST).used_by(GUEST)
    assert used.state(0) is used.state(10**15) is InvitationState.USED


def test_the_secret_is_known_by_its_digest_alone() -> None:
    assert OPEN.opens_with(LINK.secret)
    for wrong in (b"", b"s" * 31, b"s" * 33, LINK.secret_sha256.encode()):
        assert not OPEN.opens_with(wrong)


def test_a_preview_proves_the_secret_for_one_nonce() -> None:
    mac = LINK.preview_mac(b"n" * 16)
    assert mac == preview_mac(OPEN.secret_sha256, b"n" * 16) and len(mac) == 32
    assert mac != LINK.preview_mac(b"m" * 16)


@pytest.mark.parametrize(
    ("uses", "role"),
    [(0, "member"), (INVITATION_USES_MAX + 1, "member"), (True, "member"), ("1", "member"),
     (1, "owner"), (1, "admin"), (1, ["member"]), (1, None)],
)
def test_terms_that_cannot_be_offered(uses: object, role: object) -> None:
    check_terms(1, "member")
    check_terms(INVITATION_USES_MAX, "listener")
    with pytest.raises(Malformed):
        check_terms(uses, role)
