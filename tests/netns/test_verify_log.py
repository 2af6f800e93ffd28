"""The script that verifies a log finds every planted fault, and nothing in a sound log."""

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mesh.core.event import GENESIS, Event, admit, propose
from mesh.core.identity import SigningKey
from mesh.core.ids import install_id

SCRIPT = Path(__file__).with_name("verify_log.py")
ROOM_ID = "r_" + "0" * 32
OTHER_ROOM_ID = "r_" + "1" * 32
HOST_KEY = SigningKey.from_seed(b"h" * 32)
GUEST_KEY = SigningKey.from_seed(b"g" * 32)
HOST, GUEST = install_id(HOST_KEY.public), install_id(GUEST_KEY.public)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One proposal to be, and who orders it."""

    kind: str
    member_id: str
    payload: dict[str, Any]
    event_id: str
    key: SigningKey = HOST_KEY
    room_id: str = ROOM_ID
    ordered_by: SigningKey = HOST_KEY
    epoch: int = 1


def seat(member_id: str, key: SigningKey) -> dict[str, Any]:
    """What the script reads of a seat."""
    return {
        "member_id": member_id,
        "install_id": install_id(key.public),
        "public_key": key.public.hex(),
    }


STORY = (
    Said(
        kind="room.created",
        member_id="m_host",
        payload={"authority_gateway_id": HOST, "founder": seat("m_host", HOST_KEY)},
        event_id="e_0",
        epoch=0,
    ),
    Said(
        kind="member.joined",
        member_id="m_guest",
        payload={"member": seat("m_guest", GUEST_KEY)},
        event_id="e_1",
        key=GUEST_KEY,
    ),
    Said(
        kind="message.user",
        member_id="m_guest",
        payload={"text": "Grüße\u2028"},
        event_id="e_2",
        key=GUEST_KEY,
    ),
    Said(kind="message.user", member_id="m_host", payload={"text": "hello"}, event_id="e_2"),
)


def log_of(story: Sequence[Said]) -> list[Event]:
    """The story as a chain of signed events."""
    events: list[Event] = []
    for said in story:
        proposal = propose(
            said.key,
            room_id=said.room_id,
            event_id=said.event_id,
            kind=said.kind,
            member_id=said.member_id,
            payload=said.payload,
            cause=None,
            created_at_ms=1_000,
        )
        events.append(
            admit(
                said.ordered_by,
                proposal,
                epoch=said.epoch,
                seq=len(events) + 1,
                prev_hash=events[-1].hash if events else GENESIS,
                admitted_at_ms=2_000,
            )
        )
    return events


def verify(events: Sequence[Event], folder: Path) -> tuple[int, str]:
    """Run the script over the events' bytes; its exit status and words."""
    lines = [
        {
            "p": event.proposal.raw,
            "author_sig": event.proposal.signature,
            "h": event.header,
            "authority_sig": event.signature,
        }
        for event in events
    ]
    path = folder / "log.jsonl"
    path.write_text(
        "".join(
            json.dumps({name: base64.b64encode(part).decode() for name, part in line.items()})
            + "\n"
            for line in lines
        )
    )
    done = subprocess.run(
        [sys.executable, "-I", str(SCRIPT), str(path)],
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.strip()


def test_a_sound_log_is_found_sound(tmp_path: Path) -> None:
    events = log_of(STORY)
    assert verify(events, tmp_path) == (0, f"4 events, 8 signatures, head {events[-1].hash}")


def changed(number: int, **fields: Any) -> Callable[[], list[Event]]:
    """The story with one part told, signed and chained otherwise."""
    return lambda: log_of(
        [*STORY[:number], replace(STORY[number], **fields), *STORY[number + 1 :]]
    )


def damaged(number: int, **fields: Any) -> Callable[[], list[Event]]:
    """The story's events with one damaged afterwards."""

    def make() -> list[Event]:
        events = log_of(STORY)
        events[number] = replace(events[number], **fields)
        return events

    return make


def reworded() -> list[Event]:
    """A text that was changed after it was signed, in the bytes of P alone."""
    events = log_of(STORY)
    raw = events[3].proposal.raw.replace(b"hello", b"jello")
    events[3] = replace(events[3], proposal=replace(events[3].proposal, raw=raw))
    return events


def respaced() -> list[Event]:
    """The same values in other bytes."""
    events = log_of(STORY)
    raw = events[3].proposal.raw.replace(b'":', b'": ')
    events[3] = replace(events[3], proposal=replace(events[3].proposal, raw=raw))
    return events


@pytest.mark.parametrize(
    ("make", "where", "words"),
    [
        (lambda: [log_of(STORY)[i] for i in (0, 1, 3)], 3, "seq 4 comes after 2"),
        (lambda: [*log_of(STORY), log_of(STORY)[3]], 5, "seq 4 comes after 4"),
        (lambda: [*log_of(STORY)[:3], changed(2, payload={"text": "x"})()[3]], 4, "link"),
        (lambda: log_of(STORY[1:]), 1, "epoch"),
        (changed(3, ordered_by=GUEST_KEY), 4, "authority's signature"),
        (changed(2, key=HOST_KEY), 3, "author's signature"),
        (changed(2, member_id="m_nobody"), 3, "never seated"),
        (changed(3, room_id=OTHER_ROOM_ID), 4, "another room"),
        (changed(3, epoch=2), 4, "epoch 2"),
        (changed(3, member_id="m_guest", key=GUEST_KEY), 4, "occurs twice"),
        (changed(1, payload={"member": {**seat("m_guest", GUEST_KEY), "install_id": HOST}}), 2,
         "named after"),
        (damaged(2, signature=b"0" * 64), 3, "authority's signature"),
        (reworded, 4, "another proposal"),
        (respaced, 4, "canonical"),
    ],
)
def test_a_planted_fault_is_found(
    make: Callable[[], list[Event]], where: int, words: str, tmp_path: Path
) -> None:
    status, said = verify(make(), tmp_path)
    assert status == 1
    assert said.startswith(f"event {where}: ") and words in said, said
