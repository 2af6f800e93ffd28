"""Keys come one by one, without Enter, and the terminal is left as it was."""

import asyncio
import os
import pty
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest

from mesh.cli.demo_keys import QUIT, Keys, has_keys


@contextmanager
def a_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[IO[bytes], int]]:
    """Both ends of a terminal; the inner one is standard input."""
    outer, inner = pty.openpty()
    with (
        os.fdopen(outer, "wb", buffering=0) as outside,
        os.fdopen(inner, "rb", buffering=0) as standard_input,
    ):
        monkeypatch.setattr("sys.stdin", standard_input)
        yield outside, inner


async def test_each_key_is_one_thing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    with a_terminal(monkeypatch) as (outside, inner):
        before = termios.tcgetattr(inner)
        with Keys(queue):
            outside.write(b"3r")
            assert [await queue.get(), await queue.get()] == ["3", "r"]
            assert termios.tcgetattr(inner) != before
        assert termios.tcgetattr(inner) == before


async def test_a_terminal_that_is_closed_ends_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    with a_terminal(monkeypatch) as (outside, _inner), Keys(queue):
        outside.close()
        assert await queue.get() == QUIT


def test_a_pipe_gives_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as standard_input:
        monkeypatch.setattr("sys.stdin", standard_input)
        assert not has_keys()
    os.close(writing)
