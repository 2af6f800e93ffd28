"""Names instead of ids, never guessed between."""

from typing import Any

import pytest

from mesh.cli import find
from mesh.cli.failure import Failed

ROOMS = [
    {"room_id": "r_aaa1", "name": "Den"},
    {"room_id": "r_aab2", "name": "Kitchen"},
    {"room_id": "r_bbb3", "name": "Kitchen table"},
    {"room_id": "r_ccc4", "name": "r_aaa1"},
]
MEMBERS = [
    {"member_id": "m_1", "handle": "echo", "display_name": "Echo", "presence": "online"},
    {"member_id": "m_2", "handle": "echo-2", "display_name": "Echo", "presence": "online"},
    {"member_id": "m_3", "handle": "gone", "display_name": "Gone", "presence": "left"},
]


@pytest.mark.parametrize(
    ("wanted", "room_id"),
    [
        ("Den", "r_aaa1"),
        ("den", "r_aaa1"),
        ("de", "r_aaa1"),
        ("KITCHEN", "r_aab2"),
        ("kitchen t", "r_bbb3"),
        ("r_aaa1", "r_aaa1"),
        ("r_bb", "r_bbb3"),
        ("bbb", "r_bbb3"),
    ],
)
def test_a_room_is_found(wanted: str, room_id: str) -> None:
    assert find.room(ROOMS, wanted)["room_id"] == room_id


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ("kit", "invalid_params"),
        ("r_aa", "invalid_params"),
        ("attic", "not_found"),
        ("", "not_found"),
    ],
)
def test_two_or_none_are_refused(wanted: str, reason: str) -> None:
    with pytest.raises(Failed) as failure:
        find.room(ROOMS, wanted)
    assert failure.value.reason == reason


def test_two_rooms_of_one_name_need_an_id() -> None:
    twins = [{"room_id": "r_1", "name": "Den"}, {"room_id": "r_2", "name": "den"}]
    with pytest.raises(Failed, match="More than one") as failure:
        find.room(twins, "den")
    assert "r_1, r_2" in failure.value.next


def test_a_member_is_found_by_handle_and_not_after_leaving() -> None:
    assert find.member(MEMBERS, "@echo")["member_id"] == "m_1"
    assert find.member(MEMBERS, "echo-2")["member_id"] == "m_2"
    with pytest.raises(Failed):
        find.member(MEMBERS, "gone")
    with pytest.raises(Failed, match="More than one"):
        find.member([{**row, "handle": str(n)} for n, row in enumerate(MEMBERS)], "Echo")


def test_an_active_grant_is_found_by_its_agent() -> None:
    grants: list[dict[str, Any]] = [
        {"grant_id": "g_1a", "handle": "echo", "state": "revoked"},
        {"grant_id": "g_2b", "handle": "echo", "state": "active"},
    ]
    assert find.grant(grants, "@echo")["grant_id"] == "g_2b"
    assert find.grant(grants, "g_1a")["grant_id"] == "g_1a"
    assert find.grant(grants, "g_1")["grant_id"] == "g_1a"
    with pytest.raises(Failed):
        find.grant(grants, "guide")


def test_a_peer_and_an_invitation_are_found_by_their_beginning() -> None:
    peers = [{"install_id": "install:12ab", "name": "beta"}]
    assert find.peer(peers, "install:12")["name"] == "beta"
    assert find.peer(peers, "12a")["name"] == "beta"
    assert find.invitation([{"invitation_id": "i_77"}], "i_7")["invitation_id"] == "i_77"


def test_a_refusal_shows_no_controls() -> None:
    with pytest.raises(Failed) as failure:
        find.room(ROOMS, "\x1b[2J")
    assert "\x1b" not in failure.value.message
