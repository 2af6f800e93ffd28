"""Senders and readers: what people do in a room while its machines fail.

A sender says one thing after the other, each under an id of its own, and repeats an id until the
node has said what became of it. A reader follows the room from its beginning over every kill and
cut; what it was shown once must never be shown again, nor change, nor go away.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from mesh.client import (
    Connection,
    LimitExceeded,
    OutcomeUnknown,
    RequestRejected,
    RoomEvent,
    RoomGap,
    Unreachable,
)
from mesh.client.rooms import new_event_id
from tests.netns.account_book import AccountBook

# How long a copy may look for its host before it says that the text is queued.
SEND_WAIT_MS: Final = 200
# What a sender makes up for in a burst when its node was away.
_BEHIND_S: Final = 5.0
_BUSY_S: Final = 0.2
_PASSING: Final = frozenset({"busy", "uncertain", "storage_failed"})


class Progress:
    """How far the workload is. Faults wait for a number of answers, not for a time.

    It goes on until enough was offered and the faults are over, whichever is later.
    """

    def __init__(self, events: int) -> None:
        """`events` is how many are offered at least."""
        self.answered = 0
        self.are_faults_over = False
        self._left = events
        self._moved = asyncio.Condition()

    def take(self) -> bool:
        """Whether to offer one more."""
        self._left -= 1
        return self._left >= 0 or not self.are_faults_over

    async def advance(self) -> None:
        """One more was answered."""
        self.answered += 1
        async with self._moved:
            self._moved.notify_all()

    async def reach(self, count: int) -> None:
        """Wait until that many are answered."""
        async with self._moved:
            await self._moved.wait_for(lambda: self.answered >= count)


class Sender:
    """One person at one node, saying things at a steady pace."""

    def __init__(
        self,
        name: str,
        node: Connection,
        room_id: str,
        *,
        book: AccountBook,
        progress: Progress,
        every_s: float,
    ) -> None:
        """`every_s` is the time from one offer to the next, if the answers are quicker."""
        self.name = name
        self._node = node
        self._room_id = room_id
        self._book = book
        self._progress = progress
        self._every_s = every_s

    async def run(self) -> None:
        """Offer until the workload is over."""
        clock = asyncio.get_running_loop().time
        due_s = clock()
        number = 0
        while self._progress.take():
            await asyncio.sleep(max(0.0, due_s - clock()))
            due_s = max(due_s + self._every_s, clock() - _BEHIND_S)
            number += 1
            await self._offer(f"{self.name} {number}")

    async def _offer(self, text: str) -> None:
        event_id = new_event_id()
        self._book.offer(event_id, self.name)
        while not await self._sent(event_id, text):
            self._book.retry()
        await self._progress.advance()

    async def _sent(self, event_id: str, text: str) -> bool:
        """One try. False if nobody knows what became of it: the same id is sent again."""
        try:
            answer = await self._node.rooms.send(
                self._room_id, text, event_id=event_id, wait_ms=SEND_WAIT_MS
            )
        except (OutcomeUnknown, Unreachable):
            return False
        except (LimitExceeded, RequestRejected) as refusal:
            if refusal.reason in _PASSING:
                await asyncio.sleep(_BUSY_S)
                return False
            self._book.refuse(event_id, refusal.reason)
        else:
            self._book.answer(event_id, answer)
        return True


@dataclass(slots=True, kw_only=True)
class Reader:
    """One program that follows the room at one node."""

    name: str
    node: Connection
    room_id: str
    events: list[dict[str, Any]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    _moved: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def run(self) -> None:
        """Follow until cancelled. Raises AssertionError when the log is not what it was."""
        async with aclosing(self.node.subscribe(self.room_id)) as items:
            async for item in items:
                assert not isinstance(item, RoomGap), f"{self.name} was shown what is lost: {item}"
                if isinstance(item, RoomEvent):
                    assert item.seq == len(self.events) + 1, (self.name, item.seq)
                    self.events.append(item.event)
                    self.seen.add(str(item.event["event_id"]))
                    async with self._moved:
                        self._moved.notify_all()

    async def until(self, holds: Callable[["Reader"], bool]) -> None:
        """Wait until what was read satisfies the condition."""
        async with self._moved:
            await self._moved.wait_for(lambda: holds(self))
