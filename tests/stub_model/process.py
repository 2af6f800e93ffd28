"""The stub model server in its own process, for a test: `async with StubModel() as stub`."""

import asyncio
import json
import sys
from types import TracebackType
from typing import Any, Self

import aiohttp

START_S_MAX = 15
ANSWER_S_MAX = 10


class StubModel:
    """A running server: `url` ends in /v1; `last` and `abandoned` ask what happened there."""

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self._process: asyncio.subprocess.Process | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.stub_model.server",
            "--port",
            str(self._port),
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        async with asyncio.timeout(START_S_MAX):
            line = await self._process.stdout.readline()
        self.url = json.loads(line)["url"]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None, "left after it was entered"
        if self._process.returncode is None:
            self._process.kill()
        # Waits for the end of its output too, so that the pipe is closed with the loop running.
        await self._process.communicate()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rsplit(":", 1)[1].removesuffix("/v1"))

    async def last(self) -> Any:
        """The newest request: `{"body": ..., "headers": ...}`."""
        return await self._get("last")

    async def abandoned(self) -> None:
        """Wait until a client has left a stream before its end."""
        await self._get("abandoned")

    async def _get(self, what: str) -> Any:
        address = f"{self.url.removesuffix('/v1')}/stub/{what}"
        timeout = aiohttp.ClientTimeout(total=ANSWER_S_MAX)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(address) as response,
        ):
            return await response.json()
