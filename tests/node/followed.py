"""What one program sees of one room, and how tests wait for it: with a deadline, never for time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from mesh.client import RoomEvent, RoomGap, RoomSignal

WAIT_S: Final = 12.0
_LOOK_EVERY_S: Final = 0.01

T = TypeVar("T")


async def eventually(ask: Callable[[], Awaitable[T]], holds: Callable[[T], bool]) -> T:
    """Ask until the answer is as wanted, where nothing announces it. Raises AssertionError."""
    answer = await ask()
    try:
        async with asyncio.timeout(WAIT_S):
            while not holds(answer):
                await asyncio.sleep(_LOOK_EVERY_S)
                answer = await ask()
    except TimeoutError:
        raise AssertionError(f"it never became so; the last answer was {answer}") from None
    return answer


class Followed:
    """What one program sees of one room, kept as it comes."""

    def __init__(self, room_id: str) -> None:
        self.room_id = room_id
        self.events: list[RoomEvent] = []
        self.signals: list[dict[str, Any]] = []
        self.gaps: list[RoomGap] = []
        self._news = asyncio.Event()

    def take(self, item: RoomEvent | RoomSignal | RoomGap) -> None:
        """Keep one item of the subscription."""
        match item:
            case RoomEvent():
                self.events.append(item)
            case RoomSignal():
                self.signals.append(item.payload)
            case RoomGap():
                self.gaps.append(item)
        self._news.set()

    async def until(self, holds: Callable[["Followed"], bool]) -> None:
        """Wait until what was seen is as wanted. Raises AssertionError after WAIT_S."""
        try:
            async with asyncio.timeout(WAIT_S):
                while not holds(self):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            seen = [(e.seq, e.kind, e.payload) for e in self.events[-20:]]
            raise AssertionError(f"never seen; the last events were {seen}") from None

    async def event(self, kind: str, **payload: object) -> RoomEvent:
        """The first event of that kind whose payload has those values."""
        await self.until(lambda seen: bool(seen.all(kind, **payload)))
        return self.all(kind, **payload)[0]

    def all(self, kind: str, **payload: object) -> list[RoomEvent]:
        """Every event of that kind whose payload has those values, in order."""
        return [
            e
            for e in self.events
            if e.kind == kind and all(e.payload.get(k) == v for k, v in payload.items())
        ]

    @property
    def texts(self) -> list[str]:
        """What was said, by people and agents, in order."""
        said = {"message.user", "message.member"}
        return [e.payload["text"] for e in self.events if e.kind in said]

    @property
    def seqs(self) -> list[int]:
        """The seqs that were seen, in the order they were seen."""
        return [e.seq for e in self.events]
