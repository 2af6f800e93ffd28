"""kill -9, a failing fsync and a full disk: what was acknowledged is there, nothing else is said.

A kill keeps the page cache, so this is not a test of power loss.
"""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mesh.core.errors import MeshError, StorageFailed
from mesh.core.event import Event
from mesh.storage.database import Database
from mesh.storage.event_store import DiskEventStore
from mesh.storage.settings_store import DiskSettings
from tests.storage.appender import IN_FLIGHT
from tests.storage.logs import ROOM, change, log, room

KILLS = 20
ROOT = Path(__file__).resolve().parents[2]
APPENDER = (sys.executable, "-m", "tests.storage.appender")

has_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="needs strace: apt-get install -y strace"
)


async def stored(path: Path) -> tuple[Event, ...]:
    """The whole log, after its chain was checked."""
    async with Database(path) as database:
        store = DiskEventStore(database)
        assert await store.verify_chain(ROOM) is None
        events = await store.read(ROOM, 0, 1_000_000, 1 << 30)
        assert (await store.rooms())[0] == room(events)
        return events


def assert_all_there(acknowledged: dict[int, str], events: tuple[Event, ...]) -> None:
    found = {event.seq: event.hash for event in events}
    assert acknowledged
    assert {seq: found.get(seq) for seq in acknowledged} == acknowledged


def start(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*APPENDER, "kill", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def kill_once(appender: subprocess.Popen[str], draw: random.Random, said: dict[int, str]) -> str:
    """One child, killed at some moment; returns what it said about the log that it found."""
    assert appender.stdin and appender.stdout
    appender.stdin.write("go\n")
    appender.stdin.flush()
    pid = int(appender.stdout.readline().split()[1])
    opened, acks = "", 0
    # One child in four dies while it opens, the others after some acknowledgments.
    acks_wanted = 0 if draw.random() < 0.25 else draw.randrange(1, 60)
    while acks < acks_wanted:
        word, *rest = appender.stdout.readline().split()
        if word == "opened":
            opened = rest[0]
        else:
            said[int(rest[0])] = rest[1]
            acks += 1
    time.sleep(draw.uniform(0, 0.004))  # somewhere inside a commit
    os.kill(pid, signal.SIGKILL)
    while (line := appender.stdout.readline().split())[0] != "dead":
        if line[0] == "ack":
            said[int(line[1])] = line[2]
        elif line[0] == "opened":
            opened = line[1]
    return opened


async def test_kill_9_loses_nothing_that_was_acknowledged(path: Path) -> None:
    said: dict[int, str] = {}
    draw = random.Random(9)
    with start(path) as appender:
        for _ in range(KILLS):
            before = max(said, default=0)
            opened = kill_once(appender, draw, said)
            assert not opened or int(opened) >= before, opened
        assert appender.stdin
        appender.stdin.close()
    events = await stored(path)
    assert_all_there(said, events)
    # What was stored without an acknowledgment is at most what was in flight at each kill.
    assert len(events) - len(said) <= KILLS * IN_FLIGHT


def run_until_failure(
    path: Path, injection: list[str], text_chars: int, code: int = 0
) -> dict[str, list[list[str]]]:
    """What the appender said while some of its system calls failed, by first word."""
    trace = ["strace", "-f", "-qq", "-o", "/dev/null"]
    command = [*trace, *injection, *APPENDER, "fail", str(path), str(text_chars)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=15)
    assert done.returncode == code, done.stderr
    said: dict[str, list[list[str]]] = {}
    for line in done.stdout.splitlines():
        word, *rest = line.split()
        said.setdefault(word, []).append(rest)
    return said


async def prepare(path: Path) -> None:
    async with Database(path) as database:
        await DiskEventStore(database).create_room(room(), ())


@has_strace
@pytest.mark.parametrize(
    "only", ["-wal", ""], ids=["the log at a commit", "the main file at a checkpoint"]
)
async def test_one_failed_fsync_ends_writing_for_good(path: Path, only: str) -> None:
    """Attack 74: the next sync would succeed, and would say nothing about the lost pages."""
    await prepare(path)
    # Each fails once: the log somewhere in the middle, the main file at the first checkpoint
    # after the one at opening.
    when = 12 if only else 2
    syncs = ["-P", f"{path}{only}", "-e", "trace=fsync,fdatasync"]
    injection = [*syncs, "-e", f"inject=fsync,fdatasync:error=EIO:when={when}"]
    said = run_until_failure(path, injection, 20_000)
    assert said["failed"] == [["storage_failed"]] * IN_FLIGHT
    assert said["then"] == [["storage_failed"]]
    assert said["left"]
    acknowledged = {int(seq): digest for seq, digest in said["ack"]}
    assert int(said["read"][0][0]) >= len(acknowledged)
    async with Database(path) as database:
        assert database.was_unclean
    assert_all_there(acknowledged, await stored(path))


@has_strace
@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_kill_9_at_each_system_call_of_opening_and_committing(path: Path) -> None:
    """Attack 75. Each run goes on with what the one before left behind."""
    calls = "pwrite64,fsync,fdatasync,ftruncate,unlink"
    acknowledged: dict[int, str] = {}
    for when in range(1, 81):
        injection = ["-e", f"trace={calls}", "-e", f"inject={calls}:signal=KILL:when={when}"]
        said = run_until_failure(path, injection, 10, code=-signal.SIGKILL)
        before = max(acknowledged, default=0)
        assert all(int(head) >= before for (head,) in said.get("opened", []))
        acknowledged |= {int(seq): digest for seq, digest in said.get("ack", [])}
    assert_all_there(acknowledged, await stored(path))


@contextmanager
def small_disk(at: Path, size: str) -> Iterator[Path]:
    """A file system of that size; the test is skipped where none can be mounted."""
    at.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(at)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs root and the right to mount a tmpfs: run as root")
    try:
        yield at
    finally:
        subprocess.run(["umount", str(at)], check=True)


async def append_until_full(store: DiskEventStore) -> list[Event]:
    """Append with many in flight until the disk refuses; returns what was acknowledged."""
    acknowledged: list[Event] = []
    refused: list[str] = []

    async def one(event: Event) -> None:
        try:
            await store.apply(change(event))
        except MeshError as error:
            refused.append(error.reason)
        else:
            acknowledged.append(event)

    while not refused:
        last = acknowledged[-1] if acknowledged else None
        async with asyncio.TaskGroup() as group:
            for event in log(32, after=last, text="x" * 500):
                group.create_task(one(event))
    # What was written behind a refused event does not link to the head.
    assert refused[0] == "storage_full"
    assert set(refused) <= {"storage_full", "stale_epoch"}
    return acknowledged


async def test_a_full_disk_refuses_and_recovers(tmp_path: Path) -> None:
    """Situation 89, attack 73: nothing acknowledged is lost, reads go on, space brings it back."""
    with small_disk(tmp_path / "small", "1m") as disk:
        path, ballast = disk / "node.db", disk / "ballast"
        make_ballast(ballast)
        async with Database(path) as database:
            store = DiskEventStore(database)
            await store.create_room(room(), ())
            acknowledged = await append_until_full(store)
            assert database.statistics().is_full
            assert not database.statistics().has_failed
            assert await store.read(ROOM, 0, 10_000, 1 << 30) == tuple(acknowledged)
            with pytest.raises(StorageFailed, match="full"):
                await DiskSettings(database).put("name", "x" * 200_000)
            ballast.unlink()
            more = log(32, after=acknowledged[-1])
            await store.apply(change(*more))
            assert not database.statistics().is_full
        assert await stored(path) == (*acknowledged, *more)


async def test_a_disk_that_stays_full_loses_nothing_at_the_close(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "1m") as disk:
        path, ballast = disk / "node.db", disk / "ballast"
        make_ballast(ballast)
        async with Database(path) as database:
            store = DiskEventStore(database)
            await store.create_room(room(), ())
            acknowledged = await append_until_full(store)
        ballast.unlink()
        assert await stored(path) == tuple(acknowledged)


def make_ballast(path: Path) -> None:
    path.write_bytes(b"\0" * 400_000)
