"""Runs the parts of `make test` and its siblings, and adds up what they say.

Unit and pure tests run on two workers, next to the type checker; what needs the machine's
attention (simulation, network namespaces, browser, demo) runs alone, in the order below. A part
whose folder does not exist yet is left out. As the last line stands the sum of all parts:
`N passed, N failed, N skipped`; the exit status is 1 when anything failed.

Every process started here carries a mark in its environment. One that outlives its part is
killed and counted as a failure: tests must clean up after themselves.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

ROOT: Final = Path(__file__).resolve().parent.parent
MARK: Final = "ROOMMESH_TEST_RUN"

# What a part needs: (Debian's package, the commands that show it is there). CI installs it.
CHROMIUM: Final = ("chromium", ("chromium", "chromium-browser", "google-chrome"))
MACHINE_NEEDS: Final[dict[str, tuple[tuple[str, tuple[str, ...]], ...]]] = {
    "browser": (CHROMIUM,),
    "demo": (CHROMIUM,),
    "netns": (("iproute2", ("ip",)), ("nftables", ("nft",))),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many checks passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One command, its folder (left out when absent), its bound in seconds, its environment.

    `is_pytest` counts tests; any other command counts as one check. `beside` names a part that
    runs at the same time.
    """

    name: str
    command: tuple[str, ...]
    folder: str = "."
    limit_s: float = 300
    is_pytest: bool = False
    environment: tuple[tuple[str, str], ...] = ()
    beside: "Part | None" = None


@dataclass(slots=True, kw_only=True)
class Running:
    """A part that was started: its process, where its report goes, since when."""

    part: Part
    process: subprocess.Popen[bytes]
    report: Path
    output: IO[bytes] | None
    started_s: float


def tests_of(folder: str, *options: str, limit_s: float = 300, audio: bool = False) -> Part:
    """The tests of one folder, alone on the machine."""
    return Part(
        name=folder.removeprefix("tests/"),
        command=("-m", "pytest", "-q", *options, folder),
        folder=folder,
        limit_s=limit_s,
        is_pytest=True,
        environment=(("PYTHONASYNCIODEBUG", ""),) if audio else (),
    )


RUFF: Final = Part(name="ruff", command=("-m", "ruff", "check", "."), limit_s=60)
MYPY: Final = Part(name="mypy", command=("-m", "mypy"), limit_s=400)
ALONE: Final = (
    tests_of("tests/sim", limit_s=240),
    tests_of("tests/fuzz", limit_s=120),
    tests_of("tests/netns", limit_s=300),
    tests_of("tests/browser", limit_s=300),
    tests_of("tests/demo", limit_s=300),
)
# The media engine is not called by the node yet; its tests want a machine of their own.
AUDIO: Final = (
    tests_of("tests/audio", "-n", "2", "--timeout=120", limit_s=400, audio=True),
    tests_of("tests/live_audio", "--timeout=120", limit_s=300, audio=True),
)
UNIT: Final = Part(
    name="unit",
    command=(
        *("-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "tests"),
        *(f"--ignore={part.folder}" for part in (*ALONE, *AUDIO)),
    ),
    limit_s=400,
    is_pytest=True,
    beside=MYPY,
)
SYSTEM: Final = (
    tests_of("tests", "-m", "slow", "--timeout=300", limit_s=420),
    tests_of("tests/sim", "--first-seed=20", "--seeds=150", "--timeout=0", limit_s=300),
    tests_of("tests/fuzz", "--fuzz-seconds=30", "--timeout=0", limit_s=400),
    Part(name="bench", command=("-m", "tests.bench", "--quick"), folder="tests/bench"),
)
LONG: Final = (
    *AUDIO,
    tests_of("tests/sim", "--seeds=5000", "--timeout=0", limit_s=4 * 3600),
    tests_of("tests/fuzz", "--fuzz-seconds=600", "--timeout=0", limit_s=4 * 3600),
    Part(name="bench", command=("-m", "tests.bench"), folder="tests/bench", limit_s=3600),
    Part(name="compose", command=("tests/install/compose_check.sh",), limit_s=1800),
    Part(name="fresh machine", command=("tests/install/fresh_machine.sh",), limit_s=3600),
)
TARGETS: Final = {
    "lint": (RUFF, MYPY),
    "test": (RUFF, UNIT, *ALONE),
    "system": SYSTEM,
    "long": (*SYSTEM, *LONG),
}


def main(target: str) -> int:
    """Run a target's parts in order; print each, a table and the sum. Returns 0 or 1."""
    parts = [part for part in TARGETS[target] if (ROOT / part.folder).exists()]
    prepare_machine({part.name for part in parts})
    rows: list[tuple[str, float, Counts]] = []
    with run_folder() as folder:
        try:
            for part in parts:
                heading(part.name)
                rows += run(part, folder)
        finally:
            rows += left_over()
            total = sum((counts for _, _, counts in rows), Counts())
            print("\n" + "\n".join(f"{n:<16}{s:7.1f} s   {c}" for n, s, c in rows))
            print(f"\n{total}", flush=True)
            tally(total)
    return 1 if total.failed else 0


def run(part: Part, folder: Path) -> list[tuple[str, float, Counts]]:
    """Run one part, and the one beside it, whose output is printed after."""
    second = start(part.beside, folder, is_quiet=True) if part.beside else None
    try:
        rows = [finish(start(part, folder))]
        if second is not None:
            heading(second.part.name)
            rows.append(finish(second))
        return rows
    finally:
        if second is not None:
            end_group(second.process)


def start(part: Part, folder: Path, *, is_quiet: bool = False) -> Running:
    """Start a part as the head of its own process group."""
    report = folder / f"{uuid.uuid4().hex}.xml"
    script = part.command[0].endswith(".sh")
    command = ["bash", *part.command] if script else [sys.executable, *part.command]
    if part.is_pytest:
        command += [f"--junitxml={report}"]
    output = tempfile.TemporaryFile(dir=folder) if is_quiet else None
    return Running(
        part=part,
        process=subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(folder)} | dict(part.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
        ),
        report=report,
        output=output,
        started_s=time.monotonic(),
    )


def finish(running: Running) -> tuple[str, float, Counts]:
    """Wait for a part, at most its bound, and count what it did."""
    part, process = running.part, running.process
    left_s = part.limit_s - (time.monotonic() - running.started_s)
    try:
        status = process.wait(timeout=max(left_s, 0.1))
    except subprocess.TimeoutExpired:
        print(f"{part.name}: not done after {part.limit_s:.0f} s, ended", flush=True)
        status = 124
    finally:
        end_group(process)
    if running.output is not None:
        running.output.seek(0)
        sys.stdout.write(running.output.read().decode("utf-8", "replace"))
        running.output.close()
    counts = count(running.report, status) if part.is_pytest else Counts(
        passed=int(status == 0), failed=int(status != 0)
    )
    return part.name, time.monotonic() - running.started_s, counts


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a part that is still running, with all it started: asked first, then killed."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5.0)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=5.0)


def count(report: Path, status: int) -> Counts:
    """Read pytest's report; a run that broke off counts as a failure of its own.

    pytest exits with 5 when it found no test, which is no failure here.
    """
    counts = Counts()
    if report.exists():
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            number = {key: int(suite.get(key, "0")) for key in
                      ("tests", "failures", "errors", "skipped")}
            failed = number["failures"] + number["errors"]
            counts += Counts(
                passed=max(number["tests"] - failed - number["skipped"], 0),
                failed=failed,
                skipped=number["skipped"],
            )
    if status not in (0, 5) and counts.failed == 0:
        counts += Counts(failed=1)
    return counts


def left_over() -> list[tuple[str, float, Counts]]:
    """Kill and report processes that outlived their part."""
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # It ended while we looked, or it is not ours to read.
            continue
        if f"{MARK}={os.environ[MARK]}".encode() in environment and int(folder.name) != os.getpid():
            found.append(f"{folder.name} {command}")
            with suppress(ProcessLookupError):
                os.kill(int(folder.name), signal.SIGKILL)
    for line in found:
        print(f"left running: {line}", flush=True)
    return [("nothing left", 0.0, Counts(passed=int(not found), failed=int(bool(found))))]


def prepare_machine(names: set[str]) -> None:
    """On CI, as root: install what the parts need. Elsewhere those tests are skipped."""
    if os.environ.get("CI") != "true" or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    missing = sorted({
        package
        for name in names & MACHINE_NEEDS.keys()
        for package, commands in MACHINE_NEEDS[name]
        if not any(shutil.which(command) for command in commands)
    })
    if not missing:
        return
    heading(f"installing {' '.join(missing)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", *missing]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


@contextmanager
def run_folder() -> Iterator[Path]:
    """A folder for everything temporary, gone afterwards. Others may pass through it."""
    os.environ[MARK] = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="rm-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o711)
        yield Path(folder)


def heading(name: str) -> None:
    """Say which part begins."""
    print(f"\n== {name}", flush=True)


def tally(total: Counts) -> None:
    """Leave the sum where `.ci/run` adds up its targets."""
    path = os.environ.get("ROOMMESH_TALLY")
    if path:
        with open(path, "a", encoding="ascii") as file:
            file.write(f"{total.passed} {total.failed} {total.skipped}\n")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if len(sys.argv) != 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"usage: python -m tests.parts {{{'|'.join(TARGETS)}}}")
    try:
        sys.exit(main(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(130)
