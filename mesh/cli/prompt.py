"""Asking the person at the terminal.

Nobody is asked where nobody can answer: without a terminal the command says that --yes is needed.
"""

import asyncio
import sys

import click

from mesh.cli.failure import Failed
from mesh.cli.terminal import Terminal

_YES = frozenset({"y", "yes"})


def confirm(terminal: Terminal, question: str) -> bool:
    """True for yes; the default is no.

    Raises:
        Failed: nobody can answer here.
    """
    _check_somebody(terminal)
    return click.confirm(question, default=False, err=True)


async def confirm_live(terminal: Terminal, question: str) -> bool:
    """The same while the node of this terminal runs on.

    The line is awaited and not read in a thread: Ctrl-C must end the node at once, and a thread
    that waits for a line cannot be ended.
    """
    _check_somebody(terminal)
    click.echo(f"{question} [y/N]: ", nl=False, err=True)
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        if not typed.done():
            typed.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin.fileno(), read)
    try:
        return (await typed).strip().lower() in _YES
    finally:
        loop.remove_reader(sys.stdin.fileno())


def _check_somebody(terminal: Terminal) -> None:
    if terminal.json or not sys.stdin.isatty():
        raise Failed("invalid_params", "Nobody can be asked here.", "Add --yes if you agree.")
