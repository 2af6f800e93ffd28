"""One mount: a profile attached to this node, with its backend open and its state in plain sight.

A mount's life:

    starting --probe ok--> ready --a run finds the agent gone--> failed
        \\--probe fails--> failed --probe ok, or a run succeeds--> ready

A failed mount is probed again with growing pauses, so an agent that comes back is ready by itself.
A run is tried in any of these states: what was last seen is a hint, the agent's answer is the
truth. Only a mount that is closed refuses.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from gateway.backend import Backend
from gateway.barrier import FaultBarrier
from gateway.dispatch import Run
from gateway.errors import BackendStopped, MountBusy, TurnTimedOut
from gateway.exchange import Ending, Failed, Final, TurnRequest, Update
from gateway.limits import (
    MOUNT_CLOSE_S_MAX,
    MOUNT_RETRY_S_MAX,
    MOUNT_RETRY_S_MIN,
    PROBE_S_MAX,
    RUNS_PER_MOUNT_MAX,
)
from gateway.profile import ProfileConfig

MountState = Literal["starting", "ready", "failed"]

_GONE = frozenset({"backend_unreachable", "backend_unauthorized", "not_a_model"})
"""Endings that say something about the agent, and not about one turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountStatus:
    """How a profile stands. `reason`, `message` and `next` are "" unless it failed."""

    name: str
    backend: str
    display_name: str
    description: str
    state: MountState
    reason: str
    message: str
    next: str
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What asking an agent gave; `reason` and `next` are "" when all is well."""

    ok: bool
    reason: str
    message: str
    next: str
    latency_ms: int


class Mount:
    """One profile with its open backend. `serve` is its life, run by a task of the table."""

    def __init__(self, config: ProfileConfig, backend: Backend, clock: Callable[[], int]) -> None:
        self.config = config
        self.backend = backend
        self._clock = clock
        self._opened = asyncio.Event()
        self._wake = asyncio.Event()
        self._runs: set[Run] = set()
        self._closed: Failed | None = None
        self.status = status_of(config, None, "starting", clock())

    async def serve(self) -> None:
        """Keep the backend open and its state current, until cancelled."""
        barrier = FaultBarrier(self.config.name)
        with barrier:
            async with _kept_open(self.backend):
                self._opened.set()
                await self._watch()
        assert barrier.failed is not None, "watching ends by a fault or a cancellation only"
        self._closed = barrier.failed
        self._note(barrier.failed)
        self._opened.set()

    async def probe(self) -> ProbeResult:
        """Ask the agent, and take its answer as the mount's state."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        found = ""
        barrier = FaultBarrier(self.config.name)
        await self._opened.wait()
        if self._closed is None:
            with barrier:
                try:
                    async with asyncio.timeout(PROBE_S_MAX):
                        found = await self.backend.probe()
                except TimeoutError:
                    raise TurnTimedOut(PROBE_S_MAX) from None
        failed = self._closed or barrier.failed
        self._note(failed)
        return ProbeResult(
            ok=failed is None,
            reason=failed.reason if failed else "",
            message=failed.message if failed else found,
            next=failed.next if failed else "",
            latency_ms=round((loop.time() - started) * 1000),
        )

    async def run(self, request: TurnRequest) -> AsyncGenerator[Update, None]:
        """Answer `request`: the law of a run holds whatever the backend does."""
        await self._opened.wait()
        if self._closed is not None:
            yield self._closed
            return
        if len(self._runs) >= RUNS_PER_MOUNT_MAX:
            yield Failed.because(MountBusy(RUNS_PER_MOUNT_MAX))
            return
        run = Run(request)
        self._runs.add(run)
        try:
            async with aclosing(run.updates(self.backend)) as updates:
                async for update in updates:
                    if isinstance(update, Final | Failed):
                        self._learn(update)
                    yield update
        finally:
            self._runs.discard(run)

    def stop(self, why: str) -> None:
        """End all turns of this mount now, and refuse new ones; their rooms are told `why`."""
        stopped = BackendStopped(why)
        self._closed = Failed.because(stopped)
        self._opened.set()
        for run in self._runs:
            run.stop(stopped)

    async def _watch(self) -> None:
        pause_s = MOUNT_RETRY_S_MIN
        while True:
            self._wake.clear()
            result = await self.probe()
            if result.ok:
                pause_s = MOUNT_RETRY_S_MIN
            with suppress(TimeoutError):
                async with asyncio.timeout(None if result.ok else pause_s):
                    await self._wake.wait()
            pause_s = min(2 * pause_s, MOUNT_RETRY_S_MAX)

    def _learn(self, ending: Ending) -> None:
        """Take from a run's ending what it says about the agent."""
        if isinstance(ending, Final):
            self._note(None)
        elif ending.reason in _GONE and self.status.state == "ready":
            self._note(ending)
            self._wake.set()

    def _note(self, failed: Failed | None) -> None:
        fresh = status_of(self.config, failed, "failed" if failed else "ready", self._clock())
        # The same state for the same reason goes on since when it began.
        if (self.status.state, self.status.reason) != (fresh.state, fresh.reason):
            self.status = fresh


@asynccontextmanager
async def _kept_open(backend: Backend) -> AsyncIterator[None]:
    """The backend, open; closing it takes bounded time, or is a fault."""
    await backend.__aenter__()
    try:
        yield
    finally:
        async with asyncio.timeout(MOUNT_CLOSE_S_MAX):
            await backend.__aexit__(None, None, None)


def status_of(
    config: ProfileConfig, failed: Failed | None, state: MountState, now_ms: int
) -> MountStatus:
    """The status of a profile that is in `state` since `now_ms`, because of `failed`."""
    return MountStatus(
        name=config.name,
        backend=config.backend,
        display_name=config.display_name,
        description=config.description,
        state=state,
        reason=failed.reason if failed else "",
        message=failed.message if failed else "",
        next=failed.next if failed else "",
        since_ms=now_ms,
    )
