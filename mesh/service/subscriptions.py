"""Readers of one room: events in order without a gap, signals as they come.

A reader has a cursor. While it catches up it reads pages from the store; at the moment its
cursor meets the last event shown, it goes live in the same step, so that no event falls between.
A reader that does not read is cut by its connection (4008) and resumes from its cursor.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec

from mesh.core.errors import Refused, StorageFailed
from mesh.core.event import Event
from mesh.core.limits import SUBSCRIBERS_MAX
from mesh.ports import Connection

_PAGE_EVENTS: Final = 200
_RETRY_S: Final = 0.5
_encode = msgspec.json.Encoder().encode

Page = Callable[[int, int], Awaitable[Sequence[Event]]]
"""(since_seq, limit) -> events after it, in order."""


def notification(params: dict[str, Any]) -> bytes:
    """A JSON-RPC notification of a subscription."""
    return _encode({"jsonrpc": "2.0", "method": "event", "params": params})


class Reader:
    """One connection that reads one room. `cursor` is the last seq it was given."""

    def __init__(self, connection: Connection, cursor: int) -> None:
        self.connection = connection
        self.cursor = cursor
        self.live = False
        self.stopped = False


class Subscriptions:
    """All readers of one room on this install."""

    def __init__(
        self, room_id: str, page: Page, to_json: Callable[[Event], dict[str, Any]], shown_seq: int
    ) -> None:
        """`shown_seq` is the last event that was shown, hence the first cursor of a live reader."""
        self._room_id = room_id
        self._page = page
        self._to_json = to_json
        self.shown_seq = shown_seq
        self._readers: dict[Connection, Reader] = {}
        self._told_of_end: set[Connection] = set()

    def __len__(self) -> int:
        return len(self._readers)

    def add(self, connection: Connection, since_seq: int) -> Reader:
        """Begin to read after `since_seq`; `catch_up` must be run for it.

        A connection reads a room once: a second reader takes the place of the first.

        Raises:
            Refused: reason `busy` above SUBSCRIBERS_MAX.
        """
        self.remove(connection)
        if len(self._readers) >= SUBSCRIBERS_MAX:
            raise Refused("busy", "Too many readers follow this room already.")
        reader = self._readers[connection] = Reader(connection, since_seq)
        if connection not in self._told_of_end:
            self._told_of_end.add(connection)
            connection.on_close(lambda: self._ended(connection))
        return reader

    def remove(self, connection: Connection) -> bool:
        """Stop reading for this connection; True if it was."""
        reader = self._readers.pop(connection, None)
        if reader is None:
            return False
        reader.stopped, reader.live = True, False
        return True

    def _ended(self, connection: Connection) -> None:
        self._told_of_end.discard(connection)
        self.remove(connection)

    async def catch_up(self, reader: Reader) -> None:
        """Give the reader what it has missed, page by page, then let it go live.

        A page that cannot be read now is tried again: a reader is never left in silence.
        """
        while not reader.stopped:
            if reader.cursor >= self.shown_seq:
                reader.live = True
                return
            try:
                page = await self._page(reader.cursor, _PAGE_EVENTS)
            except (Refused, StorageFailed):
                await asyncio.sleep(_RETRY_S)
                continue
            for event in page:
                if event.seq > self.shown_seq or reader.stopped:
                    break
                reader.connection.notify(self._event(event))
                reader.cursor = event.seq
            await reader.connection.drain()

    def show(self, event: Event) -> None:
        """An event is on the disk: show it to everyone who is live."""
        assert event.seq == self.shown_seq + 1, (event.seq, self.shown_seq)
        self.shown_seq = event.seq
        live = [r for r in self._readers.values() if r.live]
        if live:
            message = self._event(event)
            for reader in live:
                reader.cursor = event.seq
                reader.connection.notify(message)

    def tell(self, signal: dict[str, Any]) -> None:
        """Show a signal to everyone who is live; nothing is kept for those who are not."""
        live = [r for r in self._readers.values() if r.live]
        if live:
            message = notification(
                {"type": "group.signal", "room_id": self._room_id, "payload": signal}
            )
            for reader in live:
                reader.connection.notify(message)

    def gap(self, connection: Connection, from_seq: int, state: dict[str, Any]) -> None:
        """Say that a cursor cannot be resumed from, with a snapshot to start again from."""
        params = {
            "type": "group.gap",
            "room_id": self._room_id,
            "from_seq": from_seq,
            "latest_seq": self.shown_seq,
            "state": state,
        }
        connection.notify(notification(params))

    def _event(self, event: Event) -> bytes:
        return notification(
            {
                "type": "group.event",
                "room_id": self._room_id,
                "seq": event.seq,
                "payload": self._to_json(event),
            }
        )
