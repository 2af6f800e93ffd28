"""Profiles: strict to read, and written so that they read back the same."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import ProfileInvalid
from gateway.profile import Json, Policy, ProfileConfig, text_catalog

GOOD: dict[str, Any] = {
    "name": "scribe",
    "backend": "builtin",
    "display_name": "The Scribe",
    "description": "Keeps the minutes.",
    "options": {"agent": "scribe", "pace_ms": 20},
}


def test_parses() -> None:
    config = ProfileConfig.parse(GOOD)
    assert config.name == "scribe"
    assert config.display_name == "The Scribe"
    assert config.options == (("agent", "scribe"), ("pace_ms", 20))


def test_only_name_and_backend_are_required() -> None:
    config = ProfileConfig.parse({"name": "echo", "backend": "builtin"})
    assert (config.display_name, config.description, config.options) == ("echo", "", ())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", None),
        ("name", "Scribe"),
        ("name", "../etc"),
        ("name", "-a"),
        ("name", "a\n"),
        ("name", "a" * 33),
        ("backend", 7),
        ("backend", "open ai"),
        ("display_name", ["a"]),
        ("display_name", "a\u202eb"),
        ("display_name", "a\u200bb"),
        ("display_name", "two\nlines"),
        ("display_name", "x" * 65),
        ("description", "bell\x07"),
        ("options", []),
        ("options", {"Agent": "x"}),
        ("options", {"agent": 1.5}),
        ("options", {"agent": ["x"]}),
        ("options", {"agent": 2**53}),
        ("options", {"agent": "\ud800"}),
        ("options", {"agent": "x" * 20_000}),
        ("options", {f"o{i}": i for i in range(40)}),
        ("model", "an option in the wrong place"),
    ],
)
def test_refuses_by_name(key: str, value: object) -> None:
    with pytest.raises(ProfileInvalid) as refused:
        ProfileConfig.parse(GOOD | {key: value})
    assert refused.value.where.startswith(key)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
keys = st.from_regex(r"[a-z][a-z0-9_]{0,31}", fullmatch=True)
values = texts | st.integers(-(2**53) + 1, 2**53 - 1) | st.booleans()


@given(
    options=st.dictionaries(keys, values, max_size=32),
    label=st.text(max_size=30).filter(str.isprintable),
)
def test_what_is_written_reads_back_the_same(options: dict[str, Any], label: str) -> None:
    config = ProfileConfig.parse(GOOD | {"options": options, "description": label})
    assert ProfileConfig.parse(tomllib.loads(config.to_toml())) == config


def leaves(value: Json) -> list[str | int]:
    """All texts and numbers in a JSON value."""
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves(inner)]
    return [value]


def test_catalog_and_policy_are_ready_for_a_canonical_form() -> None:
    policy = Policy(
        backend="openai",
        model="tiny",
        endpoint="http://127.0.0.1:1/v1",
        system_prompt_sha256="ab",
        approval_mode="no_tools",
        settings=(("temperature_percent", 70),),
    )
    for found in (text_catalog("scribe").to_json(), policy.to_json()):
        assert json.loads(json.dumps(found)) == found
        assert all(type(leaf) in (str, int) for leaf in leaves(found))
