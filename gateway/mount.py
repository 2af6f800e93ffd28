"""The mount table: every profile of a node by name, and the one door through which turns go in.

Profiles come from a directory and are kept there. One whose file cannot be read is listed as
`failed` with the reason; it has no mount, and hinders no other profile. The table owns the tasks
of its mounts: leaving it ends every turn with a reason and closes every backend.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Self

from gateway.backend import Backend, Construct, Surroundings
from gateway.backends.constructors import BACKENDS
from gateway.errors import (
    ProfileError,
    ProfileInvalid,
    ProfileMissing,
    ProfilesFull,
    ProfileTaken,
)
from gateway.exchange import Failed, TurnRequest, Update
from gateway.limits import PROFILES_MAX
from gateway.mounted import Mount, MountStatus, ProbeResult, status_of
from gateway.profile import Catalog, Policy, ProfileConfig
from gateway.profile_files import ProfileFiles

__all__ = ["MountStatus", "MountTable", "ProbeResult"]


class MountTable:
    """All profiles of a node: `async with MountTable(directory, clock=now_ms) as mounts`."""

    def __init__(
        self,
        profiles_dir: Path,
        *,
        clock: Callable[[], int],
        environ: Mapping[str, str] = os.environ,
        fence: Callable[[], str] = lambda: secrets.token_hex(16),
        backends: Mapping[str, Construct] = BACKENDS,
    ) -> None:
        """`clock` gives wall milliseconds; `fence` a fresh text that nobody can guess."""
        self._files = ProfileFiles(profiles_dir)
        self._clock = clock
        self._environ = environ
        self._fence = fence
        self._backends = backends
        self._mounts: dict[str, Mount] = {}
        self._broken: dict[str, MountStatus] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        for name in self._files.names():
            self._load(name)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name in tuple(self._mounts):
            self._end(name, "the node is stopping")
        # The block's own exception goes on as it is, not wrapped into a group with nothing else.
        await self._group.__aexit__(None, None, None)

    def list(self) -> tuple[MountStatus, ...]:
        """How every profile stands, by name."""
        statuses = [*self._broken.values(), *(mount.status for mount in self._mounts.values())]
        return tuple(sorted(statuses, key=lambda status: status.name))

    def catalog(self, name: str) -> Catalog:
        """What the profile offers. Raises ProfileMissing when it is not mounted."""
        return self._mount(name).backend.catalog

    def policy(self, name: str) -> Policy:
        """What may change its behaviour. Raises ProfileMissing when it is not mounted."""
        return self._mount(name).backend.policy

    async def add(self, config: ProfileConfig) -> MountStatus:
        """Mount a new profile and store it. Raises ProfileError, and then nothing has changed."""
        if config.name in self._mounts or config.name in self._broken:
            raise ProfileTaken(config.name)
        if len(self._mounts) + len(self._broken) >= PROFILES_MAX:
            raise ProfilesFull(PROFILES_MAX)
        backend = self._construct(config)
        self._files.write(config)
        return self._attach(config, backend)

    async def remove(self, name: str) -> None:
        """Stop its turns, close it, delete its file and memory. Raises ProfileError."""
        if name not in self._broken:
            self._mount(name)
        await self._unmount(name, "the profile was removed")
        self._files.delete(name)
        self._broken.pop(name, None)

    async def reload(self, name: str) -> MountStatus:
        """Read its file again; an unchanged one goes on undisturbed. Raises ProfileMissing."""
        mounted = self._mounts.get(name)
        if mounted is not None and name in self._files.names():
            try:
                if self._files.read(name) == mounted.config:
                    return mounted.status
            except ProfileInvalid:
                pass  # _load below reads it again and lists what is wrong with it.
        await self._unmount(name, "the profile was changed")
        self._broken.pop(name, None)
        if name not in self._files.names():
            raise ProfileMissing(name)
        return self._load(name)

    async def test(self, name: str) -> ProbeResult:
        """Ask the agent whether it could answer now. Raises ProfileMissing."""
        broken = self._broken.get(name)
        if broken is not None:
            return ProbeResult(
                ok=False,
                reason=broken.reason,
                message=broken.message,
                next=broken.next,
                latency_ms=0,
            )
        return await self._mount(name).probe()

    async def run(self, request: TurnRequest) -> AsyncGenerator[Update, None]:
        """Answer `request`: updates, then exactly one `Final` or `Failed`.

        Read it inside `contextlib.aclosing`: closing it, or cancelling its reader, stops the
        agent at once. It raises nothing for an agent's sake.
        """
        broken = self._broken.get(request.profile)
        mount = self._mounts.get(request.profile)
        if broken is not None:
            yield Failed(reason=broken.reason, message=broken.message, next=broken.next)
        elif mount is None:
            yield Failed.because(ProfileMissing(request.profile))
        else:
            async with aclosing(mount.run(request)) as updates:
                async for update in updates:
                    yield update

    def _mount(self, name: str) -> Mount:
        mount = self._mounts.get(name)
        if mount is None:
            raise ProfileMissing(name)
        return mount

    def _load(self, name: str) -> MountStatus:
        """Mount the profile of an existing file, or list what is wrong with it."""
        config: ProfileConfig | None = None
        try:
            if len(self._mounts) >= PROFILES_MAX:
                raise ProfilesFull(PROFILES_MAX)
            config = self._files.read(name)
            return self._attach(config, self._construct(config))
        except ProfileError as error:
            config = config or _unread(name)
            status = status_of(config, Failed.because(error), "failed", self._clock())
            self._broken[name] = status
            return status

    def _construct(self, config: ProfileConfig) -> Backend:
        construct = self._backends.get(config.backend)
        if construct is None:
            raise ProfileInvalid("backend", f"must be one of {', '.join(sorted(self._backends))}")
        surroundings = Surroundings(
            folder=self._files.folder(config.name),
            environ=self._environ,
            clock=self._clock,
            fence=self._fence,
        )
        return construct(config, surroundings)

    def _attach(self, config: ProfileConfig, backend: Backend) -> MountStatus:
        assert config.name not in self._mounts, "a name is mounted once"
        mount = self._mounts[config.name] = Mount(config, backend, self._clock)
        self._serving[config.name] = self._group.create_task(mount.serve())
        return mount.status

    async def _unmount(self, name: str, why: str) -> None:
        """End the mount and wait until its backend is closed; nothing when there is none."""
        if name in self._mounts:
            await asyncio.wait([self._end(name, why)])

    def _end(self, name: str, why: str) -> asyncio.Task[None]:
        """Stop the mount's turns; the task returned closes its backend, in bounded time."""
        self._mounts.pop(name).stop(why)
        serving = self._serving.pop(name)
        serving.cancel()
        return serving


def _unread(name: str) -> ProfileConfig:
    """What can be said of a profile whose file cannot be read: the folder's name."""
    return ProfileConfig(name=name, backend="", display_name=name, description="", options=())
