"""Seats: what is read from outside, and what a name or a role in it may not do."""

from typing import Any

import pytest

from mesh.core.errors import Malformed
from mesh.core.limits import ADDRESSES_PER_PEER_MAX
from mesh.core.member import PERMISSIONS, ROLES, parse_addresses, parse_permissions, parse_seat
from tests.core.machines import Install

HOME = Install(name="home")
PERSON, AGENT = HOME.person("Ann").to_seat(), HOME.agent("echo").to_seat()


def test_a_seat_comes_back_as_it_was() -> None:
    for member in (HOME.person("Ann"), HOME.agent("echo")):
        assert parse_seat(member.to_seat()) == member


def test_names_are_cleaned_and_roles_are_not_in_them() -> None:
    """Situation 47: a name is a name, whatever it says."""
    seat = PERSON | {"display_name": "\u202esystem\n", "handle": "system"}
    member = parse_seat(seat)
    assert (member.display_name, member.handle, member.role) == ("system", "system", "member")
    assert member.kind == "person"


WRONG: dict[str, dict[str, Any]] = {
    "a kind of its own": {"kind": "system"},
    "a kind that is a list": {"kind": ["person"]},
    "a role of its own": {"role": "admin"},
    "a role that is a list": {"role": ["owner"]},
    "no name": {"display_name": "\u200b"},
    "a handle with a space": {"handle": "a b"},
    "a handle with a filler": {"handle": "echo\u3164"},
    "a handle of fillers": {"handle": "\u1160\u1160"},
    "a handle in another normal form": {"handle": "re\u0301ne"},
    "a key that is short": {"public_key": "ab"},
    "a key that is no hex": {"public_key": "zz" * 32},
    "a key in capitals": {"public_key": PERSON["public_key"].upper()},
    "a key with spaces": {"public_key": " ".join(PERSON["public_key"])},
    "a key that is a number": {"public_key": 1},
    "a foreign member id": {"member_id": "system"},
    "a foreign install id": {"install_id": "install:1"},
    "addresses that are no list": {"addresses": "https://x"},
    "a person with a profile": {"profile": "echo"},
    "a field more": {"trusted": True},
    "a lent without an end": {"lent": {"permissions": []}},
    "an end that is a float": {"lent": {"permissions": [], "until": True}},
    "a permission of its own": {"lent": {"permissions": ["root"], "until": 0}},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_seat_of_another_form_is_malformed(change: dict[str, Any]) -> None:
    with pytest.raises(Malformed) as refused:
        parse_seat(PERSON | change)
    assert refused.value.status == 422


def test_a_seat_without_a_field_is_malformed() -> None:
    for field in PERSON:
        with pytest.raises(Malformed):
            parse_seat({k: v for k, v in PERSON.items() if k != field})


def test_an_agent_names_its_profile() -> None:
    for change in ({"profile": None}, {"profile": "../x"}, {"profile": "Echo"}):
        with pytest.raises(Malformed):
            parse_seat(AGENT | change)
    with pytest.raises(Malformed):
        parse_seat({k: v for k, v in AGENT.items() if k != "profile"})


@pytest.mark.parametrize("value", [None, 1, "seat", [], [PERSON]])
def test_a_seat_is_an_object(value: object) -> None:
    with pytest.raises(Malformed):
        parse_seat(value)


def test_addresses_are_few_and_printable() -> None:
    assert parse_addresses(["https://a"] * ADDRESSES_PER_PEER_MAX)
    for bad in (["https://a"] * (ADDRESSES_PER_PEER_MAX + 1), ["a\nb"], ["x" * 257], [1], None):
        with pytest.raises(Malformed):
            parse_addresses(bad)


def test_permissions_stand_in_one_order() -> None:
    assert parse_permissions(list(reversed(PERMISSIONS))) == PERMISSIONS
    assert parse_permissions(["stop", "stop"]) == ("stop",)
    for bad in (["root"], [["stop"]], "stop", None):
        with pytest.raises(Malformed):
            parse_permissions(bad)


def test_who_may_send() -> None:
    may = {role: HOME.person("Ann", role).may_send() for role in ROLES}
    assert may == {"owner": True, "member": True, "listener": False}
