"""Asking the person, or saying that nobody can be asked."""

import asyncio
import os
import pty
from collections.abc import Iterator

import pytest

from mesh.cli.failure import Failed
from mesh.cli.prompt import confirm, confirm_live
from mesh.cli.terminal import Terminal

PERSON = Terminal(home=None, json=False)


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A terminal as standard input; what is written to it is typed."""
    master, slave = pty.openpty()
    with os.fdopen(slave) as typed:
        monkeypatch.setattr("sys.stdin", typed)
        yield master
    os.close(master)


def test_without_a_terminal_nobody_is_asked() -> None:
    with pytest.raises(Failed, match="Nobody can be asked") as failure:
        confirm(PERSON, "Join?")
    assert failure.value.next == "Add --yes if you agree."


def test_a_script_is_never_asked(keyboard: int) -> None:
    with pytest.raises(Failed):
        confirm(Terminal(home=None, json=True), "Join?")


@pytest.mark.parametrize(
    ("typed", "yes"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False)]
)
async def test_a_line_is_awaited_while_the_loop_runs_on(
    keyboard: int, typed: str, yes: bool
) -> None:
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(confirm_live(PERSON, "Join?"))
        await asyncio.sleep(0)
        assert not asked.done()
        os.write(keyboard, typed.encode())
    assert asked.result() is yes


async def test_an_interrupted_question_gives_the_keyboard_back(keyboard: int) -> None:
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(confirm_live(PERSON, "Join?"))
        await asyncio.sleep(0)
        asked.cancel()
    assert asked.cancelled()
    assert not asyncio.get_running_loop().remove_reader(0)
