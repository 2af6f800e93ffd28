"""The built-in agents as a backend: remembered lines, streamed pieces, strict options."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.backend import Surroundings
from gateway.backends.builtin import AGENTS, Builtin, pieces
from gateway.errors import ProfileInvalid
from gateway.exchange import Delta, TurnRequest, Update
from gateway.limits import DELTAS_MAX
from gateway.options import OptionValue
from gateway.profile import ProfileConfig
from tests.gateway.a_room import final, line, request, said


def agent(folder: Path, name: str, **options: OptionValue) -> Builtin:
    """A built-in agent whose state lies in `folder`; in a hurry unless told otherwise."""
    raw: Mapping[str, object] = {
        "name": name,
        "backend": "builtin",
        "options": {"agent": name, "pace_ms": 0} | options,
    }
    surroundings = Surroundings(folder=folder, environ={}, clock=lambda: 0, fence=lambda: "f")
    return Builtin(ProfileConfig.parse(raw), surroundings)


async def ask(one: Builtin, asked: TurnRequest) -> list[Update]:
    async with one:
        return [update async for update in one.run(asked)]


@pytest.mark.parametrize("name", sorted(AGENTS))
@pytest.mark.parametrize(
    "text", ["@scribe one two three", "@scribe the summary", "who is here", ""]
)
async def test_streams_at_least_eight_pieces_of_its_answer(
    tmp_path: Path, name: str, text: str
) -> None:
    updates = await ask(agent(tmp_path, name), request(text))
    deltas = [update for update in updates if isinstance(update, Delta)]
    assert len(deltas) >= 8
    assert said(updates) == final(updates)


async def test_echo_leaves_out_its_own_mention(tmp_path: Path) -> None:
    asked = request("@echo hello @ben", handle="echo")
    assert final(await ask(agent(tmp_path, "echo"), asked)) == "hello @ben"
    assert final(await ask(agent(tmp_path, "echo"), request("@echo", handle="echo", seq=101))) == (
        "You said nothing but my name."
    )


async def test_the_scribe_finds_after_a_restart_what_it_was_given_before(tmp_path: Path) -> None:
    await ask(
        agent(tmp_path, "scribe"), request("@scribe minutes", [line(1, "a blue door")], seq=2)
    )
    found = await ask(agent(tmp_path, "scribe"), request("@scribe search door", seq=3))
    assert "#1 ann: “a blue door”" in final(found)


async def test_the_same_turn_twice_gives_the_same_answer(tmp_path: Path) -> None:
    asked = request("@scribe minutes", [line(1, "we decide: blue")], seq=2)
    one = agent(tmp_path, "scribe")
    assert await ask(one, asked) == await ask(one, asked)


async def test_a_pace_is_kept_and_stopping_is_at_once(tmp_path: Path) -> None:
    one = agent(tmp_path, "echo", pace_ms=1_000)
    with pytest.raises(TimeoutError):
        async with one, asyncio.timeout(0.05):
            async for update in one.run(request("one two")):
                assert isinstance(update, Delta)


async def test_it_is_always_there(tmp_path: Path) -> None:
    assert "answers without a model" in await agent(tmp_path, "guide").probe()


def test_catalog_and_policy_say_what_it_is(tmp_path: Path) -> None:
    one = agent(tmp_path, "guide")
    assert one.catalog.id == "guide"
    assert (one.policy.backend, one.policy.model) == ("builtin", "guide")


@pytest.mark.parametrize(
    "options", [{"agent": "magic"}, {"pace_ms": -1}, {"pace_ms": 1_001}, {"model": "tiny"}]
)
def test_options_are_strict(tmp_path: Path, options: dict[str, OptionValue]) -> None:
    with pytest.raises(ProfileInvalid, match=rf"options\.{next(iter(options))}"):
        agent(tmp_path, "echo", **options)


@given(st.text(max_size=3_000))
def test_pieces_lose_nothing(text: str) -> None:
    cut = pieces(text)
    assert "".join(cut) == text
    assert all(cut)
    assert min(8, len(text)) <= len(cut) <= DELTAS_MAX


def test_pieces_are_words_where_there_are_enough() -> None:
    assert pieces("a b c d e f g\nh") == ["a ", "b ", "c ", "d ", "e ", "f ", "g\n", "h"]
    assert len(pieces("word " * 1_000)) == DELTAS_MAX
