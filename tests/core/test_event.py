"""P and H: bytes that say one thing, are signed as they are, and belong together."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mesh.core import canonical
from mesh.core.errors import Malformed
from mesh.core.event import (
    GENESIS,
    KINDS,
    MEMBER_KINDS,
    MESSAGE_KINDS,
    SYSTEM_KINDS,
    Cause,
    Event,
    Proposal,
    admit,
    parse_cause,
    parse_event,
    parse_proposal,
    propose,
)
from mesh.core.identity import SigningKey
from mesh.core.limits import EVENT_BYTES_MAX, JSON_INT_MAX, TEXT_BYTES_MAX

AUTHOR, AUTHORITY = (SigningKey.from_seed(bytes([n]) * 32) for n in (1, 2))
ROOM = "r_" + "1" * 32
MEMBER = "m_" + "2" * 32
TURN = "t_" + "3" * 32


def said(text: str = "hello", **changes: Any) -> Proposal:
    """A message, with anything changed."""
    fields: dict[str, Any] = {
        "room_id": ROOM,
        "event_id": "e-1",
        "kind": "message.user",
        "member_id": MEMBER,
        "payload": {"text": text},
        "cause": None,
        "created_at_ms": 5,
    }
    return propose(AUTHOR, **fields | changes)


def ordered(proposal: Proposal | None = None) -> Event:
    """An event at the head of nothing."""
    return admit(
        AUTHORITY, proposal or said(), epoch=1, seq=7, prev_hash="ab" * 32, admitted_at_ms=9
    )


def parsed(event: Event) -> Event:
    """The event read again from its bytes."""
    proposal = event.proposal
    return parse_event(proposal.raw, proposal.signature, event.header, event.signature)


def test_every_kind_has_one_side() -> None:
    assert KINDS == MEMBER_KINDS | SYSTEM_KINDS and not MEMBER_KINDS & SYSTEM_KINDS
    assert MESSAGE_KINDS < MEMBER_KINDS


def test_a_proposal_comes_back_as_it_was() -> None:
    cause = Cause(root="e-0", hop=3, turn_id=TURN)
    proposal = said(cause=cause, payload={"text": "x", "n": [1, {"a": None}]})
    assert parse_proposal(proposal.raw, proposal.signature) == proposal
    assert proposal.signed_by(AUTHOR.public) and not proposal.signed_by(AUTHORITY.public)


def test_an_event_comes_back_as_it_was() -> None:
    event = ordered()
    assert parsed(event) == event
    assert event.signed_by(AUTHORITY.public) and not event.signed_by(AUTHOR.public)
    assert (event.room_id, event.kind, event.payload) == (ROOM, "message.user", {"text": "hello"})


def test_all_characters_of_the_basic_plane_pass_byte_for_byte() -> None:
    """Situation 84, and no second normal form: what was typed is what was signed."""
    text = "".join(chr(c) for c in range(0x10000) if not 0xD800 <= c < 0xE000) + "e\u0301\U0001f600"
    assert len(text.encode()) <= TEXT_BYTES_MAX
    event = parsed(ordered(said(text)))
    assert event.payload["text"] == text
    assert event.proposal.signed_by(AUTHOR.public)


def test_a_lone_surrogate_cannot_be_said() -> None:
    with pytest.raises(Malformed) as refused:
        said("half \ud83d of a smile")
    assert refused.value.reason == "invalid_params"


def test_an_event_is_bounded() -> None:
    with pytest.raises(Malformed) as refused:
        said("x" * EVENT_BYTES_MAX)
    assert refused.value.reason == "too_large"
    with pytest.raises(Malformed) as refused:
        parse_proposal(b" " * (EVENT_BYTES_MAX + 1), b"")
    assert refused.value.reason == "too_large"


# --- P from outside -----------------------------------------------------------------------------

GOOD: dict[str, Any] = json.loads(said().raw)
WRONG: dict[str, dict[str, Any]] = {
    "another room's name": {"room_id": "r_1"},
    "an event id with a space": {"event_id": "a b"},
    "an event id that is not NFC": {"event_id": "e\u0301"},
    "no event id": {"event_id": None},
    "an unknown kind": {"kind": "message.system"},
    "a kind that is a list": {"kind": ["message.user"]},
    "a member that is a number": {"member_id": 1},
    "a payload that is a list": {"payload": []},
    "a time before time": {"created_at_ms": -1},
    "a time that is true": {"created_at_ms": True},
    "a cause that is a list": {"cause": []},
    "a field more": {"role": "system"},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_proposal_of_another_form_is_malformed(change: dict[str, Any]) -> None:
    with pytest.raises(Malformed) as refused:
        parse_proposal(canonical.encode(GOOD | change), bytes(64))
    assert refused.value.status == 422


def test_a_proposal_without_a_field_is_malformed() -> None:
    for field in GOOD:
        less = canonical.encode({k: v for k, v in GOOD.items() if k != field})
        with pytest.raises(Malformed):
            parse_proposal(less, bytes(64))


def test_bytes_that_a_proxy_wrote_anew_are_refused() -> None:
    """Attack 27: never read as something else, never verified as something else."""
    for raw in (
        json.dumps(GOOD).encode(),
        json.dumps(dict(reversed(GOOD.items())), separators=(",", ":")).encode(),
        canonical.encode(GOOD).replace(b"hello", b"\\u0068ello"),
        canonical.encode(GOOD) + b"\n",
    ):
        assert canonical.decode(raw) == GOOD
        with pytest.raises(Malformed, match="canonical"):
            parse_proposal(raw, bytes(64))


@pytest.mark.parametrize(
    "cause",
    [
        {"root": "e", "hop": 0},
        {"root": "e", "hop": 1_000, "turn_id": TURN},
    ],
)
def test_causes(cause: dict[str, Any]) -> None:
    read = parse_cause(cause)
    assert read is not None and read.to_json() == cause


@pytest.mark.parametrize(
    "cause",
    [
        {}, {"root": "e"}, {"hop": 1}, {"root": "", "hop": 1}, {"root": "e", "hop": -1},
        {"root": "e", "hop": 1_001}, {"root": "e", "hop": True}, {"root": "e", "hop": "1"},
        {"root": "e", "hop": 1, "turn_id": "t"}, {"root": "e", "hop": 1, "more": 1}, "e", 1,
    ],
)
def test_no_causes(cause: object) -> None:
    with pytest.raises(Malformed):
        parse_cause(cause)


# --- H from outside -----------------------------------------------------------------------------

HEADER: dict[str, Any] = json.loads(ordered().header)


@pytest.mark.parametrize(
    "change",
    [
        {"room_id": "r_" + "9" * 32}, {"kind": "room.renamed"}, {"event_id": "e-2"},
        {"digest": "0" * 64}, {"prev_hash": "ab"}, {"prev_hash": None}, {"seq": -1},
        {"seq": "7"}, {"epoch": JSON_INT_MAX * -1}, {"admitted_at_ms": None}, {"more": 1},
    ],
    ids=str,
)
def test_a_header_that_is_not_about_this_proposal_is_malformed(change: dict[str, Any]) -> None:
    event = ordered()
    with pytest.raises(Malformed):
        parse_event(
            event.proposal.raw, event.proposal.signature, canonical.encode(HEADER | change), b""
        )


def test_a_header_written_anew_is_refused() -> None:
    event = ordered()
    with pytest.raises(Malformed, match="canonical"):
        parse_event(event.proposal.raw, b"", json.dumps(HEADER).encode(), b"")


def test_the_hash_covers_the_header_and_the_signatures_each_their_own() -> None:
    event, other = ordered(), ordered(said("other"))
    assert event.hash != other.hash
    assert event.hash == parsed(replace(event, signature=bytes(64))).hash
    assert not parsed(replace(event, signature=other.signature)).signed_by(AUTHORITY.public)
    # H does not hold P itself: what P says may go one day, the chain stays whole.
    assert b"hello" not in event.header and event.proposal.digest.encode() in event.header


def test_the_first_event_follows_nothing() -> None:
    assert GENESIS == "0" * 64
