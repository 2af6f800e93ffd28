"""The demo's lines: in columns, whole links, no controls, JSON where it was asked for."""

import json

import pytest

from mesh.cli.demo_screen import Row, Screen
from mesh.cli.terminal import Terminal

GOOD = Row(number=1, what="a thing", through=("laptop",), took_ms=12, ok=True, detail="seen")
BAD = Row(
    number=2, what="another", through=("a", "b", "c"), took_ms=99_999, ok=False, detail="not " * 40
)
LEFT = Row(number=3, what="the last", through=("a", "b"), took_ms=0, ok=None)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """On a pipe of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    return Screen(Terminal(home=None, json=False))


@pytest.fixture
def programs() -> Screen:
    """Under --json."""
    return Screen(Terminal(home=None, json=True))


def test_the_table_stands_in_columns(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    screen.head()
    for row in (GOOD, BAD, LEFT):
        screen.row(row)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].endswith("    ms   ok")
    assert lines[1].endswith("    12  yes")
    assert {len(line) for line in lines[:3]} == {len(lines[0])}
    assert "all three" in lines[2] and lines[2].endswith("99999   NO")
    assert lines[3].startswith("    not not")
    assert lines[-1].split()[-1] == "-"


def test_the_verdict_says_what_to_do(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    screen.verdict([GOOD, BAD, LEFT], 1_500, ["Do that."])
    said = capsys.readouterr().out
    assert "Not all of it holds: 1 of 3 steps, 1.5 s" in said
    assert "  Do that." in said
    screen.verdict([GOOD], 1_500, [])
    assert "All of it holds: 1 of 1 steps, 1.5 s" in capsys.readouterr().out


def test_long_lines_hang_under_their_text(
    screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    screen.happened("act", "laptop", "word " * 40)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= 80
    assert lines[0].startswith("  laptop    word")
    assert all(line.startswith(" " * 12 + "word") for line in lines[1:])


def test_links_are_never_broken(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    link = "http://127.0.0.1:7420/#login=" + "x" * 200
    screen.link("first", link)
    assert capsys.readouterr().out == f"  first     {link}\n"


def test_strangers_text_cannot_steer_the_terminal(
    screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    screen.happened("act", "laptop", "[bold]\x1b[2Jred\x07")
    said = capsys.readouterr().out
    assert "\x1b" not in said and "\x07" not in said
    assert "[bold]" in said


def test_programs_get_json_and_nothing_else(
    programs: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.title("a title")
    programs.head()
    programs.row(BAD)
    programs.fields({"q": "quit"})
    programs.link("first", "http://x")
    programs.happened("room_made", "laptop", "makes it", seq=1)
    programs.facts({"act": "playing", "keys": True})
    programs.verdict([GOOD, BAD], 7, ["Do that."])
    made, playing, verdict = map(json.loads, capsys.readouterr().out.splitlines())
    assert made == {"act": "room_made", "node": "laptop", "text": "makes it", "seq": 1}
    assert playing == {"act": "playing", "keys": True}
    assert verdict["ok"] is False and verdict["ms"] == 7 and verdict["next"] == ["Do that."]
    assert verdict["steps"][1]["through"] == ["a", "b", "c"]
