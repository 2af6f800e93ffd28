"""`profile`, on a real node."""

import pytest

from mesh.cli.failure import Failed
from mesh.cli.profile import read_option
from tests.cli.nodes import Command


@pytest.mark.parametrize(
    ("typed", "taken"),
    [
        ("a=b", ("a", "b")),
        ("a=1", ("a", 1)),
        ("a=-1", ("a", -1)),
        ("a=true", ("a", True)),
        ("a=false", ("a", False)),
        ("a=", ("a", "")),
        ("a=b=c", ("a", "b=c")),
        ("a=1.5", ("a", "1.5")),
        ("a=" + "9" * 40, ("a", "9" * 40)),
    ],
)
def test_options_become_what_they_are(typed: str, taken: tuple[str, object]) -> None:
    assert read_option(typed) == taken
    assert type(read_option(typed)[1]) is type(taken[1])


@pytest.mark.parametrize("typed", ["a", "=b", ""])
def test_what_is_no_option_is_refused(typed: str) -> None:
    with pytest.raises(Failed, match="NAME=VALUE"):
        read_option(typed)


async def test_an_agent_is_added_tested_shown_and_removed(alpha: Command) -> None:
    said = await alpha(
        "profile",
        "add",
        "parrot",
        "--backend",
        "builtin",
        "--option",
        "agent=echo",
        "--option",
        "pace_ms=0",
        "--description",
        "Says it again.",
    )
    assert (said.status, said.out) == (0, "parrot: ready\n")
    assert "Says it again." in (await alpha("profile", "list")).out
    assert (await alpha("profile", "test", "parrot")).out.startswith("parrot answers")
    assert "Says it again." in (await alpha("profile", "show", "parrot")).out
    assert (await alpha("profile", "show", "parrot", "--json")).json["backend"] == "builtin"
    assert (await alpha("profile", "remove", "parrot")).status == 0
    names = [row["name"] for row in (await alpha("profile", "list", "--json")).json["profiles"]]
    assert "parrot" not in names


async def test_what_is_not_there_is_refused(alpha: Command) -> None:
    for line in (["test", "nope"], ["show", "nope"], ["remove", "nope"]):
        said = await alpha("profile", *line, "--json")
        assert (said.status, said.reason) == (4, "not_found"), line


async def test_a_wrong_option_is_named(alpha: Command) -> None:
    said = await alpha(
        "profile", "add", "x", "--backend", "builtin", "--option", "agnt=echo", "--json"
    )
    assert said.status == 2
    assert "agnt" in said.out or "agent" in said.out
