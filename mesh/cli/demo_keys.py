"""Single keys from the terminal, without Enter, while the demo goes on.

Only a terminal that is ours to read gives keys: a pipe, a file, or a job in the background has
none, and the demo says so. The terminal's own mode comes back at the end; Ctrl-C stays a signal.
"""

import asyncio
import os
import sys
import termios
import tty
from contextlib import suppress
from types import TracebackType
from typing import Any, Final

QUIT: Final = "q"
_KEYS_PER_READ: Final = 64


def has_keys() -> bool:
    """True where standard input is a terminal and we are in its foreground."""
    if not sys.stdin or not sys.stdin.isatty():
        return False
    # A background job that touched the terminal's mode would be stopped by the system.
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:  # a terminal that is not the one this process is controlled from
        return True


class Keys:
    """`with Keys(queue)`: each key pressed is put into the queue, as a string of one character."""

    def __init__(self, queue: asyncio.Queue[Any]) -> None:
        self._queue = queue
        self._terminal = -1
        self._mode: list[Any] = []

    def __enter__(self) -> "Keys":
        self._terminal = sys.stdin.fileno()
        self._mode = termios.tcgetattr(self._terminal)
        tty.setcbreak(self._terminal, termios.TCSADRAIN)
        asyncio.get_running_loop().add_reader(self._terminal, self._read)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.get_running_loop().remove_reader(self._terminal)
        # A terminal that was closed needs no mode any more. What was typed and not read yet is
        # not for the shell that comes after.
        with suppress(termios.error):
            termios.tcsetattr(self._terminal, termios.TCSAFLUSH, self._mode)

    def _read(self) -> None:
        try:
            pressed = os.read(self._terminal, _KEYS_PER_READ)
        except OSError:
            pressed = b""
        if not pressed:
            # The terminal is gone, and will be readable for ever.
            asyncio.get_running_loop().remove_reader(self._terminal)
            self._queue.put_nowait(QUIT)
        for key in pressed.decode("utf-8", "replace"):
            self._queue.put_nowait(key)
