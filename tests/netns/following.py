"""A reader that follows a room beside a test, and ends with it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from tests.netns.workload import Reader
from tests.processes.node_process import NodeProcess

WAIT_S: Final = 30.0


class Following:
    """What one node shows of a room, as it comes."""

    def __init__(self, reader: Reader) -> None:
        """`reader` is being run."""
        self._reader = reader

    @property
    def texts(self) -> list[str]:
        """Everything that was said so far, in order."""
        return [str(e["payload"]["text"]) for e in self._reader.events if _is_text(e)]

    async def shows(self, *texts: str) -> None:
        """Wait until all of these were said, each as often as it is named.

        Raises AssertionError after WAIT_S.
        """
        try:
            async with asyncio.timeout(WAIT_S):
                await self._reader.until(lambda _: Counter(texts) <= Counter(self.texts))
        except TimeoutError:
            raise AssertionError(f"{self._reader.name} shows {self.texts}, not {texts}") from None


@asynccontextmanager
async def following(node: NodeProcess, room_id: str) -> AsyncIterator[Following]:
    """Follow the room at that node inside the block."""
    async with node.connected() as connection, asyncio.TaskGroup() as tasks:
        reader = Reader(name=node.name, node=connection, room_id=room_id)
        running = tasks.create_task(reader.run())
        yield Following(reader)
        running.cancel()


def _is_text(event: dict[str, Any]) -> bool:
    return str(event["kind"]).startswith("message.")
