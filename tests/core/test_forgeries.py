"""What no honest authority sends: a copy refuses it whole and stays as it was (attack 36)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mesh.core.errors import PeerFault
from mesh.core.event import Event, admit, propose
from mesh.core.identity import SigningKey
from tests.core.machines import Install, key_of
from tests.core.test_copy import DESKTOP, appended, behind
from tests.core.world import World


def forged(
    event: Event,
    *,
    host: SigningKey | None = None,
    author: SigningKey | None = None,
    proposal: dict[str, Any] | None = None,
    **header: Any,
) -> Event:
    """The event as another authority, or author, would have made it."""
    said = event.proposal
    if proposal is not None or author is not None:
        fields: dict[str, Any] = {
            "room_id": said.room_id, "event_id": said.event_id, "kind": said.kind,
            "member_id": said.member_id, "payload": said.payload, "cause": said.cause,
            "created_at_ms": said.created_at_ms,
        }
        said = propose(author or key_of("desktop"), **fields | (proposal or {}))
    placed: dict[str, Any] = {
        "epoch": event.epoch, "seq": event.seq, "prev_hash": event.prev_hash,
        "admitted_at_ms": event.admitted_at_ms,
    }
    return admit(host or key_of("desktop"), said, **placed | header)


Forge = Callable[[Event], Event]
THIEF = key_of("mallory")
FORGERIES: dict[str, tuple[Forge, str]] = {
    "a broken link": (lambda e: forged(e, prev_hash="0" * 64), "fork"),
    "an older epoch": (lambda e: forged(e, epoch=0), "stale_epoch"),
    "a bare number as epoch": (lambda e: forged(e, epoch=2**40), "unknown_epoch"),
    "another authority": (lambda e: forged(e, host=THIEF), "bad_signature"),
    "no authority": (lambda e: replace(e, signature=bytes(64)), "bad_signature"),
    "another author": (lambda e: forged(e, author=THIEF), "bad_signature"),
    "another room": (lambda e: forged(e, proposal={"room_id": "r_" + "9" * 32}), "wrong_room"),
    "an author who is no member": (
        lambda e: forged(e, author=THIEF, proposal={"member_id": "m_" + "9" * 32}),
        "forbidden",
    ),
    "what a member may not": (
        lambda e: forged(e, author=key_of("laptop"), proposal={
            "kind": "room.disbanded", "payload": {},
            "member_id": Install(name="laptop").person().member_id,
        }),
        "forbidden",
    ),
    "a system event by a member": (
        lambda e: forged(e, proposal={"kind": "turn.failed", "payload": {}}), "forbidden",
    ),
    "a system event without a form": (
        lambda e: forged(e, proposal={"kind": "turn.admitted", "payload": {},
                                      "member_id": DESKTOP}),
        "invalid_params",
    ),
    "an event id again": (
        lambda e: forged(e, proposal={
            "event_id": "create", "member_id": Install(name="desktop").person().member_id,
        }),
        "conflict",
    ),
}


@pytest.mark.parametrize(("forge", "reason"), FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_refused_whole(forge: Forge, reason: str) -> None:
    node, rest = behind(3)
    head, members = node.machine.state.head, dict(node.machine.state.members)
    with pytest.raises(PeerFault) as fault:
        appended(node, forge(rest[0]))
    assert fault.value.reason == reason
    assert node.machine.state.head == head and node.machine.state.members == members
    assert len(appended(node, rest[0])) == 2, "the right event still fits"


def test_a_log_begins_with_the_room_of_this_host() -> None:
    node, rest = behind(0)
    for wrong in (
        forged(rest[0], host=THIEF),
        forged(rest[0], author=THIEF, host=THIEF),
        forged(rest[0], epoch=1),
    ):
        with pytest.raises(PeerFault):
            appended(node, wrong)
    other = World("mallory")["mallory"].disk.events[0]
    moved = forged(other, host=THIEF, author=THIEF, proposal={"room_id": rest[0].room_id})
    with pytest.raises(PeerFault) as fault:
        appended(node, moved)
    assert fault.value.reason == "fork"
