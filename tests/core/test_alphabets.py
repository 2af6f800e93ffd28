"""The two alphabets: frozen values, closed unions, and a machine that answers every input."""

import dataclasses
from types import ModuleType, UnionType
from typing import Any, get_args

import pytest

from mesh.core import effects, inputs
from mesh.core.room_machine import _AUTHORITY, _COPY
from tests.core.machines import Install
from tests.core.world import World

# `Now` is no input but what each comes with; an outcome stands inside an answer.
BESIDE = {"Now", "Accepted"}


def defined(module: ModuleType) -> dict[str, Any]:
    """The dataclasses that a module defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if dataclasses.is_dataclass(value) and value.__module__ == module.__name__
    }


@pytest.mark.parametrize("module", [inputs, effects], ids=lambda m: m.__name__)
def test_all_are_frozen_slotted_and_named(module: ModuleType) -> None:
    for name, value in defined(module).items():
        options = value.__dataclass_params__
        assert options.frozen, name
        assert "__slots__" in vars(value), name
        assert all(field.kw_only for field in dataclasses.fields(value)), name
        mutable = [f.name for f in dataclasses.fields(value) if "list" in str(f.type)]
        assert mutable == [], name


@pytest.mark.parametrize(
    ("module", "union"), [(inputs, inputs.Input), (effects, effects.Effect)], ids=["in", "out"]
)
def test_the_union_is_the_alphabet(module: ModuleType, union: UnionType) -> None:
    assert {t.__name__ for t in get_args(union)} == defined(module).keys() - BESIDE


def test_each_input_has_a_role_that_takes_it() -> None:
    assert set(_AUTHORITY) | set(_COPY) == set(get_args(inputs.Input))


def sample(kind: type) -> inputs.Input:
    """An input of a kind, with nothing right in it."""
    stranger = Install(name="mallory")
    world = World("mallory")
    event = world["mallory"].disk.events[0]
    values: dict[str, Any] = {
        "proposal": event.proposal, "event": event, "ticket": 1, "proposals": (event.proposal,),
        "install_id": stranger.install_id, "secret": b"", "relayed_for": "", "permissions": (),
        "expires_at_ms": 0, "have_seq": 0, "seq": 0, "latest_seq": 0, "online": (), "body": {},
        "key": "00" * 32,
    }
    fields = {f.name: values.get(f.name, "") for f in dataclasses.fields(kind)}
    made: inputs.Input = kind(**fields)
    return made


@pytest.mark.parametrize("kind", get_args(inputs.Input), ids=lambda k: k.__name__)
@pytest.mark.parametrize("name", ["desktop", "laptop"])
def test_an_input_from_nowhere_changes_nothing(kind: type, name: str) -> None:
    """Both roles take every input; of a stranger they keep nothing."""
    world = World("desktop", "laptop")
    node = world[name]
    head = node.machine.state.head
    done = node.machine.step(sample(kind), world.now)
    assert all(isinstance(e, get_args(effects.Effect)) for e in done)
    assert node.machine.state.head == head
    stored = (effects.StoreEvent, effects.RefuseProposal)
    assert not any(isinstance(e, stored) for e in done)
