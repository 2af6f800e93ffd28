"""The stub model server in its own process, for tests: `with StubModel() as stub`.

Starting takes half a second, so a fixture may keep one for a whole module.
"""

import json
import subprocess
import sys
from types import TracebackType
from typing import Any, Self

import aiohttp

ANSWER_S_MAX = 10


class StubModel:
    """A running server: `url` ends in /v1; `last` and `abandoned` ask what happened there."""

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.stub_model.server", "--port", str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        # A server that dies before it says where it is ends this line at once.
        self.url = json.loads(self._process.stdout.readline())["url"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None, "left after it was entered"
        self._process.kill()
        self._process.communicate()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rsplit(":", 1)[1].removesuffix("/v1"))

    async def last(self) -> Any:
        """The newest request: `{"body": ..., "headers": ...}`."""
        return await self._get("last")

    async def abandoned(self, model: str) -> None:
        """Wait until one more client has left a stream of `model` before its end."""
        await self._get(f"abandoned/{model}")

    async def _get(self, what: str) -> Any:
        address = f"{self.url.removesuffix('/v1')}/stub/{what}"
        timeout = aiohttp.ClientTimeout(total=ANSWER_S_MAX)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(address) as response,
        ):
            return await response.json()
