"""Runs tests of permissions as somebody to whom permissions apply.

Root passes every file check, so a test that expects a refusal proves nothing under root. When
the run is root's, each test marked `unprivileged` is replaced by one that looks up its outcome
in a second run of the same file, made by uid 65534 through `setpriv`. The second run happens
once per file and worker. Where that user cannot reach this Python, the tests are skipped and
say so; they are never run as root instead.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

UID: Final = 65534
RERUN_TIMEOUT_S: Final = 120


class RerunFailed(AssertionError):
    """The test failed in the unprivileged run; carries that run's own words."""


class RerunItem(pytest.Item):
    """Stands for one marked test; its outcome is that of the unprivileged run."""

    def __init__(self, *, outcomes: "Outcomes", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._outcomes = outcomes

    def runtest(self) -> None:
        """Report the outcome of the second run. Raises RerunFailed, or skips as it did."""
        verdict, words = self._outcomes.of(self)
        if verdict == "skipped":
            pytest.skip(words)
        if verdict != "passed":
            raise RerunFailed(words)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the words of the second run instead of this stand-in's traceback."""
        if isinstance(excinfo.value, RerunFailed):
            return f"as uid {UID}:\n{excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the test stands, and its name."""
        return self.path, None, self.name


class Outcomes:
    """The outcomes of the second runs, by file, made when first asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._by_file: dict[Path, dict[str, tuple[str, str]]] = {}

    def of(self, item: RerunItem) -> tuple[str, str]:
        """The verdict on one test and the words that go with it."""
        if not can_run_as_nobody():
            return "skipped", f"uid {UID} cannot run {sys.executable}: use a Python outside a home"
        if item.path not in self._by_file:
            self._by_file[item.path] = rerun(item.path, self._root)
        outcomes = self._by_file[item.path]
        said = "\n".join(words for _, words in outcomes.values()) or "nothing"
        return outcomes.get(key_of(item.nodeid), ("failed", f"not in the report; it says: {said}"))


def replace_marked(items: list[pytest.Item], config: pytest.Config) -> None:
    """As root, put a stand-in in the place of each test marked `unprivileged`."""
    if os.geteuid() != 0:
        return
    outcomes = Outcomes(config.rootpath)
    for place, item in enumerate(items):
        if item.get_closest_marker("unprivileged") is None:
            continue
        assert item.parent is not None
        stand_in = RerunItem.from_parent(item.parent, name=item.name, outcomes=outcomes)
        stand_in.own_markers = list(item.own_markers)
        items[place] = stand_in


def key_of(nodeid: str) -> str:
    """The name that pytest's report gives to a test: dotted file, classes, test."""
    file, *rest = nodeid.split("::")
    return ".".join([file.removesuffix(".py").replace("/", "."), *rest])


def as_nobody(command: list[str]) -> list[str]:
    """The command, run by uid 65534 without groups."""
    return ["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups", *command]


def can_run_as_nobody() -> bool:
    """Whether that user can start this Python with our packages."""
    if shutil.which("setpriv") is None:
        return False
    done = subprocess.run(
        as_nobody([sys.executable, "-c", "import pytest, pytest_asyncio, nacl"]),
        cwd="/",
        capture_output=True,
    )
    return done.returncode == 0


def rerun(file: Path, root: Path) -> dict[str, tuple[str, str]]:
    """Run the marked tests of one file as uid 65534; verdict and words for each."""
    with private_folder() as folder:
        report = folder / "report.xml"
        done = subprocess.run(
            as_nobody([
                *(sys.executable, "-m", "pytest", "-q", "-m", "unprivileged", str(file)),
                *("-p", "no:cacheprovider", "-p", "no:xdist", f"--junitxml={report}"),
                f"--basetemp={folder / 'tmp'}",
            ]),
            cwd=root,
            env=os.environ
            | {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=RERUN_TIMEOUT_S,
        )
        if not report.exists():
            return {"": ("failed", f"{done.stdout}\n{done.stderr}")}
        return dict(read(report))


def read(report: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """The outcomes in a JUnit report, by `key_of`."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        verdict = ("passed", "")
        for tag in ("failure", "error", "skipped"):
            found = case.find(tag)
            if found is not None:
                is_skip = tag == "skipped"
                words = (found.get("message") if is_skip else found.text) or ""
                verdict = ("skipped" if is_skip else "failed", words)
        yield f"{case.get('classname')}.{case.get('name')}", verdict


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that belongs to that user alone."""
    with tempfile.TemporaryDirectory(prefix="rm-nobody-", ignore_cleanup_errors=True) as made:
        os.chown(made, UID, UID)
        yield Path(made)
