"""Every row of the issue is in docs/rows.md, with tests that exist or the issue it moves to."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.tidy.tree import ROOT

ROWS: Final = (
    *(f"attack {n}" for n in (23, 24, 25, 26, 27, 28, 53, 54, 55, 56, 62, 64)),
    *(
        f"situation {n}"
        for n in (13, 15, 21, 23, 24, 29, 31, 35, 38, 40, 41, 47, 63, 64, 74, 75, 84, 85, 86)
    ),
    *(f"situation {n}" for n in (150, 154, 157)),
)
_NAMED: Final = re.compile(r"`(tests/[\w/.]+)::([^`]+)`")
_MOVED: Final = re.compile(r"issue \d+, \*[^*]+\*: .{20,}")


def rows_of(text: str) -> dict[str, tuple[str, str]]:
    """Row -> what shows it, and what is missing."""
    found: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and re.fullmatch(r"(attack|situation) \d+", cells[0]):
            assert cells[0] not in found, f"{cells[0]} is there twice"
            found[cells[0]] = (cells[2], cells[3])
    return found


def exists(path: str, name: str) -> bool:
    """Whether that file has that test."""
    file = ROOT / path
    if not file.is_file():
        return False
    text = file.read_text("utf-8")
    if path.endswith(".mjs"):
        return f'test("{name}"' in text
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
        for node in ast.parse(text).body
    )


def open_ends(text: str) -> Iterator[str]:
    """What keeps the table from being whole."""
    rows = rows_of(text)
    yield from (f"{row} is not there" for row in ROWS if row not in rows)
    for row, (shown, missing) in rows.items():
        named = _NAMED.findall(shown)
        if not named and not missing:
            yield f"{row} is neither shown nor moved"
        if missing and not _MOVED.fullmatch(missing):
            yield f"{row} moves without saying where, and what is missing"
        yield from (f"{row}: {p}::{name} is not there" for p, name in named if not exists(p, name))


def test_every_row_is_shown_or_moved() -> None:
    assert list(open_ends((ROOT / "docs/rows.md").read_text("utf-8"))) == []


def test_planted_ends_are_found() -> None:
    real = "`tests/tidy/test_rows.py::test_planted_ends_are_found`"
    text = (
        f"| attack 23 | x | {real} | |\n| attack 24 | x | | |\n| attack 25 | x | | later |\n"
        f"| attack 26 | x | `tests/tidy/test_rows.py::test_nothing` `tests/no.py::test_x` | |\n"
        "| attack 27 | x | | issue 9, *Somewhere*: a part that does not exist before it |\n"
    )
    said = list(open_ends(text))
    assert len([s for s in said if s.endswith("is not there") and "::" not in s]) == len(ROWS) - 5
    assert [s for s in said if s.startswith(("attack 23", "attack 27"))] == []
    assert len([s for s in said if s.startswith(("attack 24", "attack 25", "attack 26"))]) == 4
