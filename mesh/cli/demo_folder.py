"""The demo's temporary folder, kept by a process of its own that removes it at the end.

    demo --+-- lifeline pipe --> each node: ends when the demo is gone
           +-- presence pipe --> keeper: removes the folder when the demo and all nodes are gone

The keeper (`python -m mesh.cli.demo_folder FD`) makes the folder, says where it is, and waits for
the end of the presence pipe, whose writing end the demo and every node hold. So there is one road
to a clean disk, taken at each end of a demo: by `q`, by Ctrl-C, by a fault, by `kill -9`. The
keeper has a session of its own; Ctrl-C in the terminal does not reach it.
"""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

from mesh.cli.failure import Failed

PREFIX: Final = "roommesh-demo-"
START_S: Final = 10.0
REMOVE_S: Final = 10.0


class DemoFolder:
    """`async with DemoFolder() as folder`: `path` is there until the block ends.

    Every process started inside is given `lifeline` (reading end) and `presence` (writing end) by
    `pass_fds`.
    """

    def __init__(self) -> None:
        self.path = Path()
        self.lifeline = self._lifeline_end = -1
        self.presence = self._presence_end = -1
        self._keeper: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "DemoFolder":
        """Make it. Raises Failed."""
        self.lifeline, self._lifeline_end = os.pipe()
        self._presence_end, self.presence = os.pipe()
        try:
            await self._start_keeper()
        except BaseException:
            self._close()
            if self._keeper is not None:
                await self._keeper.wait()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of it: nodes that are left end, then the keeper removes the folder."""
        assert self._keeper is not None
        self._close()
        with suppress(TimeoutError):
            async with asyncio.timeout(REMOVE_S):
                await self._keeper.wait()
        # Only where somebody killed the keeper, or a process inside does not end.
        assert self.path.name.startswith(PREFIX), self.path
        shutil.rmtree(self.path, ignore_errors=True)

    async def _start_keeper(self) -> None:
        command = [sys.executable, "-P", "-m", "mesh.cli.demo_folder", str(self._presence_end)]
        self._keeper = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=(self._presence_end,),
            start_new_session=True,
        )
        assert self._keeper.stdout is not None
        said = b""
        with suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                said = await self._keeper.stdout.readline()
        if not said:
            raise Failed(
                "storage_failed",
                f"No temporary folder could be made in {tempfile.gettempdir()}.",
                "Free some space there, or name another folder in TMPDIR.",
            )
        self.path = Path(os.fsdecode(said.rstrip(b"\n")))

    def _close(self) -> None:
        """Close all four ends, each once."""
        ends = (self.lifeline, self._lifeline_end, self.presence, self._presence_end)
        self.lifeline = self._lifeline_end = self.presence = self._presence_end = -1
        for end in ends:
            if end != -1:
                os.close(end)


def keep(presence_end: int) -> None:
    """The keeper: make the folder, say where, and remove it when everybody has gone."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder:
        sys.stdout.buffer.write(os.fsencode(folder) + b"\n")
        sys.stdout.buffer.flush()
        os.read(presence_end, 1)


if __name__ == "__main__":
    keep(int(sys.argv[1]))
