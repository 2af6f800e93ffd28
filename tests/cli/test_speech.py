"""Several members on one screen."""

import pytest

from mesh.cli.answers import Piece
from mesh.cli.speech import Speech
from mesh.cli.terminal import Terminal


@pytest.fixture
def speech() -> Speech:
    return Speech(Terminal(home=None, json=False), {"a": "ann", "b": "bob", "c": "c\x1b"})


def say(speech: Speech, *pieces: tuple[str, str]) -> None:
    for member_id, text in pieces:
        speech.say(Piece(member_id=member_id, text=text.rstrip("."), ends=text.endswith(".")))


def test_one_member_speaks_at_a_time(speech: Speech, capsys: pytest.CaptureFixture[str]) -> None:
    say(speech, ("a", "one "), ("b", "un "), ("a", "two "), ("b", "deux "), ("a", "three."))
    say(speech, ("b", "trois."))
    speech.end()
    assert capsys.readouterr().out == "ann: one two three\nbob: un deux trois\n"


def test_who_ended_meanwhile_is_shown_whole(
    speech: Speech, capsys: pytest.CaptureFixture[str]
) -> None:
    say(speech, ("a", "one "), ("b", "un deux."), ("b", "encore"), ("a", "two."))
    speech.end()
    assert capsys.readouterr().out == "ann: one two\nbob: un deux\n  encore\n"


def test_what_was_kept_is_shown_when_the_wait_is_over(
    speech: Speech, capsys: pytest.CaptureFixture[str]
) -> None:
    say(speech, ("a", "one "), ("b", "un "), ("c", "eins "))
    speech.end()
    assert capsys.readouterr().out == "ann: one \nbob: un \nc␛: eins \n"


def test_lines_are_indented_and_none_is_left_at_the_end(
    speech: Speech, capsys: pytest.CaptureFixture[str]
) -> None:
    say(speech, ("a", "one\n"), ("a", "\ntwo\n\n."))
    speech.end()
    assert capsys.readouterr().out == "ann: one\n  \n  two\n"


def test_under_json_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    speech = Speech(Terminal(home=None, json=True), {})
    say(speech, ("a", "one."))
    assert capsys.readouterr().out == ""
