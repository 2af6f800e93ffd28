"""The demo's machines: real nodes, each a process with a home of its own, to unplug and replug.

Unplugging is `kill -9`: nothing is told to anybody, as when a lid closes or a cable is pulled.
Replugging starts a new process on the same home and the same port. The demo speaks to its nodes
as any program does, through the SDK and `control.json`; it reads none of their files otherwise,
but for the reason when one does not start.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from typing import IO, Final

from mesh.cli.demo_folder import DemoFolder
from mesh.cli.failure import Failed
from mesh.client import ClientError, Connection, Unreachable, connect
from mesh.client.control_file import read_control
from mesh.config import ENVIRONMENT, SETTINGS

LOOPBACK: Final = "127.0.0.1"
START_S: Final = 30.0
LOOK_EVERY_S: Final = 0.03
PORTS_MAX: Final = 200
"""How far above the first port the demo looks for free ones."""


class DemoNode:
    """One machine. `start` and `unplug` take turns; both belong to the task that made it.

    `person` is what its operator is called in the room; `home` is where everything of it lies.
    """

    def __init__(self, name: str, person: str, *, folder: DemoFolder, port: int) -> None:
        """`port` 0 takes any free one at the first start, and keeps it."""
        self.name = name
        self.person = person
        self.home = folder.path / name
        self.port = port
        self.install_id = ""
        self.went_up = asyncio.Event()
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._stack = AsyncExitStack()
        self._connection: Connection | None = None

    @property
    def is_up(self) -> bool:
        """True between `start` and `unplug`, unless the process ended by itself."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None, self.name
        return self._process.pid

    @property
    def url(self) -> str:
        """Where its page is."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def sdk(self) -> Connection:
        """The connection to it. Raises Unreachable while it is unplugged."""
        if self._connection is None:
            raise Unreachable(f"{self.name} is unplugged.", next="Plug it in again.")
        return self._connection

    async def start(self) -> float:
        """Start it, or start it again; returns how long that took, in seconds.

        Raises Failed where it does not come up.
        """
        began_s = asyncio.get_running_loop().time()
        try:
            await self.launch()
            await self.meet()
        except Failed:
            await self.unplug()
            raise
        return asyncio.get_running_loop().time() - began_s

    async def launch(self) -> None:
        """The process alone, until it answers. Raises Failed."""
        assert not self.is_up, self.name
        # Output goes to a file: nobody needs it while all is well.
        with self._output_file() as output:
            self._process = await asyncio.create_subprocess_exec(
                *self._command(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment(os.environ, self.person),
                pass_fds=(self._folder.lifeline, self._folder.presence),
                # Ctrl-C in the terminal is for the demo, which ends its nodes itself.
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(START_S):
                await self._until_ready()
        except TimeoutError:
            raise self._failure(f"did not start within {START_S:g} s") from None

    async def meet(self) -> None:
        """Connect to it. Belongs to the task that will unplug it. Raises Failed."""
        try:
            self._connection = await self._stack.enter_async_context(connect(self.home))
            self.install_id = (await self._connection.node.info())["install_id"]
        except ClientError as error:
            raise self._failure(f"started and does not answer: {error.message}") from None
        self.went_up.set()

    async def unplug(self) -> None:
        """Kill it, without a word. Does nothing to one that is gone."""
        self.went_up.clear()
        if self._process is not None:
            if self._process.returncode is None:
                os.kill(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        self._connection = None
        await self._stack.aclose()

    async def ended(self) -> None:
        """Wait until the process that runs now is gone, by whosever doing."""
        assert self._process is not None, self.name
        await self._process.wait()

    async def login_link(self) -> str:
        """A one-time link to its page."""
        return str((await self.sdk.node.login_link())["link"])

    @property
    def _output(self) -> Path:
        return self._folder.path / f"{self.name}.output"

    def _output_file(self) -> IO[bytes]:
        return open(self._output, "ab")

    def _command(self) -> list[str]:
        up = ["up", "--listen", f"{LOOPBACK}:{self.port}", "--name", self.name, "--no-discovery"]
        lifeline = str(self._folder.lifeline)
        # -P: a folder named mesh, where the demo was called, is not ours to run.
        command = [sys.executable, "-P", "-m", "mesh.cli.demo_child", lifeline]
        return [*command, "--home", str(self.home), *up]

    async def _until_ready(self) -> None:
        """Until control.json is this process's: an unplugged one leaves its own behind."""
        assert self._process is not None
        while True:
            if self._process.returncode is not None:
                raise self._failure(f"ended with status {self._process.returncode}")
            try:
                control = read_control(self.home)
            except Unreachable:
                control = None
            if control is not None and control.pid == self._process.pid:
                self.port = int(control.url.rpartition(":")[2])
                return
            await asyncio.sleep(LOOK_EVERY_S)

    def _failure(self, what: str) -> Failed:
        said = self._output.read_text("utf-8", "replace").strip().splitlines()
        taken = any("port_taken" in line for line in said)
        return Failed(
            "port_taken" if taken else "internal",
            f"The node {self.name} {what}. It said: {' / '.join(said[-4:]) or 'nothing'}",
            "Run it again with another --port." if taken else "Run `roommesh up` to see more.",
        )


def environment(environ: Mapping[str, str], person: str) -> dict[str, str]:
    """What a node of the demo is started with: none of the user's own settings, and a name."""
    ours = {"HOME", *(setting.variable.removeprefix(ENVIRONMENT) for setting in SETTINGS)}
    kept = {
        name: value
        for name, value in environ.items()
        if name.removeprefix(ENVIRONMENT).removesuffix("_FILE") not in ours
        or not name.startswith(ENVIRONMENT)
    }
    return kept | {"USER": person, "LOGNAME": person, "PYTHONUNBUFFERED": "1"}


def free_ports(first: int, count: int) -> list[int]:
    """`count` ports from `first` on that nobody listens at; all 0 for `first` 0.

    Raises Failed where there are not enough.
    """
    if first == 0:
        return [0] * count
    free = (port for port in range(first, min(first + PORTS_MAX, 65_536)) if _is_free(port))
    found = list(islice(free, count))
    if len(found) < count:
        raise Failed(
            "port_taken",
            f"There are no {count} free ports from {first} on.",
            "Name another one with --port, or 0 for any.",
        )
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        # As the node will: a connection that has just ended is no reason to avoid a port.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
