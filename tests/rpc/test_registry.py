"""Parameters are taken whole or refused by name."""

from typing import Any

import msgspec
import pytest

from mesh.core.errors import Malformed
from mesh.rpc.caller import Caller
from mesh.rpc.registry import Method, NoParams, method, read_params
from mesh.rpc.surface import Surface


class Seat(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    profile: str
    handle: str | None = None


class Create(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    name: str
    members: list[Seat] = []
    limit: int = 100


class Loose(msgspec.Struct, frozen=True):
    name: str


async def handler(surface: Surface, caller: Caller, params: Any) -> dict[str, Any]:
    return {}


def test_parameters_become_the_struct() -> None:
    made = read_params(Create, {"name": "den", "members": [{"profile": "echo"}]})
    assert made == Create(name="den", members=[Seat(profile="echo")])


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({}, "name"),
        ({"name": 3}, "name"),
        ({"name": "den", "limit": "10"}, "limit"),
        ({"name": "den", "limit": True}, "limit"),
        ({"name": "den", "nam": "x"}, "nam"),
        ({"name": "den", "members": [{"profile": 1}]}, "members[0].profile"),
        ({"name": "den", "members": [{}]}, "members[0].profile"),
        (["den"], ""),
        ("den", ""),
        (None, ""),
    ],
)
def test_a_wrong_parameter_is_named(value: object, field: str) -> None:
    with pytest.raises(Malformed) as refusal:
        read_params(Create, value)
    assert refusal.value.reason == "invalid_params"
    assert refusal.value.fields.get("field", "") == field


def test_a_method_without_parameters_takes_none() -> None:
    assert read_params(NoParams, {}) == NoParams()
    with pytest.raises(Malformed, match="unknown field `x`"):
        read_params(NoParams, {"x": 1})


def test_a_refusal_does_not_repeat_what_was_sent_at_length() -> None:
    with pytest.raises(Malformed) as refusal:
        read_params(NoParams, {"x" * 100_000: 1})
    assert len(refusal.value.message) <= 200


def test_a_method_is_registered_once_and_refuses_loose_structs() -> None:
    table: dict[str, Method] = {}
    method("toy.one", params=Create, live=True, table=table)(handler)
    assert table["toy.one"] == Method(name="toy.one", params=Create, handler=handler, live=True)
    with pytest.raises(AssertionError, match="registered twice"):
        method("toy.one", table=table)(handler)
    with pytest.raises(AssertionError, match="unknown fields"):
        method("toy.two", params=Loose, table=table)
