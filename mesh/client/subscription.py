"""A reader's place in one room: every event once and in order, over any number of drops.

The cursor is the last seq that was taken in. An event at or below it is a repetition and dropped;
one that is not the next shows that something was missed, and the reader falls *behind*: it takes
nothing until it has subscribed again from its cursor. A reader whose queue is full falls behind
too, so a slow one costs neither memory nor an event, only signals.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

QUEUE_MAX: Final = 1_024
"""Items waiting for the reader; above it the reader is behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEvent:
    """An event of the log; `event` is it whole, as docs/surface.md shows it."""

    room_id: str
    seq: int
    event: dict[str, Any]

    @property
    def kind(self) -> str:
        """What happened, for example `message.user`."""
        return str(self.event["kind"])

    @property
    def payload(self) -> dict[str, Any]:
        """What it carries."""
        found: dict[str, Any] = self.event["payload"]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomSignal:
    """Something passing: a piece of an answer, presence. It is never stored and may be missed."""

    room_id: str
    payload: dict[str, Any]

    @property
    def kind(self) -> str:
        """What it is about, for example `turn.delta`."""
        return str(self.payload["kind"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomGap:
    """The log is not what this cursor remembers: start again from `state`."""

    room_id: str
    from_seq: int
    latest_seq: int
    state: dict[str, Any]


RoomItem = RoomEvent | RoomSignal | RoomGap


class Subscription:
    """The place itself; `Connection.subscribe` drives it. No I/O here."""

    def __init__(self, room_id: str, since_seq: int) -> None:
        """Begin after `since_seq`."""
        assert since_seq >= 0, since_seq
        self.room_id = room_id
        self.cursor = since_seq
        self.behind = True
        self.is_live = False
        self.failed: BaseException | None = None
        self._items: deque[RoomItem] = deque()
        self._something = asyncio.Event()

    def take(self, params: dict[str, Any]) -> None:
        """Take in a notification of this room."""
        if self.behind:
            return
        kind = params.get("type")
        if kind == "group.event":
            self._take_event(int(params["seq"]), params["payload"])
        elif kind == "group.gap":
            latest_seq = int(params["latest_seq"])
            self.cursor = latest_seq
            self._put(
                RoomGap(
                    room_id=self.room_id,
                    from_seq=int(params["from_seq"]),
                    latest_seq=latest_seq,
                    state=params["state"],
                )
            )
        elif kind == "group.signal" and len(self._items) < QUEUE_MAX:
            self._put(RoomSignal(room_id=self.room_id, payload=params["payload"]))

    def fall_behind(self) -> None:
        """Take nothing until `subscribing` again; the reader is woken to do so."""
        self.behind = True
        self._something.set()

    def dropped(self) -> None:
        """The socket is gone, and the node's end of the subscription with it."""
        self.is_live = False
        self.behind = True
        self._something.set()

    def fail(self, error: BaseException) -> None:
        """There will be nothing more: the reader gets `error` after what it has."""
        self.failed = error
        self._something.set()

    def subscribing(self) -> int:
        """About to subscribe: take items again; returns the cursor to ask for."""
        self.is_live = True
        self.behind = False
        return self.cursor

    def next_item(self) -> RoomItem | None:
        """The next item, if one is waiting."""
        if self._items:
            return self._items.popleft()
        self._something.clear()
        return None

    async def wait(self) -> None:
        """Wait until there may be something: an item, being behind, or the end."""
        if not self._items and not self.behind and self.failed is None:
            await self._something.wait()

    def _take_event(self, seq: int, event: dict[str, Any]) -> None:
        if seq <= self.cursor:
            return
        if seq != self.cursor + 1 or len(self._items) >= QUEUE_MAX:
            self.fall_behind()
            return
        self.cursor = seq
        self._put(RoomEvent(room_id=self.room_id, seq=seq, event=event))

    def _put(self, item: RoomItem) -> None:
        self._items.append(item)
        self._something.set()
