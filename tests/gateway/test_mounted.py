"""One mount: its state follows what was last seen, and a closed one refuses with a reason."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway import mounted as mounted_module
from gateway.errors import BackendUnreachable
from gateway.exchange import Delta, Final, Update
from gateway.limits import RUNS_PER_MOUNT_MAX
from gateway.mounted import Mount
from gateway.profile import ProfileConfig
from tests.gateway.a_room import failed, final, request
from tests.gateway.plain_backend import PlainBackend

CONFIG = ProfileConfig.parse({"name": "plain", "backend": "plain"})
GONE = BackendUnreachable("http://127.0.0.1:1/v1", "refused")


class Ticks:
    """A wall clock that a test sets, in milliseconds."""

    now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


@asynccontextmanager
async def serving(mount: Mount) -> AsyncIterator[None]:
    """The mount, served by a task until the block ends."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(mount.serve())
        try:
            yield
        finally:
            task.cancel()


def state_of(mount: Mount) -> str:
    return mount.status.state


async def updates_of(mount: Mount) -> list[Update]:
    return [update async for update in mount.run(request("hello"))]


async def test_it_becomes_ready_by_itself_and_says_since_when() -> None:
    backend, clock = PlainBackend(), Ticks()
    mount = Mount(CONFIG, backend, clock)
    assert (mount.status.state, mount.status.since_ms) == ("starting", 1_000)
    clock.now_ms = 2_000
    async with serving(mount):
        result = await mount.probe()
        assert (result.ok, result.reason, result.message) == (True, "", "it is there")
        assert (mount.status.state, mount.status.since_ms) == ("ready", 2_000)
        clock.now_ms = 3_000
        await mount.probe()
        assert mount.status.since_ms == 2_000, "ready for as long as it has been ready"
    assert not backend.is_open


async def test_a_failing_agent_says_why_and_comes_back_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mounted_module, "MOUNT_RETRY_S_MIN", 0.01)
    backend = PlainBackend(found=GONE)
    mount = Mount(CONFIG, backend, Ticks())
    async with serving(mount):
        result = await mount.probe()
        assert not result.ok
        assert state_of(mount) == "failed"
        assert mount.status.reason == "backend_unreachable"
        assert mount.status.next == GONE.next
        backend.found = "back again"
        for _ in range(3):
            await backend.probed.acquire()
        assert state_of(mount) == "ready"


async def test_a_run_that_finds_the_agent_gone_is_seen_and_probed_again() -> None:
    backend = PlainBackend([GONE])
    mount = Mount(CONFIG, backend, Ticks())
    async with serving(mount):
        await backend.probed.acquire()
        backend.found = GONE
        assert failed(await updates_of(mount)).reason == "backend_unreachable"
        assert mount.status.state == "failed"
        await backend.probed.acquire()


async def test_a_failed_mount_still_tries_and_a_success_makes_it_ready() -> None:
    backend = PlainBackend(found=GONE)
    mount = Mount(CONFIG, backend, Ticks())
    async with serving(mount):
        await mount.probe()
        assert final(await updates_of(mount)) == "done"
        assert mount.status.state == "ready"


async def test_a_turns_own_failure_says_nothing_about_the_agent() -> None:
    mount = Mount(CONFIG, PlainBackend([ValueError("this turn")]), Ticks())
    async with serving(mount):
        await mount.probe()
        assert failed(await updates_of(mount)).reason == "backend_failed"
        assert mount.status.state == "ready"


async def test_a_probe_that_breaks_or_hangs_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = PlainBackend(found=ZeroDivisionError())
    mount = Mount(CONFIG, backend, Ticks())
    async with serving(mount):
        assert (await mount.probe()).reason == "backend_failed"
        monkeypatch.setattr(mounted_module, "PROBE_S_MAX", 0.01)
        backend.found = asyncio.Event()
        assert (await mount.probe()).reason == "timeout"


async def test_it_takes_so_many_turns_and_no_more() -> None:
    release = asyncio.Event()
    backend = PlainBackend([Delta(text="a"), release, Final(text="a")])
    mount = Mount(CONFIG, backend, Ticks())
    async with serving(mount):
        running = [mount.run(request("hello")) for _ in range(RUNS_PER_MOUNT_MAX)]
        for one in running:
            assert await anext(one) == Delta(text="a")
        assert failed(await updates_of(mount)).reason == "busy"
        release.set()
        for one in running:
            assert final([update async for update in one]) == "a"
        assert final(await updates_of(mount)) == "a"


async def test_stopping_ends_its_turns_and_refuses_new_ones() -> None:
    backend = PlainBackend([Delta(text="a"), asyncio.Event()])
    mount = Mount(CONFIG, backend, Ticks())
    async with serving(mount):
        one = mount.run(request("hello"))
        await anext(one)
        mount.stop("the profile was removed")
        assert "removed" in failed([update async for update in one]).message
        assert failed(await updates_of(mount)).reason == "backend_stopped"
        assert (await mount.probe()).reason == "backend_stopped"


async def test_a_backend_that_cannot_be_opened_is_failed_and_refuses() -> None:
    backend = PlainBackend()
    backend.breaks_on_entry = OSError("no room")
    mount = Mount(CONFIG, backend, Ticks())
    async with serving(mount):
        assert failed(await updates_of(mount)).reason == "backend_failed"
        assert mount.status.state == "failed"
        assert (await mount.probe()).reason == "backend_failed"


async def test_a_backend_that_hangs_while_closing_is_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mounted_module, "MOUNT_CLOSE_S_MAX", 0.01)
    backend = PlainBackend()
    backend.hangs_on_exit = True
    mount = Mount(CONFIG, backend, Ticks())
    async with serving(mount):
        await mount.probe()
    assert mount.status.state == "failed"


async def test_a_turn_that_comes_before_it_is_open_waits_for_it() -> None:
    mount = Mount(CONFIG, PlainBackend(), Ticks())
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(updates_of(mount))
        await asyncio.sleep(0)
        serve = group.create_task(mount.serve())
        assert final(await reading) == "done"
        serve.cancel()


async def test_a_turn_that_waits_for_a_mount_that_is_removed_is_told() -> None:
    mount = Mount(CONFIG, PlainBackend(), Ticks())
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(updates_of(mount))
        await asyncio.sleep(0)
        mount.stop("the profile was removed")
        assert failed(await reading).reason == "backend_stopped"
