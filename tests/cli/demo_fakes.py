"""A machine of the demo with nothing behind it: what its room shows is put there by the test."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

from mesh.cli.demo_nodes import DemoNode
from mesh.client import RoomEvent, RoomItem, RoomSignal, Unreachable

ROOM = "r_demo"


def event(seq: int, kind: str, actor: dict[str, Any] | None = None, **payload: Any) -> RoomEvent:
    """An event of the room."""
    whole = {"seq": seq, "kind": kind, "event_id": f"e{seq}", "payload": payload, "actor": actor}
    return RoomEvent(room_id=ROOM, seq=seq, event=whole)


def signal(kind: str, **payload: Any) -> RoomSignal:
    """A signal of the room."""
    return RoomSignal(room_id=ROOM, payload={"kind": kind, **payload})


class FakeMachine:
    """Stands for a `DemoNode`, its connection and its rooms at once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.went_up = asyncio.Event()
        self.went_up.set()
        self.shown: dict[str, Any] = {"members": []}
        self.cursors: list[int] = []
        self._items: asyncio.Queue[RoomItem | None] = asyncio.Queue()

    @property
    def node(self) -> DemoNode:
        """It, as what it stands for."""
        return cast("DemoNode", self)

    @property
    def sdk(self) -> "FakeMachine":
        """The connection."""
        return self

    @property
    def rooms(self) -> "FakeMachine":
        """The rooms' area of the connection."""
        return self

    def show(self, *items: RoomItem) -> None:
        """The room says something."""
        for item in items:
            self._items.put_nowait(item)

    def unplug(self) -> None:
        """Its connection is closed."""
        self.went_up.clear()
        self._items.put_nowait(None)

    async def state(self, room_id: str) -> dict[str, Any]:
        """`groups.state`, an instant late."""
        assert room_id == ROOM
        shown = self.shown
        await asyncio.sleep(0)
        return shown

    async def subscribe(self, room_id: str, since_seq: int) -> AsyncGenerator[RoomItem, None]:
        """`groups.subscribe` until it is unplugged."""
        assert room_id == ROOM
        self.cursors.append(since_seq)
        while (item := await self._items.get()) is not None:
            yield item
        raise Unreachable("The connection was closed.")
