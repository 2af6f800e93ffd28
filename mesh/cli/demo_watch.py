"""What one node shows of the room, gathered through its own public surface as it comes.

A watch follows the room over any number of restarts of its node, from its cursor, so each event
is there once. Waiting is always for something seen, with a bound; what was not seen in time is a
`NotSeen` that says what, on which machine, and what was seen instead.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any, Final, TypeVar

from mesh.cli.demo_nodes import DemoNode
from mesh.client import RoomEvent, RoomItem, RoomSignal, Unreachable

T = TypeVar("T")
SEEN_S: Final = 15.0
LOG_PAGE: Final = 500
SIGNALS_MAX: Final = 10_000
"""Signals that are remembered; the oldest are forgotten first."""


class NotSeen(Exception):
    """Something that should have shown itself did not."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Watch:
    """The room as `node` shows it. `follow` runs in a task; the rest may be asked beside it.

    `is_torn`: the node showed a gap, so its log is not what this reader remembers.
    """

    def __init__(self, node: DemoNode, room_id: str) -> None:
        self.node = node
        self.room_id = room_id
        self.events: list[RoomEvent] = []
        self.signals: deque[RoomSignal] = deque(maxlen=SIGNALS_MAX)
        self.listeners: list[Callable[[Watch, RoomItem], None]] = []
        self.is_torn = False
        self._taken = 0
        self._news = asyncio.Event()

    async def follow(self) -> None:
        """Take in everything, until cancelled. A node that is away is waited for."""
        while True:
            await self.node.went_up.wait()
            cursor = self.events[-1].seq if self.events else 0
            try:
                items = self.node.sdk.subscribe(self.room_id, cursor)
                async with aclosing(items):
                    async for item in items:
                        self._take(item)
            except Unreachable:
                continue  # the connection was closed: the node is being unplugged

    def _take(self, item: RoomItem) -> None:
        match item:
            case RoomEvent():
                self.events.append(item)
            case RoomSignal():
                self.signals.append(item)
            case _:
                self.is_torn = True
        self._taken += 1
        self._news.set()
        for listener in self.listeners:
            listener(self, item)

    async def until(self, what: str, found: Callable[[], T | None], within_s: float = SEEN_S) -> T:
        """The first value of `found` that is not None; looked for again at all news.

        Raises NotSeen.
        """
        try:
            async with asyncio.timeout(within_s):
                while (value := found()) is None:
                    await self._more_than(self._taken)
                return value
        except TimeoutError:
            raise NotSeen(f"Not seen on {self.node.name} within {within_s:g} s: {what}.") from None

    async def event(
        self, what: str, is_it: Callable[[RoomEvent], bool], within_s: float = SEEN_S
    ) -> RoomEvent:
        """The first event of the whole log that is it. Raises NotSeen."""
        return await self.until(what, lambda: next(filter(is_it, self.events), None), within_s)

    async def state(
        self,
        what: str,
        is_so: Callable[[dict[str, Any]], bool],
        within_s: float = SEEN_S,
    ) -> dict[str, Any]:
        """The answer of `groups.state` as soon as it is so; asked again at all news.

        Raises NotSeen.
        """
        try:
            async with asyncio.timeout(within_s):
                while True:
                    taken = self._taken
                    state = await self.node.sdk.rooms.state(self.room_id)
                    if is_so(state):
                        return state
                    await self._more_than(taken)
        except TimeoutError:
            raise NotSeen(f"Not so on {self.node.name} within {within_s:g} s: {what}.") from None

    async def member(self, handle: str, presence: str, within_s: float = SEEN_S) -> dict[str, Any]:
        """The member of that handle, as soon as it is shown so. Raises NotSeen."""
        state = await self.state(
            f"@{handle} is {presence}",
            lambda state: _of(state, handle).get("presence") == presence,
            within_s,
        )
        return _of(state, handle)

    async def log(self) -> list[dict[str, Any]]:
        """The whole log, as `groups.log` gives it, page by page."""
        events: list[dict[str, Any]] = []
        while True:
            since_seq = events[-1]["seq"] if events else 0
            page = await self.node.sdk.rooms.log(self.room_id, since_seq=since_seq, limit=LOG_PAGE)
            events += page["events"]
            if not page["has_more"]:
                return events

    def pieces(self, turn_id: str) -> list[str]:
        """The pieces of an answer that were seen while it was being written, in order."""
        found = (s.payload for s in self.signals if s.kind == "turn.delta")
        return [str(piece["text"]) for piece in found if piece["turn_id"] == turn_id]

    async def _more_than(self, taken: int) -> None:
        """Wait for news; several may wait at once, and none misses what came meanwhile."""
        while self._taken == taken:
            self._news.clear()
            await self._news.wait()


def _of(state: dict[str, Any], handle: str) -> dict[str, Any]:
    return next((m for m in state["members"] if m["handle"] == handle), {})


def answers_to(event_id: str, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """All answers of agents to one message, by the chain that it began."""
    return [
        event
        for event in events
        if event["kind"] == "message.member" and event["cause"]["root"] == event_id
    ]
