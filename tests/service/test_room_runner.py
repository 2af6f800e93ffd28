"""The driver of a room, over a real store: persist, then send, then show, then answer."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mesh.core import limits
from mesh.core.errors import MeshError, Refused, StorageFailed
from mesh.core.limits import TURN_OFFLINE_WAIT_MS
from mesh.core.link_messages import Append
from mesh.service import room_runner
from mesh.service.room_runner import RoomRunner
from mesh.stores import RoomChange
from tests.service.installs import House, Install, a_house, eventually, turns_of_the_loop

Apply = Callable[[RoomChange], Awaitable[None]]


class Disk:
    """The room's store, whose commits a test may hold up or refuse."""

    def __init__(self, patch: pytest.MonkeyPatch, runner: RoomRunner) -> None:
        self.failure: MeshError | None = None
        self.may_commit = asyncio.Event()
        self.may_commit.set()
        self.asked = 0
        self._apply = runner._store.apply
        patch.setattr(runner._store, "apply", self.apply)

    async def apply(self, change: RoomChange) -> None:
        """Commit, when and if the test lets it."""
        self.asked += 1
        await self.may_commit.wait()
        if self.failure is not None:
            raise self.failure
        await self._apply(change)


async def a_room(house: House) -> tuple[Install, Install, str]:
    """A room of two."""
    host, guest = await house.installs("desktop", "laptop")
    room_id = await host.founds("Den")
    await guest.joins(host, room_id)
    return host, guest, room_id


async def test_nothing_is_said_before_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither to the caller, nor to readers, nor to copies, nor to who waits for the state."""
    async with a_house(tmp_path) as house:
        host, guest, room_id = await a_room(house)
        disk = Disk(monkeypatch, host.room(room_id))
        reader = await host.follows(room_id, host.state(room_id).head.seq)
        disk.may_commit.clear()
        house.panel.sent.clear()
        async with asyncio.TaskGroup() as tasks:
            saying = tasks.create_task(host.says(room_id, "hello"))
            waiting = tasks.create_task(host.until(room_id, lambda state: state.head.seq >= 4))
            await eventually(lambda: disk.asked == 1)
            await turns_of_the_loop()
            assert not saying.done() and not waiting.done()
            assert not reader.seqs() and not house.sent(guest, Append)
            disk.may_commit.set()
        assert saying.result()["accepted"]
        await guest.catches_up(host, room_id)
        assert reader.seqs() == [4]


async def test_what_comes_together_shares_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")
        disk = Disk(monkeypatch, host.room(room_id))
        async with asyncio.TaskGroup() as tasks:
            for number in range(100):
                tasks.create_task(host.says(room_id, f"number {number}"))
        assert sorted(await host.texts(room_id)) == sorted(f"number {n}" for n in range(100))
        assert disk.asked <= 100 / 16


@pytest.mark.parametrize("reason", ["storage_full", "storage_failed"])
async def test_a_disk_that_refuses_takes_back_the_whole_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """Callers hear why, nobody else hears anything, and the next message gets the same seq."""
    async with a_house(tmp_path) as house:
        host, guest, room_id = await a_room(house)
        disk = Disk(monkeypatch, host.room(room_id))
        reader = await host.follows(room_id, 3)
        disk.failure = StorageFailed(reason, "No.")
        house.panel.sent.clear()
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(refused(host.says(room_id, f"{n}"))) for n in range(20)]
        assert {task.result().reason for task in asked} == {reason}
        assert not reader.seqs() and not house.sent(guest, Append)
        disk.failure = None
        assert (await host.says(room_id, "after"))["event"]["seq"] == 4
        await guest.catches_up(host, room_id)
        assert await guest.texts(room_id) == ["after"]
        assert host.room(room_id).machine.present_as(
            next(m for m in host.state(room_id).present() if m.install_id == guest.install_id)
        )[0] == "online", "who is there is not forgotten"


async def refused(asking: Awaitable[object]) -> MeshError:
    """What it was refused with."""
    with pytest.raises(MeshError) as refusal:
        await asking
    return refusal.value


async def test_what_others_sent_to_a_full_disk_is_taken_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link stays up, so nobody would send it again."""
    monkeypatch.setattr(room_runner, "_RETRY_S", 0.02)
    async with a_house(tmp_path) as house:
        host, guest, room_id = await a_room(house)
        disk = Disk(monkeypatch, host.room(room_id))
        disk.failure = StorageFailed("storage_full", "No.")
        waiting = await guest.rooms.send(room_id, "e", {"text": "from a copy"}, None, 0)
        assert not waiting["accepted"]
        await eventually(lambda: disk.asked >= 3)
        disk.failure = None
        await guest.until(room_id, lambda state: state.head.seq == 4)
        assert await guest.texts(room_id) == ["from a copy"]
        assert not guest.room(room_id).machine.copy.waiting()


async def test_a_copy_whose_disk_refuses_catches_up_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await a_room(house)
        disk = Disk(monkeypatch, guest.room(room_id))
        disk.failure = StorageFailed("storage_full", "No.")
        await host.says(room_id, "one")
        await eventually(lambda: disk.asked >= 1)
        assert (await guest.texts(room_id)) == []
        disk.failure = None
        await host.says(room_id, "two")
        await guest.catches_up(host, room_id)
        assert await guest.texts(room_id) == ["one", "two"]


async def test_a_room_that_has_too_much_to_do_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")
        disk = Disk(monkeypatch, host.room(room_id))
        monkeypatch.setattr(room_runner, "ROOM_INPUTS_MAX", 5)
        disk.may_commit.clear()
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(host.says(room_id, "first"))
            await eventually(lambda: disk.asked == 1)
            more = [tasks.create_task(host.says(room_id, f"{n}")) for n in range(5)]
            await turns_of_the_loop(3)
            assert (await refused(host.says(room_id, "too much"))).reason == "busy"
            disk.may_commit.set()
        assert first.result()["accepted"] and all(task.result()["accepted"] for task in more)


async def test_who_waits_for_a_room_that_stops_hears_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Now and later: a send, a discard, a wait for its state."""
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")
        runner = host.room(room_id)
        disk = Disk(monkeypatch, runner)
        disk.may_commit.clear()
        async with asyncio.TaskGroup() as tasks:
            saying = tasks.create_task(refused(host.says(room_id, "hello")))
            waiting = tasks.create_task(refused(runner.until(lambda state: False)))
            await eventually(lambda: disk.asked == 1)
            runner.end(Refused("storage_failed", "This room has stopped."))
        assert saying.result().reason == waiting.result().reason == "storage_failed"
        disk.may_commit.set()
        for asking in (
            host.says(room_id, "again"),
            runner.until(lambda state: True),
            runner.discard("0" * 64),
        ):
            assert (await refused(asking)).reason == "storage_failed"


async def test_a_turn_whose_machine_stays_away_ends_visibly(tmp_path: Path) -> None:
    """The one timer of a room: checked every few seconds while turns are open."""
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id, "echo")
        house.unplug(guest)
        await host.says(room_id, "@echo are you there?")
        runner = host.room(room_id)
        assert runner.machine.deadline() is not None
        host.clock.ahead_ms = TURN_OFFLINE_WAIT_MS + 1_000
        runner.machine._expiry_at_s = 0  # as if those seconds had passed
        runner._news.set()
        await host.until(room_id, lambda state: not state.open_turns())
        (ended,) = await host.events(room_id, "turn.failed")
        assert ended.payload["reason"] == "peer_offline"
        assert runner.machine.deadline() is None


async def test_queued_messages_of_any_length_go_out_when_the_host_is_back(tmp_path: Path) -> None:
    """In order, in frames that fit a link, and never more at once than its queue takes."""
    async with a_house(tmp_path) as house:
        host, guest, room_id = await a_room(house)
        house.unplug(host)
        texts = [f"{n}{'x' * 180_000}" for n in range(20)] + [f"short {n}" for n in range(20)]
        for number, text in enumerate(texts):
            await guest.rooms.send(room_id, f"e{number}", {"text": text}, None, 0)
        house.replug(host)
        await host.until(room_id, lambda state: state.head.seq == 3 + len(texts))
        assert await host.texts(room_id) == texts
        sizes = [
            sum(len(p.raw) for p in message.proposals)
            for _, to, message in house.panel.sent
            if to == host.install_id and hasattr(message, "proposals")
        ]
        assert max(sizes) < limits.LINK_FRAME_BYTES_MAX
