"""docs/agents.md tells of every option and every reason, and of none that does not exist."""

import re
from pathlib import Path

from gateway.backends.constructors import BACKENDS
from mesh.core.errors import REASONS
from tests.gateway.test_errors import leaves

ROOT = Path(__file__).resolve().parent.parent.parent
AGENTS = (ROOT / "docs" / "agents.md").read_text("utf-8")
TAKEN = re.compile(r'options\.(?:text|integer)\(\s*"(\w+)"')


def rows(title: str) -> set[str]:
    """The first cells of the tables under a heading that begins with `title`."""
    section = AGENTS.split(f"\n## {title}")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def test_every_backend_has_a_chapter_with_its_options() -> None:
    for name in BACKENDS:
        source = (ROOT / "gateway" / "backends" / f"{name}.py").read_text("utf-8")
        assert rows(f"`{name}`") == set(TAKEN.findall(source)), name


def test_every_reason_is_told_and_known_to_the_node() -> None:
    reasons = {kind.reason for kind in leaves().values()}
    assert rows("States, and what can go wrong") == reasons
    assert reasons <= REASONS.keys()
