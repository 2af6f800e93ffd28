"""The scribe: extractive, numbered, deterministic, and quiet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.backends.mentions import quiet
from gateway.backends.scribe import ABILITIES, answer
from gateway.exchange import Line
from tests.gateway.a_room import ME, line, request

TALK = (
    line(1, "Shall we paint the kitchen on Friday?"),
    line(2, "Friday is fine, agreed.", by="ben"),
    line(3, "I will buy the paint", by="ben"),
    line(4, "Which colour, @ben?"),
    line(5, "@scribe minutes please"),
    line(6, "**Minutes of Kitchen** ...", by="scribe", author_member_id=ME),
    line(7, "to-do: find a ladder", by="helperbot"),
)


def asked(text: str, lines: tuple[Line, ...] = TALK) -> str:
    one = request(text, lines)
    return answer(one, (*lines, one.trigger))


def test_minutes_in_full() -> None:
    assert asked("@scribe summary") == (
        "**Minutes of Kitchen**, events 1 to 7\n"
        "\n"
        "Who said what\n"
        "- ann (person), 2 lines; last: “Which colour, ben?” (#4)\n"
        "- ben (person), 2 lines; last: “I will buy the paint” (#3)\n"
        "- helperbot (agent), 1 line; last: “to-do: find a ladder” (#7)\n"
        "\n"
        "Decisions\n"
        "- #2 ben: “Friday is fine, agreed.”\n"
        "- #3 ben: “I will buy the paint”\n"
        "- #7 helperbot: “to-do: find a ladder”\n"
        "\n"
        "Open questions\n"
        "- #4 ann: “Which colour, ben?”\n"
    )


@pytest.mark.parametrize("words", ["minutes", "Summarise, please", "a SUMMARY"])
def test_minutes_have_several_names(words: str) -> None:
    assert asked(f"@scribe {words}").startswith("**Minutes of Kitchen**")


def test_a_question_is_answered_by_name_or_by_its_words() -> None:
    question = line(1, "Where is the ladder?")
    named = line(2, "@ann no idea", by="ben")
    repeated = line(2, "The ladder? In the cellar", by="ben")
    own = line(2, "the ladder, anyone")
    assert "#1" in asked("summary", (question, own)).split("Open questions")[1]
    for reply in (named, repeated):
        assert "#1" not in asked("summary", (question, reply)).split("Open questions")[1]


def test_no_lines_no_minutes() -> None:
    assert asked("@scribe summary", ()).startswith("Nothing to put into minutes yet")


@pytest.mark.parametrize("words", ["who is here", "Who's here?", "who\u2019s here"])
def test_who_is_here(words: str) -> None:
    assert asked(f"@scribe {words}") == (
        "In this room: 3 members.\n"
        "- scribe (agent): present\n"
        "- ann (person): present\n"
        "- ben (person): offline\n"
    )


def test_search_finds_lines_with_their_numbers_and_not_itself() -> None:
    assert asked("@scribe search PAINT?") == (
        "“PAINT” stands in 2 lines:\n"
        "- #1 ann: “Shall we paint the kitchen on Friday?”\n"
        "- #3 ben: “I will buy the paint”\n"
    )
    assert asked("@scribe search for wallpaper").startswith("No line that I have been given")


def test_a_search_with_many_hits_shows_the_newest() -> None:
    many = tuple(line(seq, f"paint {seq}") for seq in range(1, 40))
    found = asked("@scribe search paint", many)
    assert found.startswith("“paint” stands in 39 lines, the newest 10:\n- #30 ")


def test_anything_else_is_answered_with_what_it_can_do() -> None:
    assert asked("@scribe make me a sandwich") == ABILITIES
    assert asked("@scribe") == ABILITIES


words = st.sampled_from(
    ["@ben", "@@scribe", "summary", "search", "who is here", "?", "will", "x\n"]
)


@given(st.lists(st.lists(words).map(" ".join), min_size=1, max_size=6))
def test_it_calls_nobody_and_never_changes_its_mind(texts: list[str]) -> None:
    lines = tuple(line(seq, text, by="ben") for seq, text in enumerate(texts, 1))
    first = asked(texts[0], lines)
    assert first == asked(texts[0], lines)
    assert quiet(first) == first
