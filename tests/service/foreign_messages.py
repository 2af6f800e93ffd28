"""Whatever one install may say to another: nearly right, and not right at all.

Strategies for the gate of rooms: every link message, with bytes and values of any kind inside.
"""

import json
from typing import Any

from hypothesis import strategies as st

from mesh.core import canonical, ids
from mesh.core.event import KINDS
from mesh.core.identity import SigningKey
from mesh.core.link_messages import (
    Append,
    CatchUp,
    GrantOffer,
    LinkMessage,
    NotHere,
    Presence,
    Preview,
    Propose,
    Redeem,
    Signal,
    Stored,
    TurnDispatch,
    TurnReport,
    Verdict,
    WireEvent,
    WireProposal,
)
from mesh.core.member import Member

ELSEWHERE = "r_" + "0" * 32
STRANGER = SigningKey.from_seed(b"s" * 32)

words = st.sampled_from(
    "member_id text turn_id reason member invitation_id uses role expires_at secret_sha256 kind n"
    " issuer_member_id policy name muted thread_id handle display_name profile".split()
)
scalars = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=20)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)
ids_or_junk = st.sampled_from(["m_" + "0" * 32, "t_" + "0" * 32, "", "\0"]) | st.text(max_size=5)


def seat_of(key: SigningKey) -> dict[str, Any]:
    """An ordinary seat."""
    return Member(
        member_id="m_" + "7" * 32,
        handle="eve",
        display_name="Eve",
        kind="person",
        role="member",
        install_id=ids.install_id(key.public),
        install_name="phone",
        public_key=key.public,
        addresses=(),
    ).to_seat()


@st.composite
def spoilt_payloads(draw: st.DrawFn) -> dict[str, Any]:
    """A payload of the right fields, some of them with values of any kind."""
    kinds: dict[str, Any] = {
        "member": seat_of(STRANGER),
        "text": "hello",
        "member_id": "m_" + "7" * 32,
        "reason": "left",
        "turn_id": "t_" + "7" * 32,
        "invitation_id": "i_" + "7" * 32,
        "secret_sha256": "7" * 64,
        "role": "member",
        "uses": 1,
        "expires_at": 2**40,
        "issuer_member_id": "m_" + "7" * 32,
        "policy": {"budget": 3},
        "name": "Den",
        "muted": True,
    }
    chosen = draw(st.sets(st.sampled_from(sorted(kinds)), min_size=1, max_size=6))
    payload = {name: kinds[name] for name in sorted(chosen)}
    for name in draw(st.sets(st.sampled_from(sorted(chosen)), max_size=2)):
        payload[name] = draw(values)
    if isinstance(payload.get("member"), dict) and draw(st.booleans()):
        payload["member"] = {**payload["member"], draw(words): draw(values)}
    return payload


@st.composite
def proposals(draw: st.DrawFn, room_id: str) -> WireProposal:
    """A proposal of any kind, signed by whoever sends it, or bytes that only look like one."""
    payload = draw(spoilt_payloads() | st.dictionaries(words, values, max_size=4))
    raw = canonical.encode(
        {
            "room_id": draw(st.sampled_from([room_id, ELSEWHERE]) | values),
            "event_id": draw(st.sampled_from(["e", "join"]) | values),
            "kind": draw(st.sampled_from(sorted(KINDS)) | values),
            "member_id": draw(ids_or_junk | values),
            "payload": draw(st.just(payload) | values),
            "cause": draw(st.none() | values),
            "created_at_ms": draw(st.just(1) | values),
        }
    )
    raw = draw(st.just(raw) | st.binary(max_size=40) | st.just(raw + b" "))
    return WireProposal(raw, draw(st.just(STRANGER.sign("proposal", raw)) | st.binary(max_size=70)))


numbers = st.integers(-(2**63), 2**63 - 1)
texts = st.text(max_size=20)
few_bytes = st.binary(max_size=70)
bodies = values.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=30)


def about_logs(
    room: st.SearchStrategy[str], made: st.SearchStrategy[WireProposal]
) -> st.SearchStrategy[LinkMessage]:
    """What is said about a room's log, and who is there."""
    events = st.builds(
        WireEvent,
        raw=made.map(lambda p: p.raw),
        author_sig=few_bytes,
        header=bodies,
        authority_sig=few_bytes,
    )
    return st.one_of(
        st.builds(Propose, room_id=room, proposals=st.lists(made, max_size=3).map(tuple)),
        st.builds(Verdict, room_id=room, key=texts, state=texts, reason=texts, message=texts),
        st.builds(CatchUp, room_id=room, have_seq=numbers, have_hash=texts),
        st.builds(
            Append,
            room_id=room,
            epoch=numbers,
            events=st.lists(events, max_size=2).map(tuple),
            latest_seq=numbers,
            protected_seq=numbers,
        ),
        st.builds(Stored, room_id=room, seq=numbers),
        st.builds(NotHere, room_id=room, reason=texts),
        st.builds(Presence, room_id=room, online=st.lists(texts, max_size=3).map(tuple)),
        st.builds(Signal, room_id=room, body=bodies),
    )


def about_turns_and_guests(
    room: st.SearchStrategy[str], made: st.SearchStrategy[WireProposal]
) -> st.SearchStrategy[LinkMessage]:
    """What is said about agents, and by those who want to come in."""
    turn = {"room_id": room, "turn_id": ids_or_junk, "member_id": ids_or_junk}
    states = texts | st.sampled_from(["queued", "running", "passed", "failed"])
    return st.one_of(
        st.builds(
            Preview, invitation_id=ids_or_junk, room_id=room, nonce=few_bytes, mac=few_bytes
        ),
        st.builds(
            Redeem,
            request_id=texts,
            room_id=room,
            invitation_id=ids_or_junk,
            secret=few_bytes,
            proposals=st.lists(made, max_size=3).map(tuple),
            relayed_for=texts,
        ),
        st.builds(
            GrantOffer, room_id=room, member_id=ids_or_junk, grant=few_bytes, catalog=bodies
        ),
        st.builds(
            TurnDispatch,
            **turn,
            trigger_seq=numbers,
            root=texts,
            hop=numbers,
            attempt=numbers,
            grant=few_bytes,
            deadline_ms=numbers,
        ),
        st.builds(TurnReport, **turn, state=states, reason=texts, message=texts),
    )


def messages(room_id: str) -> st.SearchStrategy[LinkMessage]:
    """Everything that one install may say to another about a room."""
    room, made = st.sampled_from([room_id, ELSEWHERE]), proposals(room_id)
    return about_logs(room, made) | about_turns_and_guests(room, made)
