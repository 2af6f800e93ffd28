"""A node as the operating system sees it: a process that is started, killed, frozen, restarted.

A `NodeProcess` keeps its home and its port over its life, as an install does. It is started by the
command that people type, and everything is asked of it through the SDK, by its `control.json`. A
prefix puts it somewhere else, for example into a network namespace (`ip netns exec NAME`); the
prefix must end by becoming the node, so that signals reach it.

Whoever makes one ends it: `async with` kills what is still running. Every wait has a deadline.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from mesh.client import Connection, Unreachable, connect
from mesh.client.control_file import read_control

START_S: Final = 30.0
STOP_S: Final = 15.0
_TAIL_CHARS: Final = 4_000


class NodeProcess:
    """One install's node. `start` takes turns with `kill` or `stop`."""

    def __init__(
        self,
        home: Path,
        name: str,
        *,
        person: str = "",
        port: int = 0,
        lan: bool = False,
        prefix: Sequence[str] = (),
        flags: Sequence[str] = ("--no-discovery",),
    ) -> None:
        """`person` is its operator (the name); `port` 0 takes a free one and keeps it."""
        self.home = home
        self.name = name
        self.person = person or name
        self.port = port
        self.install_id = ""
        self.boots = 0
        self._lan = lan
        self._prefix = tuple(prefix)
        self._flags = tuple(flags)
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.end()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.end()

    @property
    def is_running(self) -> bool:
        """True while the process lives."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        """The process's id; it must have been started."""
        assert self._process is not None, self.name
        return self._process.pid

    @property
    def is_frozen(self) -> bool:
        """True while the system has it stopped."""
        status = Path(f"/proc/{self.pid}/stat").read_text("ascii", "replace")
        return status.rpartition(")")[2].split()[0] == "T"

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU that the process has used; where it waits for others it uses none."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii", "replace").rpartition(")")[2]
        used = fields.split()[11:13]
        return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")

    @property
    def said(self) -> str:
        """The end of what its processes wrote to standard error: empty when all is well."""
        return self._errors.read_text("utf-8", "replace")[-_TAIL_CHARS:]

    @property
    def log_tail(self) -> str:
        """The end of its log, for the message of a test that fails."""
        path = self.home / "logs" / "node.log"
        return path.read_text("utf-8", "replace")[-_TAIL_CHARS:] if path.exists() else ""

    def logged(self, level: str) -> list[str]:
        """All lines of that level in its log, whichever of its processes wrote them."""
        mark = f'"level": "{level}"'
        files = sorted((self.home / "logs").iterdir())
        lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
        return [line for line in lines if mark in line]

    @property
    def _errors(self) -> Path:
        return self.home.with_name(f"{self.home.name}.stderr")

    # --- life ------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the node and wait until it says that it is ready.

        Raises AssertionError if it ends first, or is not ready within START_S.
        """
        await self.launch()
        await self.until_ready()

    async def launch(self) -> None:
        """Start the process, and wait for nothing."""
        assert not self.is_running, f"{self.name} runs already"
        # Debug mode is for the test's own loop; it makes a node several times slower.
        environment = {
            name: value
            for name, value in os.environ.items()
            if name != "PYTHONASYNCIODEBUG" and not _is_setting(name)
        }
        with self._appended_errors() as errors:
            self._process = await asyncio.create_subprocess_exec(
                *self._command(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=environment | {"USER": self.person},
            )

    async def until_ready(self) -> None:
        """Wait until the launched process says that it is ready. Raises as `start`."""
        assert self._process is not None and self._process.stdout is not None
        try:
            async with asyncio.timeout(START_S):
                first = await self._process.stdout.readline()
        except TimeoutError:
            cpu_s = self.cpu_s
            await self.end()
            raise AssertionError(
                f"{self.name} is not ready after {START_S:.0f} s, {cpu_s:.1f} s of CPU: "
                f"{self.said}{self.log_tail}"
            ) from None
        ready: dict[str, Any] = json.loads(first or b"{}")
        if not ready.get("ready"):
            await self._process.wait()
            raise AssertionError(f"{self.name} did not start: {first!r}{self.said}")
        self.port = int(ready["url"].rpartition(":")[2])
        self.install_id = ready["install_id"]
        assert read_control(self.home).pid == self.pid, "the prefix did not become the node"
        self.boots += 1

    async def kill(self) -> None:
        """`kill -9`, as when a machine loses its power."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> int:
        """SIGTERM; the node drains. Returns its exit status."""
        return await self._end(signal.SIGTERM)

    def freeze(self) -> None:
        """SIGSTOP: it is there and does nothing, as when a lid is closed."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT: it goes on as if nothing had been."""
        self._signal(signal.SIGCONT)

    async def restart(self) -> None:
        """Start it again, on the same home and port."""
        assert self.boots and self.port, f"{self.name} was never started"
        await self.start()

    async def end(self) -> None:
        """Kill it if it runs, whatever state it is in. For whoever cleans up."""
        if self.is_running:
            await self.kill()

    # --- what programs ask -----------------------------------------------------------------

    def connected(self) -> Connection:
        """An SDK connection to it, to be entered; it comes back by itself after a restart."""
        return connect(self.home)

    def is_announced(self) -> bool:
        """True while its `control.json` says that it runs."""
        try:
            return read_control(self.home).pid == self.pid
        except Unreachable:
            return False

    # --- the process -----------------------------------------------------------------------

    def _command(self) -> tuple[str, ...]:
        return (
            *self._prefix,
            *(sys.executable, "-m", "mesh.cli.main", "--home", str(self.home), "--json", "up"),
            *("--listen", f"127.0.0.1:{self.port}", "--name", self.name),
            *(("--lan",) if self._lan else ()),
            *self._flags,
        )

    def _appended_errors(self) -> IO[bytes]:
        return open(self._errors, "ab")

    def _signal(self, sign: signal.Signals) -> None:
        assert self._process is not None and self.is_running, f"{self.name} does not run"
        self._process.send_signal(sign)

    async def _end(self, sign: signal.Signals) -> int:
        self._signal(sign)
        assert self._process is not None
        try:
            async with asyncio.timeout(STOP_S):
                return await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
            raise AssertionError(f"{self.name} did not end: {self.log_tail}") from None


def _is_setting(name: str) -> bool:
    """Whether it would change the node; the mark of a test run must reach it."""
    return name.startswith("ROOMMESH_") and name != "ROOMMESH_TEST_RUN"
