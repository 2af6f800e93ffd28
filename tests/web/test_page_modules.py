"""The pure parts of the page, by node's own test runner, and the size of its files.

The tests themselves are the `*.test.mjs` beside this file. They import the page's modules as
they are; nothing is built.
"""

import shutil
import subprocess
from typing import Final

import pytest

from tests.tidy.tree import ROOT, files

NODE_MISSING: Final = "needs node 20 or newer: apt-get install -y nodejs"
NODE_MAJOR_MIN: Final = 20
LINES_MAX: Final = 300


def node_major(node: str) -> int:
    """The major version of this node."""
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.removeprefix("v").partition(".")[0])


def test_the_pages_pure_parts() -> None:
    node = shutil.which("node")
    if node is None or node_major(node) < NODE_MAJOR_MIN:
        pytest.skip(NODE_MISSING)
    tests = sorted(str(path) for path in (ROOT / "tests/web").glob("*.test.mjs"))
    assert tests
    done = subprocess.run(
        [node, "--no-warnings", "--test", "--test-reporter=spec", *tests],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_modules_are_short_and_say_what_they_are() -> None:
    modules = files("mesh/web", suffixes=(".js",))
    assert modules
    assert [one.path for one in modules if one.text.count("\n") > LINES_MAX] == []
    assert [one.path for one in modules if not one.text.startswith("/**\n * ")] == []


def test_every_module_is_used() -> None:
    modules = files("mesh/web", suffixes=(".js",))
    every = "".join(one.text for one in files("mesh/web", suffixes=(".js", ".html")))
    unused = [one.path for one in modules if f'/{one.path.rpartition("/")[2]}"' not in every]
    assert unused == []
