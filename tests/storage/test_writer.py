"""The writing thread: order, one fsync for many, who is undone, and when it ends."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import pytest

from mesh.core.errors import MeshError, Refused, StorageFailed
from mesh.core.limits import GROUP_COMMIT_MAX, STORAGE_QUEUE_MAX, WAL_CHECKPOINT_COMMITS
from mesh.storage.database import Database

Job = Callable[[sqlite3.Connection], Any]


def put(name: str) -> Job:
    """A job that stores one setting."""
    return lambda connection: (
        connection.execute("INSERT INTO settings VALUES (?, ?)", (name, "")).rowcount
    )


def put_then(name: str, error: Exception) -> Job:
    """A job that fails after it has changed something."""

    def job(connection: sqlite3.Connection) -> NoReturn:
        put(name)(connection)
        raise error

    return job


def refuse(connection: sqlite3.Connection) -> NoReturn:
    raise Refused("conflict", "No.")


async def names(database: Database) -> list[str]:
    rows = await database.read(
        lambda connection: connection.execute("SELECT name FROM settings ORDER BY name").fetchall()
    )
    return [row[0] for row in rows]


class Gate:
    """A job that holds the writer until it is opened, so that others collect behind it."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def __call__(self, connection: sqlite3.Connection) -> None:
        self.entered.set()
        assert self.opened.wait(10)


async def hold(database: Database) -> tuple[Gate, asyncio.Future[None]]:
    """The writer, busy with a batch of its own."""
    gate = Gate()
    held = database.write(gate)
    await asyncio.to_thread(gate.entered.wait)
    return gate, held


async def outcome(done: asyncio.Future[Any]) -> Any:
    """What became of a job: its value or the error itself."""
    try:
        return await done
    except (MeshError, sqlite3.Error, AssertionError, KeyError) as error:
        return error


async def test_a_job_returns_its_value_after_the_commit(database: Database) -> None:
    assert await database.write(put("a")) == 1
    assert await names(database) == ["a"]


async def test_jobs_that_wait_share_one_commit_and_keep_their_order(database: Database) -> None:
    gate, held = await hold(database)
    before = database.statistics().writer
    order: list[int] = []
    jobs = [
        database.write(lambda _, n=n: order.append(n), events=2)  # type: ignore[misc]
        for n in range(40)
    ]
    assert database.statistics().writer.queue_length == 41
    gate.opened.set()
    await held
    for job in jobs:
        await job
    after = database.statistics().writer
    assert order == list(range(40))
    assert after.commits - before.commits == 2  # the held batch, and all the others
    assert after.events - before.events == 80
    assert after.jobs - before.jobs == 40
    assert after.queue_length == 0


async def test_a_batch_has_a_bound(database: Database) -> None:
    gate, held = await hold(database)
    before = database.statistics().writer.commits
    jobs = [database.write(put(f"{n:04}")) for n in range(GROUP_COMMIT_MAX + 1)]
    gate.opened.set()
    await held
    for job in jobs:
        await job
    assert database.statistics().writer.commits - before == 3


async def test_a_refusal_without_a_change_costs_the_others_nothing(database: Database) -> None:
    gate, _ = await hold(database)
    jobs = [database.write(put("a")), database.write(refuse), database.write(put("b"))]
    gate.opened.set()
    assert [type(await outcome(job)) for job in jobs] == [int, Refused, int]
    assert await names(database) == ["a", "b"]
    assert database.statistics().writer.rerun == 0
    assert database.statistics().writer.failed == 1


@pytest.mark.parametrize(
    "error", [Refused("conflict", "No."), AssertionError("wrong"), KeyError("wrong")]
)
async def test_a_job_that_fails_after_a_change_is_undone_alone(
    database: Database, error: Exception
) -> None:
    gate, _ = await hold(database)
    jobs = [
        database.write(put("a")),
        database.write(put_then("half", error)),
        database.write(put("a")),  # a constraint, by its own fault
        database.write(put("b")),
    ]
    gate.opened.set()
    found = [type(await outcome(job)) for job in jobs]
    assert found == [int, type(error), sqlite3.IntegrityError, int]
    assert await names(database) == ["a", "b"]
    assert database.statistics().writer.rerun == 1


async def test_neighbours_that_merge_are_written_together(database: Database) -> None:
    calls: list[list[str]] = []

    def merge(connection: sqlite3.Connection, items: Sequence[str]) -> None:
        calls.append(list(items))
        for item in items:
            put(item)(connection)

    gate, _ = await hold(database)
    first = [database.write_merged(merge, "a"), database.write_merged(merge, "b")]
    between = database.write(put("c"))
    second = [database.write_merged(merge, "d")]
    gate.opened.set()
    for job in (*first, between, *second):
        await job
    assert calls == [["a", "b"], ["d"]]
    assert await names(database) == ["a", "b", "c", "d"]


async def test_a_merge_that_is_refused_is_tried_for_each_item_alone(database: Database) -> None:
    def merge(connection: sqlite3.Connection, items: Sequence[str]) -> None:
        for item in items:
            if item == "bad":
                raise Refused("conflict", "No.")
            put(item)(connection)

    gate, _ = await hold(database)
    jobs = [database.write_merged(merge, item) for item in ("a", "bad", "b")]
    gate.opened.set()
    assert [type(await outcome(job)) for job in jobs] == [type(None), Refused, type(None)]
    assert await names(database) == ["a", "b"]


async def test_a_cancelled_waiter_undoes_nothing(database: Database) -> None:
    gate, _ = await hold(database)
    cancelled, other = database.write(put("a")), database.write(put("b"))
    cancelled.cancel()
    gate.opened.set()
    await other
    assert await names(database) == ["a", "b"]


async def test_a_full_queue_refuses_at_once(database: Database) -> None:
    gate, held = await hold(database)
    jobs = [database.write(lambda _: None) for _ in range(STORAGE_QUEUE_MAX - 1)]
    with pytest.raises(Refused) as refused:
        database.write(put("one too many"))
    assert refused.value.reason == "busy"
    gate.opened.set()
    await held
    await jobs[-1]
    assert await database.write(put("a")) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_dead_thread_acknowledges_nothing(database: Database) -> None:
    """Situation 150: whatever kills the writer, nobody is told that something was stored."""
    gate, held = await hold(database)
    jobs = [database.write(put("a")), database.write(put_then("b", MemoryError()))]
    jobs += [database.write(put(f"{n}")) for n in range(100)]
    gate.opened.set()
    await outcome(held)
    found = [await outcome(job) for job in jobs]
    assert all(isinstance(item, StorageFailed) for item in found)
    with pytest.raises(StorageFailed):
        database.write(put("late"))
    assert await names(database) == []


async def test_leaving_commits_what_is_queued(path: Any) -> None:
    async with Database(path) as database:
        gate, _ = await hold(database)
        jobs = [database.write(put("a")), database.write(put("b"))]
        gate.opened.set()
    assert [job.result() for job in jobs] == [1, 1]
    with pytest.raises(StorageFailed, match="closed"):
        database.write(put("c"))
    async with Database(path) as database:
        assert await names(database) == ["a", "b"]


async def test_the_log_is_moved_into_the_file_by_count_and_by_size(database: Database) -> None:
    start = database.statistics().writer.checkpoints
    await database.write(
        lambda connection: (
            connection.execute(
                "INSERT INTO settings VALUES ('big', printf('%.*c', 5000000, 'x'))"
            ).rowcount
        )
    )
    await database.write(put("a"))
    assert database.statistics().writer.checkpoints == start + 1
    for n in range(WAL_CHECKPOINT_COMMITS):
        await database.write(put(str(n)))
    await database.write(put("b"))
    assert database.statistics().writer.checkpoints == start + 2
