"""The law of a run: some updates, exactly one ending, and a backend that is closed by then."""

import asyncio
from contextlib import aclosing

import pytest

from gateway.dispatch import Run
from gateway.errors import BackendCut, BackendStopped
from gateway.exchange import Activity, Delta, Failed, Final, Update
from gateway.limits import ACTIVITIES_PER_RUN_MAX, REPLY_BYTES_MAX
from tests.gateway.a_room import failed, final, request, said
from tests.gateway.plain_backend import PlainBackend, Step

FOREVER = asyncio.Event


async def run(*steps: Step, deadline_s: float = 10.0) -> tuple[list[Update], PlainBackend]:
    """All updates of a run over `steps`, and the backend that played them."""
    backend = PlainBackend(steps)
    async with backend:
        one = Run(request("hello", deadline_s=deadline_s))
        return [update async for update in one.updates(backend)], backend


async def test_updates_pass_and_the_answer_ends_it() -> None:
    tool = Activity(tool="look_up", text="a word", state="started")
    updates, _ = await run(Delta(text="a"), tool, Delta(text="b"), Final(text="ab"))
    assert updates == [Delta(text="a"), tool, Delta(text="b"), Final(text="ab")]


async def test_nothing_comes_after_the_ending_and_the_backend_is_closed_first() -> None:
    backend = PlainBackend([Final(text="done"), Delta(text="more"), Final(text="twice")])
    async with backend:
        async for update in Run(request("hello")).updates(backend):
            assert backend.closed_runs == 1, "closed before the ending is told"
            assert update == Final(text="done")


async def test_a_told_failure_passes() -> None:
    told = Failed(reason="backend_cut", message="cut.", next="Ask again.")
    updates, _ = await run(Delta(text="a"), told)
    assert updates == [Delta(text="a"), told]


async def test_a_raised_failure_is_told() -> None:
    updates, _ = await run(Delta(text="half"), BackendCut("half"))
    assert failed(updates).reason == "backend_cut"
    assert "half" in failed(updates).message


async def test_a_breakdown_is_a_failure_and_no_silence() -> None:
    updates, _ = await run(Delta(text="a"), KeyError("inside"))
    assert said(updates) == "a"
    assert failed(updates).reason == "backend_failed"


async def test_a_backend_that_stops_without_a_word_has_failed() -> None:
    updates, _ = await run(Delta(text="a"))
    assert failed(updates).reason == "backend_failed"
    assert "without an answer" in failed(updates).message


async def test_an_answer_stands_when_closing_breaks() -> None:
    backend = PlainBackend([Final(text="done")])
    backend.breaks_on_close = OSError("closing")
    async with backend:
        updates = [update async for update in Run(request("hello")).updates(backend)]
    assert final(updates) == "done"


async def test_the_deadline_ends_it() -> None:
    updates, backend = await run(Delta(text="a"), FOREVER(), deadline_s=0.05)
    assert failed(updates).reason == "timeout"
    assert "0.05 s" in failed(updates).message
    assert backend.closed_runs == 1


async def test_the_backends_own_time_out_is_its_own() -> None:
    updates, _ = await run(TimeoutError("mine"))
    assert failed(updates).reason == "backend_failed"


async def test_the_deadline_never_cancels_the_reader() -> None:
    backend = PlainBackend([Delta(text="a"), FOREVER()])
    updates: list[Update] = []
    async with backend:
        async for update in Run(request("hello", deadline_s=0.02)).updates(backend):
            updates.append(update)
            await asyncio.sleep(0.03)  # The reader works past the deadline, undisturbed.
    assert failed(updates).reason == "timeout"


async def test_stopping_from_another_task_ends_it_now() -> None:
    backend = PlainBackend([Delta(text="a"), FOREVER()])
    updates: list[Update] = []

    async def read(one: Run) -> None:
        updates.extend([update async for update in one.updates(backend)])

    async with backend, asyncio.TaskGroup() as group:
        one = Run(request("hello", deadline_s=3600))
        group.create_task(read(one))
        await backend.waiting.wait()
        one.stop(BackendStopped("it was withdrawn"))
        one.stop(BackendStopped("too late to matter"))
    assert failed(updates).reason == "backend_stopped"
    assert "withdrawn" in failed(updates).message


async def test_stopping_between_two_updates_ends_it_at_the_next() -> None:
    backend = PlainBackend([Delta(text="a"), Delta(text="b"), Final(text="ab")])
    updates: list[Update] = []
    async with backend:
        one = Run(request("hello"))
        async for update in one.updates(backend):
            updates.append(update)
            one.stop(BackendStopped("it was withdrawn"))
    assert said(updates) == "a"
    assert failed(updates).reason == "backend_stopped"


async def test_a_reader_that_leaves_closes_the_backend() -> None:
    backend = PlainBackend([Delta(text="a"), FOREVER()])
    async with backend, aclosing(Run(request("hello")).updates(backend)) as updates:
        assert await anext(updates) == Delta(text="a")
    assert backend.closed_runs == 1


async def test_cancelling_the_reader_closes_the_backend() -> None:
    backend = PlainBackend([FOREVER()])

    async def read() -> None:
        async for _ in Run(request("hello")).updates(backend):
            raise AssertionError("there is nothing to read")

    async with backend, asyncio.TaskGroup() as group:
        reading = group.create_task(read())
        await backend.waiting.wait()
        reading.cancel()
    assert reading.cancelled()
    assert backend.closed_runs == 1


@pytest.mark.parametrize(
    "steps",
    [
        [Delta(text="ä" * 512)] * (REPLY_BYTES_MAX // 1024 + 1),
        [Final(text="x" * (REPLY_BYTES_MAX + 1))],
        [Activity(tool="t", text="", state="started")] * (ACTIVITIES_PER_RUN_MAX + 1),
    ],
)
async def test_an_answer_without_end_is_refused(steps: list[Step]) -> None:
    updates, _ = await run(*steps, Final(text="x"))
    assert failed(updates).reason == "too_large"


async def test_an_answer_at_the_limit_is_an_answer() -> None:
    text = "x" * REPLY_BYTES_MAX
    updates, _ = await run(Delta(text=text), Final(text=text))
    assert final(updates) == text


async def test_an_activity_is_cut_to_what_a_line_can_show() -> None:
    updates, _ = await run(Activity(tool="t", text="x" * 5_000, state="started"), Final(text=""))
    assert isinstance(updates[0], Activity)
    assert len(updates[0].text) == 500
