"""Golden vectors stay as they were written, and the log among them verifies without our code."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.core.world import World
from tests.vectors import built
from tests.vectors.verify_log import BrokenLogError, main, verify

HERE = Path(__file__).parent
LOG = HERE / "log.jsonl"


@pytest.mark.parametrize("name", built.VECTORS)
def test_a_vector_is_frozen(name: str) -> None:
    frozen = json.loads((HERE / f"{name}.json").read_text("utf-8"))
    assert built.VECTORS[name]() == {k: v for k, v in frozen.items() if k != "note"}


def test_the_log_is_frozen() -> None:
    assert built.as_lines(built.log()) == LOG.read_text("ascii")


def test_the_log_verifies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(LOG), str(LOG)]) == 0
    said = capsys.readouterr().out
    assert said.count("11 events, 3 members, head ") == 2


def test_the_verifier_imports_nothing_of_ours() -> None:
    code = (
        "import runpy, sys; runpy.run_path(sys.argv[1]);"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('mesh', 'tests', 'nacl')))"
    )
    script = str(HERE / "verify_log.py")
    ran = subprocess.run(
        [sys.executable, "-c", code, script], capture_output=True, text=True, check=True, cwd="/"
    )
    assert ran.stdout.strip() == "[]"


def lines() -> list[dict[str, str]]:
    """The log's lines, as values."""
    return [json.loads(line) for line in LOG.read_text("ascii").splitlines()]


def broken(events: list[dict[str, str]]) -> str:
    """Why a log is refused; it must be."""
    with pytest.raises(BrokenLogError) as fault:
        verify(built.as_lines(events).splitlines())
    return str(fault.value)


@pytest.mark.parametrize("part", ["p", "author_sig", "h", "authority_sig"])
def test_one_bit_anywhere_is_found(part: str) -> None:
    for at, event in enumerate(lines()):
        data = bytearray(base64.b64decode(event[part]))
        for byte in range(0, len(data), 29):
            data[byte] ^= 4
            damaged = lines()
            damaged[at][part] = base64.b64encode(data).decode()
            assert broken(damaged).startswith(f"line {at + 1}: ")
            data[byte] ^= 4


def changed(part: str, **fields: Any) -> str:
    """The log with a field of its seventh event changed, and nothing else made right again."""
    events = lines()
    value = json.loads(base64.b64decode(events[6][part]))
    text = json.dumps(value | fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    events[6][part] = base64.b64encode(text.encode()).decode()
    return broken(events)


def test_each_law_has_its_words() -> None:
    events = lines()
    assert "seq is not dense" in broken([*events[:3], *events[4:]])
    assert "seq is not dense" in broken([*events[:4], events[3]])
    assert "seq is not dense" in broken(events[1:])
    assert "the chain is broken" in changed("h", prev_hash="0" * 64)
    assert "the epoch goes back" in changed("h", epoch=0)
    assert "not about this P" in changed("p", created_at_ms=1)
    assert "differ in kind" in changed("h", kind="room.renamed")
    assert "signature of the event" in changed("h", admitted_at_ms=1)
    spaced = base64.b64decode(events[6]["p"]).replace(b":", b": ", 1)
    events[6]["p"] = base64.b64encode(spaced).decode()
    assert "not canonical" in broken(events)


def test_a_fork_of_two_files_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short, other = tmp_path / "short.jsonl", tmp_path / "other.jsonl"
    short.write_text(built.as_lines(lines()[:5]), "ascii")
    assert main([str(LOG), str(short)]) == 0
    world = World("desktop")
    other.write_text(
        built.as_lines([built.line(e) for e in world["desktop"].disk.events]), "ascii"
    )
    assert main([str(LOG), str(other)]) == 1
    assert "FORK" in capsys.readouterr().out
    other.write_text("{}\n", "ascii")
    assert main([str(other)]) == 1
    assert "BROKEN: line 1" in capsys.readouterr().out
