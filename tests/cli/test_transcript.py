"""A log as lines."""

from typing import Any

import pytest

from mesh.cli.transcript import _DESCRIBED, is_turn, shown_event
from mesh.core.event import KINDS

NAMES = {"m_1": "echo"}


def event(kind: str, **payload: Any) -> dict[str, Any]:
    actor = {"kind": "person", "id": "m_0", "display_name": "Ann", "handle": "ann"}
    return {"seq": 7, "created_at": 0, "kind": kind, "actor": actor, "payload": payload}


def said(kind: str, **payload: Any) -> str:
    return shown_event(event(kind, **payload), NAMES)[12:]


def test_a_message_stands_behind_its_author_with_its_lines_indented() -> None:
    shown = shown_event(event("message.user", text="one\ntwo\n\n"), NAMES)
    assert shown.startswith("    7 ")
    assert shown.endswith(" ann: one\n            two")


def test_a_strangers_text_is_made_visible() -> None:
    assert "\x1b" not in said("message.user", text="\x1b[2J")
    assert "\x1b" not in said("room.renamed", name="\x1b[2J")
    assert "\n" not in said("turn.failed", member_id="m_1", message="a\nb", reason="")


@pytest.mark.parametrize(
    ("line", "kind", "payload"),
    [
        ("* Ann made the room 'Den'", "room.created", {"name": "Den"}),
        ("* @echo left", "member.left", {"member_id": "m_1", "reason": "left"}),
        ("* @echo was removed", "member.left", {"member_id": "m_1", "reason": "removed"}),
        ("* @echo is muted", "member.muted", {"member_id": "m_1", "muted": True}),
        ("* @m_9 is heard again", "member.muted", {"member_id": "m_9", "muted": False}),
        (
            "* @echo: answer failed (No.)",
            "turn.failed",
            {"member_id": "m_1", "reason": "x", "message": "No."},
        ),
        ("* @echo: answer passed", "turn.passed", {"member_id": "m_1"}),
        (
            "* @echo was withdrawn (withdrawn)",
            "grant.revoked",
            {"member_id": "m_1", "reason": "withdrawn"},
        ),
        (
            "* @echo (Echo) joined, on beta",
            "member.joined",
            {"member": {"handle": "echo", "display_name": "Echo", "install_name": "beta"}},
        ),
        (
            "* @ann (Ann) joined, on beta",  # the room gave its author a unique handle
            "member.joined",
            {
                "member": {
                    "member_id": "m_0",
                    "handle": "an",
                    "display_name": "Ann",
                    "install_name": "beta",
                }
            },
        ),
        (
            "* Ann made an invitation (member, for 1)",
            "invitation.issued",
            {"role": "member", "uses": 1},
        ),
    ],
)
def test_what_happened_is_said(line: str, kind: str, payload: dict[str, Any]) -> None:
    assert said(kind, **payload) == line


def test_an_unknown_kind_is_shown_by_its_kind() -> None:
    assert said("voice.started") == "* voice.started"


def test_every_kind_is_a_kind_and_the_common_ones_are_described() -> None:
    assert _DESCRIBED.keys() <= KINDS
    assert KINDS - _DESCRIBED.keys() <= {"message.user", "message.member", "noop"}


def test_book_keeping_of_answers_is_known_as_such() -> None:
    assert is_turn(event("turn.started"))
    assert not is_turn(event("turn.failed"))
