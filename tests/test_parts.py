"""The runner adds up honestly: a broken run, a late part or a left process is a failure."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parts import MARK, TARGETS, Counts, Part, count, left_over, run

REPORT = (
    '<testsuites><testsuite tests="7" failures="1" errors="1" skipped="2"/>'
    '<testsuite tests="1" failures="0" errors="0" skipped="0"/></testsuites>'
)


def test_a_report_is_added_up(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert count(report, 1) == Counts(passed=4, failed=2, skipped=2)


def test_a_run_without_report_is_one_failure(tmp_path: Path) -> None:
    assert count(tmp_path / "missing.xml", 3) == Counts(failed=1)


def test_a_crash_after_passing_tests_is_a_failure(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite tests="2" failures="0" errors="0"/></testsuites>')
    assert count(report, 0) == Counts(passed=2)
    assert count(report, -signal.SIGSEGV) == Counts(passed=2, failed=1)


def test_no_tests_is_no_failure(tmp_path: Path) -> None:
    assert count(tmp_path / "missing.xml", 5) == Counts()


def test_a_part_over_its_bound_is_ended_and_failed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # The part starts a child of its own: the whole group must go.
    pid_file = tmp_path / "pid"
    script = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid))\n"
        "child.wait()\n"
    )
    part = Part(name="late", command=("-c", script), limit_s=1.0)
    ((_, _, counts),) = run(part, tmp_path)
    assert counts == Counts(failed=1)
    assert "not done after 1 s" in capfd.readouterr().out
    assert ends(int(pid_file.read_text()))


def test_the_part_beside_another_is_counted_and_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    beside = Part(name="beside", command=("-c", "print('said beside'); exit(1)"))
    rows = run(Part(name="first", command=("-c", ""), beside=beside), tmp_path)
    assert [(name, counts) for name, _, counts in rows] == [
        ("first", Counts(passed=1)), ("beside", Counts(failed=1))
    ]
    assert "said beside" in capfd.readouterr().out


def test_a_process_left_running_is_killed_and_failed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(MARK, "planted-by-test-parts")
    left = subprocess.Popen(
        [sys.executable, "-c", "import signal; print(flush=True); signal.pause()"],
        stdout=subprocess.PIPE,
    )
    with left:
        assert left.stdout is not None
        left.stdout.readline()
        ((_, _, counts),) = left_over()
        assert left.wait(timeout=5) == -signal.SIGKILL
    assert counts == Counts(failed=1)
    assert f"left running: {left.pid}" in capfd.readouterr().out


def test_every_target_has_parts_with_a_bound() -> None:
    for target, parts in TARGETS.items():
        assert parts, target
        assert all(part.limit_s > 0 for part in parts), target
    assert sum(part.limit_s for part in TARGETS["lint"]) <= 1200


def ends(pid: int) -> bool:
    """Whether the process is gone, or goes within 5 seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 5.0)[0])
    finally:
        os.close(descriptor)
