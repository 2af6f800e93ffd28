"""`roommesh demo --smoke`: the whole of it from outside, and what it does when a step fails."""

import re
from pathlib import Path

import pytest

from tests.demo.played_demo import COLUMNS, PlayedDemo

pytestmark = pytest.mark.timeout(90)
ROW = re.compile(r"^ *(\d+) (.+?)  +(all three|[a-z]+(?:, [a-z]+)?) +(\d*)  +(yes|NO|-)$", re.M)


def test_every_step_holds(tmp_path: Path) -> None:
    environment = {"TMPDIR": str(tmp_path), "NO_COLOR": "1", "COLUMNS": str(COLUMNS)}
    with PlayedDemo("demo", "--smoke", environment=environment) as demo:
        held = demo.seen(r"^All of it holds: (\d+) of (\d+) steps, ([\d.]+) s$", within_s=60)
        assert demo.ended() == 0
        assert held[1] == held[2]
        assert float(held[3]) < 60
        rows = ROW.findall(demo.said)
        assert len(rows) == int(held[1]) >= 15
        assert {verdict for *_, verdict in rows} == {"yes"}
        assert [int(number) for number, *_ in rows] == [*range(1, len(rows) + 1)]
        assert max(map(len, demo.said.splitlines())) <= COLUMNS
        assert demo.said.isascii() and "\x1b" not in demo.said
        demo.nothing_left(tmp_path / "nothing")
        assert list(tmp_path.iterdir()) == []


def test_a_step_that_does_not_hold_is_named_and_ends_it(tmp_path: Path) -> None:
    with PlayedDemo("demo", "--smoke", environment={"TMPDIR": str(tmp_path)}) as demo:
        demo.seen(r"^ *7 .* yes$")
        (pid,) = demo.alive("--name desktop")
        demo.kill(pid)
        demo.seen(r"^ *8 .* NO$\n +desktop has ended by itself$")
        held = demo.seen(r"^Not all of it holds: (\d+) of (\d+) steps")
        demo.seen("What to do:")
        assert demo.ended() == 1
        verdicts = [verdict for *_, verdict in ROW.findall(demo.said)]
        assert verdicts == ["yes"] * 7 + ["NO"] + ["-"] * (int(held[2]) - 8)
        assert int(held[1]) == 7
        demo.nothing_left(tmp_path / "nothing")
        assert list(tmp_path.iterdir()) == []
