"""A backend whose every step a test decides: what it yields, where it waits, how it breaks."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from types import TracebackType
from typing import Self

from gateway.backend import Surroundings
from gateway.exchange import Final, TurnRequest, Update
from gateway.profile import NO_TOOLS, Policy, ProfileConfig, text_catalog

Found = str | Exception | asyncio.Event
Step = Update | Exception | asyncio.Event


class PlainBackend:
    """Plays `steps` for each run: yields updates, raises exceptions, waits for events."""

    def __init__(self, steps: Sequence[Step] = (), found: Found = "it is there") -> None:
        self.steps: Sequence[Step] = steps or (Final(text="done"),)
        self.found: Found = found
        self.is_open = False
        self.breaks_on_entry: Exception | None = None
        self.breaks_on_close: Exception | None = None
        self.hangs_on_exit = False
        self.probed = asyncio.Semaphore(0)
        self.waiting = asyncio.Event()
        self.closed_runs = 0
        self.catalog = text_catalog("plain")
        self.policy = Policy(
            backend="plain",
            model="",
            endpoint="",
            system_prompt_sha256="",
            approval_mode=NO_TOOLS,
            settings=(),
        )

    async def __aenter__(self) -> Self:
        if self.breaks_on_entry is not None:
            raise self.breaks_on_entry
        self.is_open = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.is_open = False
        if self.hangs_on_exit:
            await asyncio.Event().wait()

    async def probe(self) -> str:
        """What the test decided that a probe finds."""
        assert self.is_open, "asked before it was open"
        self.probed.release()
        if isinstance(self.found, Exception):
            raise self.found
        if isinstance(self.found, asyncio.Event):
            await self.found.wait()
            return "at last"
        return self.found

    async def run(self, request: TurnRequest) -> AsyncGenerator[Update, None]:
        """The steps, one after the other."""
        assert self.is_open, "run before it was open"
        try:
            for step in self.steps:
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, asyncio.Event):
                    self.waiting.set()
                    await step.wait()
                else:
                    yield step
        finally:
            self.closed_runs += 1
            if self.breaks_on_close is not None:
                raise self.breaks_on_close

    def construct(self) -> Callable[[ProfileConfig, Surroundings], "PlainBackend"]:
        """The constructor that a table of backends holds: always this one."""
        return lambda config, surroundings: self
