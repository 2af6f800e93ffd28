"""One demo for all tests that play with it; each test leaves it as it found it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.demo.played_demo import PlayedDemo


@pytest.fixture(scope="session")
def played() -> Iterator[PlayedDemo]:
    """A demo on a terminal of its own, its story told, waiting for keys. It is quit by `q`."""
    with PlayedDemo("demo", "--port", "0", on_terminal=True) as demo:
        demo.homes = Path(demo.seen(r"homes in (\S+), removed")[1])
        demo.seen(r"^Now$")
        yield demo
        demo.press("q")
        demo.seen("The three nodes are gone")
        assert demo.ended() == 0
        assert demo.mode_now() == demo.mode, "the terminal is left as it was found"
        demo.nothing_left(demo.homes)
