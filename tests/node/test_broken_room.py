"""One broken room stops alone and is flagged; the others go on (situation 29)."""

import sqlite3
from pathlib import Path

import pytest

from mesh.client import RequestRejected
from mesh.stores import RoomChange
from tests.node.followed import eventually
from tests.node.nodes import Install, a_world


async def go_on(host: Install, guest: Install, rooms: list[str]) -> None:
    """In every one of these rooms both can speak, and hear each other."""
    for room_id in rooms:
        await guest.says(room_id, "still here")
        await host.says(room_id, "so am I")
        await guest.has_the_log_of(host, room_id)


async def is_flagged(install: Install, room_id: str) -> None:
    """The node says which room, and answers for it with a reason."""
    status = await eventually(
        install.sdk.node.status, lambda s: any(room_id in w for w in s["warnings"])
    )
    assert status["ready"], "the node itself works"
    for method in ("groups.state", "groups.log", "invitations.create"):
        with pytest.raises(RequestRejected, match="storage_failed") as refusal:
            await install.sdk.request(method, {"room_id": room_id})
        assert "has stopped" in refusal.value.message
    assert room_id not in [r["room_id"] for r in await install.sdk.rooms.list()]
    assert await install.status_of(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n") == 200


async def test_a_room_whose_handler_raises_stops_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten healthy rooms beside one whose store raises what no store may raise."""
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        healthy = [await host.founds(f"Room {n}") for n in range(10)]
        broken = await host.founds("Broken")
        for room_id in (*healthy, broken):
            await guest.joins(host, room_id)
        store = host.node.services.rooms._store
        apply = store.apply

        async def planted(change: RoomChange) -> None:
            if change.room_id == broken:
                raise ZeroDivisionError("planted")
            await apply(change)

        monkeypatch.setattr(store, "apply", planted)
        with pytest.raises(RequestRejected, match="storage_failed"):
            await host.sdk.rooms.send(broken, "who hears this?")
        await is_flagged(host, broken)
        # The copy is told, keeps what it has, and queues what is said.
        queued = await guest.sdk.rooms.send(broken, "anybody?", wait_ms=200)
        assert not queued["accepted"]
        await eventually(
            lambda: guest.sdk.rooms.state(broken),
            lambda state: state["authority"]["reason"] == "storage_failed",
        )
        await go_on(host, guest, healthy)
        assert "ZeroDivisionError" in host.log_text


async def test_a_room_whose_rows_are_damaged_does_not_open_and_hinders_nobody(
    tmp_path: Path,
) -> None:
    """The damage is found when the node starts, after an orderly stop."""
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        rooms = [await host.founds(f"Room {n}") for n in range(3)]
        for room_id in rooms:
            await guest.joins(host, room_id)
        broken, *healthy = rooms
        await host.says(broken, "before")
        await host.stop()
        database = sqlite3.connect(host.home / "mesh.db")
        with database:
            done = database.execute(
                "UPDATE events SET raw = zeroblob(length(raw)) WHERE place = 2 + (room << 40)"
                " AND room = (SELECT room FROM rooms WHERE room_id = ?)",
                (broken,),
            )
            assert done.rowcount == 1
        database.close()
        await host.start()
        await is_flagged(host, broken)
        await go_on(host, guest, healthy)
