"""Opening a database file: whom it lets in, what it checks, and how it is left behind."""

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mesh.core.errors import MeshError
from mesh.core.limits import STORAGE_SWITCH_S
from mesh.storage import migrate
from mesh.storage.database import Database
from mesh.storage.event_store import DiskEventStore
from mesh.storage.settings_store import DiskSettings
from tests.storage.logs import ROOM, log, room

PAGE_BYTES = 4096


async def refusal(path: Path) -> MeshError:
    """How opening that file is refused."""
    with pytest.raises(MeshError) as refused:
        async with Database(path):
            pass
    return refused.value


async def fill(path: Path) -> None:
    async with Database(path) as database:
        events = log(50, text="x" * 500)
        await DiskEventStore(database).create_room(room(events), events)


async def copy_of_a_killed(path: Path, to: Path) -> None:
    """The files as they would be if the process had been killed now."""
    async with Database(path) as database:
        await DiskSettings(database).put("name", "Ada")
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{to}{suffix}")


async def test_the_file_and_its_companions_are_the_owners_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        async with Database(path) as database:
            await DiskSettings(database).put("name", "Ada")
            files = sorted(path.parent.iterdir())
            assert [file.name for file in files] == ["node.db", "node.db-shm", "node.db-wal"]
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    finally:
        os.umask(before)
    assert [file.name for file in path.parent.iterdir()] == ["node.db"]


def give_away(path: Path) -> None:
    path.touch(mode=0o600)
    os.chown(path, 65534, 65534)


def forget_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def spoil_shared_memory(path: Path) -> None:
    Path(f"{path}-shm").write_bytes(b"\xa5" * 32768)


def content(path: Path) -> bytes:
    return path.read_bytes()


def others_may_read(path: Path) -> None:
    path.touch(mode=0o644)


def a_link(path: Path) -> None:
    (path.parent / "elsewhere").touch(mode=0o600)
    path.symlink_to(path.parent / "elsewhere")


def a_folder(path: Path) -> None:
    path.mkdir()


def no_home(path: Path) -> None:
    path.parent.rmdir()


def not_a_database(path: Path) -> None:
    path.touch(mode=0o600)
    path.write_bytes(b"not a database at all, but long enough to be looked at" * 100)


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (others_may_read, r"mode 644"),
        (a_link, "not a regular file"),
        (a_folder, "not a regular file"),
        (no_home, "could not be created: No such file"),
        (not_a_database, "not a database"),
    ],
)
async def test_a_file_that_cannot_be_trusted_is_refused(
    path: Path, prepare: Callable[[Path], None], message: str
) -> None:
    prepare(path)
    refused = await refusal(path)
    assert refused.reason == "storage_failed"
    assert message in refused.message
    assert refused.next


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away: run as root")
async def test_a_file_of_another_user_is_refused(path: Path) -> None:
    give_away(path)
    assert "another user" in (await refusal(path)).message


async def test_a_newer_schema_is_refused_and_left_alone(path: Path) -> None:
    await fill(path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {len(migrate.known()) + 1}")
    connection.close()
    before = content(path)
    refused = await refusal(path)
    assert refused.reason == "unsupported"
    assert "newer roommesh" in refused.message
    assert content(path) == before


async def test_the_writer_syncs_every_commit(database: Database) -> None:
    def settings(connection: sqlite3.Connection) -> dict[str, object]:
        wanted = ("journal_mode", "synchronous", "foreign_keys", "wal_autocheckpoint")
        return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted}

    assert await database.write(settings) == {
        "journal_mode": "wal",
        "synchronous": 2,  # FULL
        "foreign_keys": 1,
        "wal_autocheckpoint": 0,
    }


async def test_a_busy_loop_cannot_lock_out_the_writer(database: Database) -> None:
    assert sys.getswitchinterval() <= STORAGE_SWITCH_S * 1.01


async def test_an_orderly_close_is_remembered(path: Path) -> None:
    for _ in range(2):
        async with Database(path) as database:
            assert not database.was_unclean


async def test_a_kill_is_noticed_and_loses_nothing(path: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed.db"
    await copy_of_a_killed(path, killed)
    async with Database(killed) as database:
        assert database.was_unclean
        assert await DiskSettings(database).get("name") == "Ada"
    async with Database(killed) as database:
        assert not database.was_unclean


async def test_a_kill_is_noticed_without_the_log_too(path: Path, tmp_path: Path) -> None:
    """Attack 77: a deleted write-ahead log must not make the file look closed in order."""
    await fill(path)
    killed = tmp_path / "killed.db"
    await copy_of_a_killed(path, killed)
    forget_log(killed)
    async with Database(killed) as database:
        assert database.was_unclean


async def test_damage_is_found_after_an_unclean_stop(path: Path, tmp_path: Path) -> None:
    await fill(path)
    killed = tmp_path / "killed.db"
    await copy_of_a_killed(path, killed)
    whole = killed.read_bytes()
    found = 0
    # Every page in turn loses its header. Free pages and overflow pages have none to lose.
    for page in range(1, len(whole) // PAGE_BYTES):
        damaged = bytearray(whole)
        damaged[page * PAGE_BYTES : page * PAGE_BYTES + 16] = b"\xff" * 16
        killed.write_bytes(damaged)
        shutil.copy(killed, tmp_path / "one.db")
        os.chmod(tmp_path / "one.db", 0o600)
        try:
            async with Database(tmp_path / "one.db"):
                pass
        except MeshError as refused:
            assert refused.reason == "storage_failed"
            found += 1
    assert found == len(whole) // PAGE_BYTES - 1


async def test_a_truncated_file_is_found(path: Path, tmp_path: Path) -> None:
    await fill(path)
    killed = tmp_path / "killed.db"
    await copy_of_a_killed(path, killed)
    forget_log(killed)
    os.truncate(killed, killed.stat().st_size - 3 * PAGE_BYTES)
    assert (await refusal(killed)).reason == "storage_failed"


async def test_garbage_in_the_shared_memory_changes_nothing(path: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed.db"
    await copy_of_a_killed(path, killed)
    spoil_shared_memory(killed)
    async with Database(killed) as database:
        assert await DiskSettings(database).get("name") == "Ada"


async def test_a_forgotten_room_leaves_no_rows(database: Database) -> None:
    store = DiskEventStore(database)
    events = log(3)
    await store.create_room(room(events), events)
    await store.forget_room(ROOM)
    for table in ("rooms", "events", "outbox"):
        count = await database.read(
            lambda connection, table=table: connection.execute(  # type: ignore[misc]
                f"SELECT count(*) FROM {table}"
            ).fetchone()[0]
        )
        assert count == 0
