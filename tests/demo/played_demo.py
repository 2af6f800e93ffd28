"""A demo driven from outside: its command in a process, on a terminal of its own or on pipes.

Everything it starts carries a mark in its environment, so that a test can say that nothing is
left. What it says is collected as it comes, and waited for; nothing here looks inside of it.
"""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from select import select
from types import TracebackType
from typing import Any, Self

MARK = "DEMO_TEST_MARK"
SEEN_S = 45.0
END_S = 20.0
COLUMNS, LINES = 80, 50
# Takes the terminal at its standard input for its own, as a shell's job has it.
ON_TERMINAL = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
COMMAND = [sys.executable, "-m", "mesh.cli.main"]
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class PlayedDemo:
    """`with PlayedDemo("demo", "--port", "0") as demo`; killed at the end if it still runs."""

    def __init__(
        self,
        *arguments: str,
        on_terminal: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._arguments = arguments
        self._on_terminal = on_terminal
        self.mark = uuid.uuid4().hex
        self.homes = Path()
        """The folder of the three homes, where a fixture has found it out."""
        self._environment = {
            # Slow callbacks are looked for elsewhere; here the demo runs as people run it.
            **{k: v for k, v in os.environ.items() if k != "PYTHONASYNCIODEBUG"},
            "TERM": "xterm-256color",
            MARK: self.mark,
            **(environment or {}),
        }
        self._said = bytearray()
        self._news = threading.Condition()
        self._from = 0
        self._at_end = False

    def __enter__(self) -> Self:
        if self._on_terminal:
            self._terminal, inner = pty.openpty()
            termios.tcsetwinsize(inner, (LINES, COLUMNS))
            command = [sys.executable, "-c", ON_TERMINAL, *COMMAND, *self._arguments]
            self.mode = termios.tcgetattr(inner)
        else:
            self._terminal, inner = os.pipe()
            command = [*COMMAND, *self._arguments]
        self._inner = inner
        self.process = subprocess.Popen(
            command,
            stdin=inner if self._on_terminal else subprocess.DEVNULL,
            stdout=inner,
            stderr=inner,
            env=self._environment,
        )
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in self.alive():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.close(self._inner)
        self._thread.join()
        os.close(self._terminal)

    # --- what it says --------------------------------------------------------------------------

    @property
    def said(self) -> str:
        """All it has said, without colours."""
        with self._news:
            return _plain(bytes(self._said))

    def seen(self, pattern: str, within_s: float = SEEN_S) -> re.Match[str]:
        """Wait until it says that, after what was seen before."""
        deadline = time.monotonic() + within_s
        with self._news:
            while True:
                text = _plain(bytes(self._said))
                if found := re.compile(pattern, re.MULTILINE).search(text, self._from):
                    self._from = found.end()
                    return found
                left_s = deadline - time.monotonic()
                if left_s <= 0 or (self._at_end and self.process.poll() is not None):
                    raise AssertionError(f"it never said {pattern!r}:\n{text}")
                self._news.wait(left_s)

    def values(self) -> list[dict[str, Any]]:
        """What it said under --json."""
        return [json.loads(line) for line in self.said.splitlines()]

    def value(self, act: str) -> dict[str, Any]:
        """Wait for the value of that act under --json."""
        found: dict[str, Any] = json.loads(self.seen(rf'^\{{"act":"{act}".*\}}\r?$').group())
        return found

    # --- what is done to it --------------------------------------------------------------------

    def press(self, key: str) -> None:
        """A key on its terminal."""
        os.write(self._terminal, key.encode())

    def kill(self, pid: int) -> None:
        """`kill -9` one of its processes, and wait for its end."""
        descriptor = os.pidfd_open(pid)
        try:
            os.kill(pid, signal.SIGKILL)
            select([descriptor], [], [], END_S)
        finally:
            os.close(descriptor)

    def ended(self) -> int:
        """Wait for its end; its exit status."""
        status = self.process.wait(END_S)
        self._thread.join()  # its last words
        return status

    def mode_now(self) -> list[Any]:
        """The mode of its terminal."""
        return termios.tcgetattr(self._inner)

    # --- what is left of it --------------------------------------------------------------------

    def alive(self, word: str = "") -> list[int]:
        """The processes that it started and that run; with `word` in their command line."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes()
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # it ended while we looked
                continue
            if f"{MARK}={self.mark}".encode() in environment and word in command:
                found.append(int(folder.name))
        return found

    def nothing_left(self, folder: Path) -> None:
        """Wait until none of its processes runs, then look at the disk."""
        deadline = time.monotonic() + END_S
        for pid in self.alive():
            with suppress(ProcessLookupError):
                descriptor = os.pidfd_open(pid)
                try:
                    select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
                finally:
                    os.close(descriptor)
        left = self.alive()
        assert not left, f"still running: {left}"
        assert not folder.exists(), f"still on the disk: {list(folder.rglob('*'))[:10]}"

    def _read(self) -> None:
        while True:
            # The writing end is ours as well, so that its last words are never lost.
            ready, _, _ = select([self._terminal], [], [], 0.05)
            if ready:
                data = os.read(self._terminal, 1 << 16)
                with self._news:
                    self._said += data
                    self._news.notify_all()
            elif self.process.poll() is not None:
                with self._news:
                    self._at_end = True
                    self._news.notify_all()
                return


def _plain(said: bytes) -> str:
    return _ESCAPES.sub("", said.decode("utf-8", "replace")).replace("\r\n", "\n")
