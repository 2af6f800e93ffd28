"""A node process lives and dies as the tests that stand on it believe."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from mesh.client import Unreachable
from tests.processes.node_process import NodeProcess


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NodeProcess]:
    async with NodeProcess(tmp_path / "home", "laptop") as process:
        yield process


async def test_a_killed_node_comes_back_where_it_was(node: NodeProcess) -> None:
    port, install_id, pid = node.port, node.install_id, node.pid
    async with node.connected() as connection:
        room_id = (await connection.rooms.create("Den"))["room_id"]
        await node.kill()
        assert not node.is_running
        await node.restart()
        assert (node.port, node.install_id) == (port, install_id)
        assert node.pid != pid
        # The same connection finds the new process.
        assert [room["room_id"] for room in await connection.rooms.list()] == [room_id]
    assert not node.said


async def test_a_node_that_is_asked_to_end_drains(node: NodeProcess) -> None:
    assert node.is_announced()
    assert await node.stop() == 0
    assert not node.is_announced()
    with pytest.raises(Unreachable):
        await node.connected().__aenter__()
    assert not node.said


async def is_stopped(node: NodeProcess) -> None:
    """Wait until the system has stopped it: a signal is delivered when its time comes."""
    async with asyncio.timeout(5.0):
        while True:
            if node.is_frozen:
                return
            await asyncio.sleep(0.01)


async def test_a_frozen_node_answers_when_it_is_thawed(node: NodeProcess) -> None:
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
        url = f"http://127.0.0.1:{node.port}/readyz"
        node.freeze()
        asked = asyncio.Event()

        async def ask() -> int:
            asked.set()
            async with session.get(url) as answer:
                return answer.status

        answering = tasks.create_task(ask())
        await asked.wait()
        await is_stopped(node)
        assert not answering.done()
        node.thaw()
        assert await answering == 200


async def test_a_second_node_on_one_home_is_refused(node: NodeProcess) -> None:
    second = NodeProcess(node.home, "again")
    with pytest.raises(AssertionError, match=r"did not start: .*home_locked"):
        await second.start()
    assert not second.is_running
    assert node.is_announced()


async def test_a_node_writes_no_more_than_its_level(tmp_path: Path, node: NodeProcess) -> None:
    assert len(node.logged("info")) == 1 and "node.ready" in node.log_tail
    flags = ("--no-discovery", "--log-level", "error")
    async with NodeProcess(tmp_path / "quiet", "quiet", flags=flags) as quiet:
        assert await quiet.stop() == 0
    assert not quiet.log_tail
