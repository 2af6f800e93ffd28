"""Scenarios: what is written in a text is what happens, line by line."""

from pathlib import Path

import pytest

from tests.scenarios.stage import SENTENCES, play

HERE = Path(__file__).parent
SCENARIOS = sorted(HERE.glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_happens_as_it_is_written(path: Path) -> None:
    """After a wanted change: python -m tests.scenarios, and read the diff."""
    text = path.read_text("utf-8")
    assert play(text).splitlines() == text.splitlines()


def test_every_scenario_tells_what_it_is_about() -> None:
    assert len(SCENARIOS) >= 5
    assert all(path.read_text("utf-8").startswith("# ") for path in SCENARIOS)


def test_every_sentence_is_used() -> None:
    """A sentence that no scenario speaks may be broken without anybody noticing."""
    said = [line[2:] for path in SCENARIOS for line in path.read_text("utf-8").splitlines()
            if line.startswith("> ")]
    unused = [p.pattern for p, _ in SENTENCES if not any(p.fullmatch(line) for line in said)]
    assert unused == []


def test_an_unknown_sentence_is_refused() -> None:
    with pytest.raises(AssertionError, match="nobody knows"):
        play("> room desktop\n> desktop dances\n")
