"""What is printed where."""

import json

import pytest

from mesh.cli.terminal import Terminal, short_id, shown_state

PERSON = Terminal(home=None, json=False)
SCRIPT = Terminal(home=None, json=True)


def test_a_script_gets_json_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    SCRIPT.line("for people")
    SCRIPT.table(("a",), [("b",)], "none")
    SCRIPT.value({"name": "Zoë"})
    SCRIPT.error("busy", "Too much.", "Wait.")
    out = capsys.readouterr().out.splitlines()
    assert json.loads(out[0]) == {"name": "Zoë"}
    assert json.loads(out[1]) == {
        "error": {"reason": "busy", "message": "Too much.", "next": "Wait."}
    }
    assert len(out) == 2


def test_a_person_gets_the_error_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    PERSON.error("busy", "Too\x1b much.", "Wait.")
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "roommesh: Too␛ much. (busy)\n  Wait.\n"


def test_a_table_shows_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    PERSON.table(("room", "id"), [("[red]x[/red]\x1b", "1"), ("y" * 300, "2")], "none")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("[red]x[/red]␛ ")
    assert len(lines) == 3, "into a pipe no row is folded"
    assert lines[2].rstrip().endswith("2")


def test_an_empty_table_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    PERSON.table(("room",), [], "No rooms.")
    assert capsys.readouterr().out == "No rooms.\n"


def test_fields_are_aligned_and_safe(capsys: pytest.CaptureFixture[str]) -> None:
    PERSON.fields({"a": "x\r", "long": 1})
    assert capsys.readouterr().out == "a     x␍\nlong  1\n"


def test_states_and_ids_are_short() -> None:
    assert shown_state({"state": "up", "reason": ""}) == "up"
    assert shown_state({"state": "down", "reason": "peer_offline"}) == "down (peer_offline)"
    assert short_id("r_" + "a" * 32) == "r_" + "a" * 12
    assert short_id("install:" + "b" * 32) == "install:" + "b" * 12
