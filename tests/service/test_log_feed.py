"""Copies are fed in frames, from memory or the disk, and never faster than they acknowledge."""

from pathlib import Path

import pytest

from mesh.core.errors import StorageFailed
from mesh.core.limits import BATCH_BYTES_MAX, BATCH_EVENTS_MAX, EVENT_BYTES_MAX, FEED_BYTES_MAX
from mesh.core.link_messages import Append, Stored
from mesh.service import room_runner
from tests.service.installs import House, Install, a_house, eventually

LONG = "x" * 150_000


def size(message: Append) -> int:
    """What the events of a frame weigh."""
    return sum(len(event.raw) for event in message.events)


async def a_copy_that_was_away(house: House, *texts: str) -> tuple[Install, Install, str]:
    """A room in which these were said while the copy was away."""
    host, guest = await house.installs("desktop", "laptop")
    room_id = await host.founds("Den")
    await guest.joins(host, room_id)
    house.unplug(guest)
    for text in texts:
        await host.says(room_id, text)
    house.panel.sent.clear()
    return host, guest, room_id


@pytest.mark.parametrize("from_memory", [True, False])
async def test_small_events_share_frames(tmp_path: Path, from_memory: bool) -> None:
    async with a_house(tmp_path) as house:
        texts = [f"number {n}" for n in range(BATCH_EVENTS_MAX + 50)]
        host, guest, room_id = await a_copy_that_was_away(house, *texts)
        if not from_memory:
            host.room(room_id)._feed.forget()
        house.replug(guest)
        await guest.catches_up(host, room_id)
        assert await guest.texts(room_id) == texts
        frames = house.sent(guest, Append)
        assert [len(frame.events) for frame in frames] == [BATCH_EVENTS_MAX, 50]


@pytest.mark.parametrize("from_memory", [True, False])
async def test_long_events_are_fed_at_the_pace_of_the_copy(
    tmp_path: Path, from_memory: bool
) -> None:
    """A link's queue is never filled: what is not acknowledged stays below the bound."""
    async with a_house(tmp_path) as house:
        texts = [f"{n}{LONG}" for n in range(30)]
        host, guest, room_id = await a_copy_that_was_away(house, *texts)
        if not from_memory:
            host.room(room_id)._feed.forget()
        house.replug(guest)
        await guest.catches_up(host, room_id)
        assert await guest.texts(room_id) == texts
        in_flight = most = 0
        for _, to, message in house.panel.sent:
            if isinstance(message, Append) and to == guest.install_id:
                assert size(message) <= BATCH_BYTES_MAX
                in_flight += size(message)
                most = max(most, in_flight)
            elif isinstance(message, Stored):
                in_flight = 0
        assert FEED_BYTES_MAX / 2 < most <= FEED_BYTES_MAX + BATCH_BYTES_MAX + EVENT_BYTES_MAX


async def test_a_log_that_cannot_be_read_now_is_fed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await a_copy_that_was_away(house, "one", "two")
        runner = host.room(room_id)
        runner._feed.forget()
        read_wire, faults = runner._store.read_wire, [StorageFailed("storage_failed", "Not now.")]

        async def planted(*arguments: object) -> object:
            if faults:
                raise faults.pop()
            return await read_wire(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(runner._store, "read_wire", planted)
        monkeypatch.setattr(room_runner, "_RETRY_S", 0.01)
        house.replug(guest)  # and nothing else happens in the room
        await guest.catches_up(host, room_id)
        assert await guest.texts(room_id) == ["one", "two"]
        assert "room.feed" in host.log.events()


async def test_a_copy_whose_link_goes_asks_again(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        texts = [f"{n}{LONG}" for n in range(20)]
        host, guest, room_id = await a_copy_that_was_away(house, *texts)
        frames = 0

        def cuts_at_the_third(sender: str, to: str, message: object) -> bool:
            nonlocal frames
            frames += isinstance(message, Append)
            is_third = frames == 3 and isinstance(message, Append)
            if is_third:
                house.unplug(guest)
            return is_third

        house.panel.drops = cuts_at_the_third
        house.replug(guest)
        await eventually(lambda: frames == 3)
        house.replug(guest)
        await guest.catches_up(host, room_id)
        assert await guest.texts(room_id) == texts
