"""The mount table: mounts what is on disk, lists what is broken, answers what is asked."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from gateway import mount as mount_module
from gateway import mounted as mounted_module
from gateway.backend import Construct
from gateway.errors import (
    BackendUnreachable,
    ProfileInvalid,
    ProfileMissing,
    ProfilesFull,
    ProfileTaken,
)
from gateway.exchange import Delta, Final, Update
from gateway.mount import MountTable
from gateway.profile import ProfileConfig
from tests.gateway.a_room import failed, final, request, said
from tests.gateway.plain_backend import PlainBackend


def now_ms() -> int:
    return 1_800_000_000_000


def config(name: str = "echo", agent: str = "echo", **changes: Any) -> ProfileConfig:
    """A built-in agent in a hurry."""
    raw = {"name": name, "backend": "builtin", "options": {"agent": agent, "pace_ms": 0}}
    return ProfileConfig.parse(raw | changes)


def table(path: Path, backends: Mapping[str, Construct] | None = None) -> MountTable:
    """A table over `path`, with the real backends unless others are given."""
    if backends is None:
        return MountTable(path, clock=now_ms)
    return MountTable(path, clock=now_ms, backends=backends)


async def ask(
    mounts: MountTable, profile: str, text: str = "hello", **changes: Any
) -> list[Update]:
    asked = request(text, profile=profile, handle=profile, **changes)
    return [update async for update in mounts.run(asked)]


def folders(path: Path) -> list[str]:
    """The names of what lies under `path`."""
    return [found.name for found in path.iterdir()]


def by_hand(path: Path, name: str, content: str) -> None:
    """An operator writes a profile's file."""
    (path / name).mkdir(parents=True, exist_ok=True)
    (path / name / "profile.toml").write_text(content)


async def test_an_empty_node_has_no_profiles(tmp_path: Path) -> None:
    async with table(tmp_path / "none yet") as mounts:
        assert mounts.list() == ()
        assert failed(await ask(mounts, "echo")).reason == "not_found"
        with pytest.raises(ProfileMissing):
            mounts.catalog("echo")
        with pytest.raises(ProfileMissing):
            await mounts.test("echo")


async def test_adding_mounts_at_once_and_for_ever(tmp_path: Path) -> None:
    async with table(tmp_path) as mounts:
        status = await mounts.add(config(display_name="Echo", description="Repeats."))
        assert (status.name, status.backend, status.state) == ("echo", "builtin", "starting")
        assert final(await ask(mounts, "echo", "@echo hello there")) == "hello there"
        catalog = mounts.catalog("echo").to_json()
    async with table(tmp_path) as mounts:
        assert [status.name for status in mounts.list()] == ["echo"]
        assert mounts.list()[0].description == "Repeats."
        assert mounts.catalog("echo").to_json() == catalog
        assert mounts.policy("echo").model == "echo"
        assert final(await ask(mounts, "echo")) == "hello"
        assert (await mounts.test("echo")).ok
        assert mounts.list()[0].state == "ready"
        assert mounts.list()[0].since_ms == now_ms()


async def test_a_refused_addition_changes_nothing(tmp_path: Path) -> None:
    async with table(tmp_path) as mounts:
        await mounts.add(config())
        with pytest.raises(ProfileTaken):
            await mounts.add(config())
        with pytest.raises(ProfileInvalid, match="backend: must be one of builtin, openai"):
            await mounts.add(config("other", backend="magic"))
        with pytest.raises(ProfileInvalid, match=r"options\.agent"):
            await mounts.add(config("other", agent="magic"))
        assert [status.name for status in mounts.list()] == ["echo"]
    assert folders(tmp_path) == ["echo"]


async def test_a_node_holds_so_many_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mount_module, "PROFILES_MAX", 2)
    for name in ("a", "b", "c"):
        by_hand(tmp_path, name, config(name).to_toml())
    async with table(tmp_path) as mounts:
        assert [status.reason for status in mounts.list()] == ["", "", "too_large"]
        with pytest.raises(ProfilesFull):
            await mounts.add(config("d"))


async def test_a_broken_file_is_a_failed_profile_and_hinders_nobody(tmp_path: Path) -> None:
    by_hand(tmp_path, "echo", config().to_toml())
    by_hand(tmp_path, "torn", 'name = "to')
    by_hand(tmp_path, "magic", 'name = "magic"\nbackend = "magic"\ndisplay_name = "Magic"\n')
    by_hand(tmp_path, "Odd Name", config().to_toml())
    async with table(tmp_path) as mounts:
        broken = {status.name: status for status in mounts.list() if status.state == "failed"}
        assert sorted(broken) == ["Odd Name", "magic", "torn"]
        assert {status.reason for status in broken.values()} == {"invalid_params"}
        assert "is not TOML" in broken["torn"].message
        assert broken["magic"].display_name == "Magic"
        assert failed(await ask(mounts, "torn")).reason == "invalid_params"
        assert (await mounts.test("torn")).reason == "invalid_params"
        with pytest.raises(ProfileMissing):
            mounts.catalog("torn")
        with pytest.raises(ProfileTaken):
            await mounts.add(config("torn"))
        assert final(await ask(mounts, "echo")) == "hello"


async def test_removing_ends_its_turns_and_leaves_nothing(tmp_path: Path) -> None:
    backend = PlainBackend([Delta(text="a"), asyncio.Event()])
    async with table(tmp_path, {"plain": backend.construct()}) as mounts:
        await mounts.add(config("plain", backend="plain"))
        async with aclosing(mounts.run(request("hello", profile="plain"))) as updates:
            assert await anext(updates) == Delta(text="a")
            await mounts.remove("plain")
            assert not backend.is_open
            rest = [update async for update in updates]
        assert failed(rest).reason == "backend_stopped"
        assert mounts.list() == ()
        with pytest.raises(ProfileMissing):
            await mounts.remove("plain")
    assert folders(tmp_path) == []


async def test_a_broken_profile_can_be_removed(tmp_path: Path) -> None:
    by_hand(tmp_path, "torn", 'name = "to')
    by_hand(tmp_path, "Odd Name", "")
    async with table(tmp_path) as mounts:
        await mounts.remove("torn")
        await mounts.remove("Odd Name")
        assert mounts.list() == ()
    assert folders(tmp_path) == []


async def test_reloading_takes_what_the_operator_wrote(tmp_path: Path) -> None:
    async with table(tmp_path) as mounts:
        await mounts.add(config())
        by_hand(tmp_path, "echo", config(agent="guide").to_toml())
        assert (await mounts.reload("echo")).state == "starting"
        assert mounts.policy("echo").model == "guide"
        by_hand(tmp_path, "echo", "torn")
        assert (await mounts.reload("echo")).state == "failed"
        by_hand(tmp_path, "echo", config().to_toml())
        assert (await mounts.reload("echo")).state == "starting"
        assert final(await ask(mounts, "echo")) == "hello"
        by_hand(tmp_path, "fresh", config("fresh").to_toml())
        assert (await mounts.reload("fresh")).state == "starting"
        (tmp_path / "echo" / "profile.toml").unlink()
        with pytest.raises(ProfileMissing):
            await mounts.reload("echo")
        assert [status.name for status in mounts.list()] == ["fresh"]


async def test_reloading_an_unchanged_file_disturbs_no_turn(tmp_path: Path) -> None:
    release = asyncio.Event()
    backend = PlainBackend([Delta(text="a"), release, Final(text="a")])
    async with table(tmp_path, {"plain": backend.construct()}) as mounts:
        await mounts.add(config("plain", backend="plain"))
        async with aclosing(mounts.run(request("hello", profile="plain"))) as updates:
            await anext(updates)
            await mounts.reload("plain")
            release.set()
            assert final([update async for update in updates]) == "a"


async def test_a_changed_file_stops_the_turns_that_ran_under_the_old_one(tmp_path: Path) -> None:
    backend = PlainBackend([Delta(text="a"), asyncio.Event()])
    async with table(tmp_path, {"plain": backend.construct()}) as mounts:
        await mounts.add(config("plain", backend="plain"))
        async with aclosing(mounts.run(request("hello", profile="plain"))) as updates:
            await anext(updates)
            by_hand(tmp_path, "plain", config("plain", backend="plain", description="x").to_toml())
            await mounts.reload("plain")
            assert "was changed" in failed([update async for update in updates]).message


async def test_leaving_the_table_ends_every_turn_with_a_reason(tmp_path: Path) -> None:
    backend = PlainBackend([Delta(text="a"), asyncio.Event()])
    mounts = table(tmp_path, {"plain": backend.construct()})
    async with mounts:
        await mounts.add(config("plain", backend="plain"))
        updates = mounts.run(request("hello", profile="plain"))
        await anext(updates)
    assert not backend.is_open
    assert failed([update async for update in updates]).reason == "backend_stopped"
    assert failed(await ask(mounts, "plain")).reason == "not_found"


async def test_the_blocks_own_exception_is_not_wrapped(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with table(tmp_path) as mounts:
            await mounts.add(config())
            raise ZeroDivisionError


async def test_an_agent_that_comes_back_is_mounted_again_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounted_module, "MOUNT_RETRY_S_MIN", 0.01)
    backend = PlainBackend(found=BackendUnreachable("http://127.0.0.1:1/v1", "refused"))
    async with table(tmp_path, {"plain": backend.construct()}) as mounts:
        await mounts.add(config("plain", backend="plain"))
        assert not (await mounts.test("plain")).ok
        assert mounts.list()[0].reason == "backend_unreachable"
        backend.found = "back again"
        while mounts.list()[0].state != "ready":
            await backend.probed.acquire()
            await asyncio.sleep(0)


async def test_profiles_answer_side_by_side(tmp_path: Path) -> None:
    async with table(tmp_path) as mounts:
        for name in ("echo", "guide", "scribe"):
            await mounts.add(config(name, agent=name))
        async with asyncio.TaskGroup() as group:
            turns = [
                group.create_task(ask(mounts, name, f"@{name} who is here", room_id=f"r{number}"))
                for number in range(5)
                for name in ("echo", "guide", "scribe")
            ]
        for turn in turns:
            assert said(turn.result()) == final(turn.result())
