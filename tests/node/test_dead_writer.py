"""Nothing is acknowledged before it is on the disk, and nothing at all once the disk is lost.

Situation 150: the writer is blocked, killed, or refused by its disk, while a hundred messages
are sent.
"""

import asyncio
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mesh.client import RequestRejected
from tests.node.followed import eventually
from tests.node.nodes import Install, a_world

SENDS = 100


async def send_all(install: Install, room_id: str) -> list[dict[str, Any] | RequestRejected]:
    """A hundred sends at once; an answer or a refusal for each."""

    async def one(number: int) -> dict[str, Any] | RequestRejected:
        try:
            return await install.sdk.rooms.send(room_id, f"number {number}", event_id=f"e{number}")
        except RequestRejected as refusal:
            return refusal

    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(one(number)) for number in range(SENDS)]
    return [task.result() for task in asked]


async def readiness(install: Install) -> tuple[int, dict[str, Any]]:
    """Status and body of /readyz."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{install.url}/readyz") as response,
    ):
        return response.status, await response.json()


async def test_a_blocked_writer_acknowledges_nothing(tmp_path: Path) -> None:
    """All hundred wait while the disk does; then all are accepted, in order, once."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        seen = host.follows(room_id)
        await seen.until(lambda s: len(s.events) == 1)
        go_on = threading.Event()
        held = host.node._database.write(lambda connection: go_on.wait(15))
        sending = world.tasks.create_task(send_all(host, room_id))
        room = host.node.services.rooms.get(room_id)

        async def stepped() -> int:
            return room.machine.state.head.seq

        # The machine has ordered some of them, so nothing but the disk holds them up.
        await eventually(stepped, lambda seq: seq > 1)
        assert not sending.done() and len(seen.events) == 1
        asked = {"jsonrpc": "2.0", "id": 1, "method": "groups.log", "params": {"room_id": room_id}}
        shown = (await host.posts(json.dumps(asked).encode()))["result"]
        assert shown["latest_seq"] == len(shown["events"]) == 1
        go_on.set()
        assert await held
        answers = await sending
        assert all(isinstance(a, dict) and a["accepted"] for a in answers)
        await seen.until(lambda s: len(s.events) == 1 + SENDS)
        assert len({e["event_id"] for e in await host.log(room_id)}) == 1 + SENDS


def io_error(connection: sqlite3.Connection) -> None:
    """What SQLite raises when the disk does."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
    error.sqlite_errorname = "SQLITE_IOERR_FSYNC"
    raise error


def fault_of_ours(connection: sqlite3.Connection) -> None:
    """What ends the thread itself."""
    raise SystemError("planted")


@pytest.mark.parametrize("planted", [io_error, fault_of_ours])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_dead_writer_acknowledges_nothing_and_the_node_says_so(
    tmp_path: Path, planted: Any
) -> None:
    """A hundred sends, a hundred refusals; not ready; what was acknowledged before is there."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        await host.says(room_id, "before")
        assert (await readiness(host))[0] == 200
        with pytest.raises(Exception, match=r"disk I/O|closed|planted"):
            await host.node._database.write(planted)
        answers = await send_all(host, room_id)
        assert {a.reason for a in answers if isinstance(a, RequestRejected)} == {"storage_failed"}
        assert not [a for a in answers if isinstance(a, dict)]
        status, body = await readiness(host)
        assert status == 503 and not body["ready"]
        assert any("storage_failed" in problem for problem in body["problems"])
        assert not (await host.sdk.node.status())["ready"]
        # Reading goes on, the process lives, and nothing of the hundred is shown.
        assert [e["payload"]["text"] for e in (await host.log(room_id))[1:]] == ["before"]
        with pytest.raises(RequestRejected, match="storage_failed"):
            await host.founds("Another")
        await host.stop()
        await host.start()
        assert [e["payload"]["text"] for e in (await host.log(room_id))[1:]] == ["before"]
        await host.says(room_id, "after")


async def test_a_full_disk_refuses_and_recovers_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a copy forwarded meanwhile is neither lost nor acknowledged; it comes in later."""
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        database = host.node._database

        def full(connection: sqlite3.Connection) -> None:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            error.sqlite_errorname = "SQLITE_FULL"
            raise error

        merged = database.write_merged
        with monkeypatch.context() as planted:
            planted.setattr(database, "write_merged", lambda *a, **k: database.write(full))
            with pytest.raises(RequestRejected, match="storage_full"):
                await host.sdk.rooms.send(room_id, "no room for this")
            waiting = await guest.sdk.rooms.send(room_id, "later", event_id="late", wait_ms=300)
            assert not waiting["accepted"]
        assert database.write_merged == merged
        seen = guest.follows(room_id)
        await seen.until(lambda s: s.texts == ["later"])
        await guest.says(room_id, "at once")
        await guest.has_the_log_of(host, room_id)
