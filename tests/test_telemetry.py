"""The log tells what happened, on one line each, and never a secret."""

import json
import logging
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh import telemetry
from mesh.telemetry import (
    LOG_VALUE_CHARS_MAX,
    MASK,
    Log,
    LogFile,
    Metrics,
    Redaction,
    libraries_into,
    make_log,
)

CANARY = "canary-0f3c9a7be1"
GRANT = "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJjYW5hcnkifQ." + "A" * 86


class Lines:
    """A log and the lines it wrote."""

    def __init__(self) -> None:
        self.raw: list[str] = []
        self.redaction = Redaction()
        self.log: Log = make_log(self.raw.append, self.redaction, lambda: 1_790_000_000_000)

    @property
    def last(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.raw[-1])
        return found


@pytest.fixture
def lines() -> Lines:
    return Lines()


def test_a_line_is_json_with_a_time_and_a_level(lines: Lines) -> None:
    lines.log.warning("a peer left", install_id="install:0", rtt_us=5, ok=True, why=None)
    assert lines.last == {
        "at_ms": 1_790_000_000_000,
        "level": "warning",
        "event": "a peer left",
        "install_id": "install:0",
        "rtt_us": 5,
        "ok": True,
        "why": None,
    }


def test_what_is_below_the_level_is_not_written() -> None:
    raw: list[str] = []
    log: Log = make_log(raw.append, Redaction(), lambda: 0, level="warning")
    log.debug("not reached")
    log.info("node.ready")
    assert not raw
    log.warning("a peer left")
    log.error("job.failed")
    assert [json.loads(line)["level"] for line in raw] == ["warning", "error"]


@pytest.mark.parametrize(
    "name",
    [
        "secret", "token", "password", "passphrase", "recovery_phrase", "seed", "Authorization",
        "cookie", "fragment", "login_link", "private_key", "api_key", "apikey", "key", "grant",
        "link", "mac", "client_secret",
    ],
)
def test_a_name_that_sounds_like_a_secret_is_masked(lines: Lines, name: str) -> None:
    lines.log.info("x", **{name: CANARY})
    lines.log.info("x", deep={"list": [{name: {"inner": CANARY}}]})
    assert CANARY not in "".join(lines.raw)


@pytest.mark.parametrize(
    "text",
    [
        f"http://127.0.0.1:7420/#login={CANARY}",
        f"https://laptop.local:7420/i#{CANARY}",
        f"Authorization: Bearer {CANARY}",
        f"https://user:{CANARY}@host/",
        f"/rpc?token={CANARY}&x=1",
        f"Cookie: roommesh_0123abcd={CANARY}; a=b",
    ],
)
def test_a_secret_inside_a_text_is_masked(lines: Lines, text: str) -> None:
    lines.log.info("x", text=f"before {text} after")
    assert CANARY not in lines.raw[-1]
    assert MASK in lines.last["text"]
    assert "before " in lines.last["text"]


def test_a_grant_inside_a_text_is_masked(lines: Lines) -> None:
    lines.log.info("x", text=f"got {GRANT}.")
    assert "eyJ" not in lines.raw[-1]


def test_an_announced_secret_is_masked_wherever_it_stands(lines: Lines) -> None:
    lines.redaction.hide(CANARY)
    event = f"event {CANARY}"
    lines.log.error(event, text=f"<{CANARY}>", items=[CANARY], error=ValueError(CANARY))
    assert CANARY not in lines.raw[-1]


def test_the_oldest_announced_secret_is_forgotten_at_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(telemetry, "LOG_SECRETS_MAX", 2)
    redaction = Redaction()
    for number in range(3):
        redaction.hide(f"secret-number-{number}")
    assert redaction.text("secret-number-0 secret-number-2") == f"secret-number-0 {MASK}"


def test_a_traceback_shows_where_and_no_local_variable(lines: Lines) -> None:
    lines.redaction.hide(CANARY)

    def fail(passed: str) -> None:
        raise ValueError(f"not {passed}")

    try:
        fail(CANARY)
    except ValueError as error:
        lines.log.error("it failed", exc_info=error)
    assert "ValueError" in lines.last["traceback"]
    assert "in fail" in lines.last["traceback"]
    assert CANARY not in lines.raw[-1]


def test_nothing_a_stranger_sends_ends_a_line_or_colours_a_terminal(lines: Lines) -> None:
    evil = "name\r\n{\"level\": \"error\"}\x1b[31m\x9b31m\u2028\u202e%s%n\x00"
    lines.log.info(evil, name=evil, **{"k\ney": evil})
    (line,) = lines.raw
    assert line.isascii()
    assert line.isprintable()
    assert lines.last["name"] == evil


@given(st.text(max_size=300))
def test_any_text_is_one_printable_line(text: str) -> None:
    lines = Lines()
    lines.log.info("x", text=text)
    assert len(lines.raw) == 1
    assert lines.raw[0].isascii() and lines.raw[0].isprintable()


def test_values_are_cut_and_bytes_are_only_counted(lines: Lines) -> None:
    lines.log.info("x", name="n" * 1_000_000, raw=b"\x00" * 40, many=list(range(500)))
    assert len(lines.raw[-1]) < 2 * LOG_VALUE_CHARS_MAX
    assert lines.last["raw"] == "[40 bytes]"
    assert len(lines.last["many"]) < 50
    deep: object = "end"
    for _ in range(50):
        deep = [deep]
    lines.log.info("x", deep=deep)
    assert "[deeper]" in lines.raw[-1]


@pytest.mark.parametrize("ahead", [65_536 - 40, 65_536 - 8, 2_040])
def test_the_cut_leaves_no_half_a_secret(lines: Lines, ahead: int) -> None:
    lines.log.info("x", text="." * ahead + "Bearer " + CANARY * 3)
    assert "canary" not in lines.raw[-1]


def test_what_libraries_say_comes_through_the_same_step(lines: Lines) -> None:
    lines.redaction.hide(CANARY)
    before = logging.getLogger().handlers[:]
    with libraries_into(lines.log):
        logging.getLogger("aiohttp.server").error("failed %s", CANARY, exc_info=ValueError("x"))
        logging.getLogger("zeroconf").warning("odd\r\npacket")
        logging.getLogger("asyncio").info("not of interest")
    assert logging.getLogger().handlers == before
    assert [json.loads(line)["level"] for line in lines.raw] == ["error", "warning"]
    assert [json.loads(line)["event"] for line in lines.raw] == ["aiohttp.server", "zeroconf"]
    assert CANARY not in "".join(lines.raw)


def test_the_file_is_private_appended_to_and_turned_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "node.log"
    for text in ("first", "second"):
        file = LogFile(path)
        file.write(text)
        file.close()
    assert path.read_text() == "first\nsecond\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setattr(telemetry, "LOG_FILE_BYTES_MAX", 16)
    file = LogFile(path)
    file.write("third")
    file.close()
    assert path.read_text() == "third\n"
    assert (tmp_path / "node.log.1").read_text() == "first\nsecond\n"


def test_a_log_planted_as_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "node.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        LogFile(tmp_path / "node.log")
    assert not (tmp_path / "elsewhere").exists()


def test_a_full_disk_loses_lines_and_not_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_fd: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    file = LogFile(tmp_path / "node.log")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        file.write("lost")
    file.write("kept")
    file.close()
    assert (tmp_path / "node.log").read_text() == "kept\n"


def test_counters_are_rendered_for_prometheus() -> None:
    metrics = Metrics()
    metrics.dials.labels("up").inc()
    metrics.links_up.set(3)
    text = metrics.render().decode()
    assert 'roommesh_dials_total{outcome="up"} 1.0' in text
    assert "roommesh_links_up 3.0" in text
    assert Metrics().render() != metrics.render()
