"""A room store without a disk, with the same answers: for the simulator and for unit tests.

It holds the fence, the order of the log and the refusals exactly as the disk's store does; one
suite of tests runs on both. What it does not promise is that anything survives the process.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mesh.core.event import Event
from mesh.core.link_messages import WireEvent
from mesh.storage import append
from mesh.storage.event_store import check_dense, check_first_events
from mesh.stores import OutboxRow, RoomChange, RoomRow


@dataclass(slots=True)
class _StoredRoom:
    row: RoomRow
    events: list[Event] = field(default_factory=list)
    by_key: dict[str, Event] = field(default_factory=dict)
    outbox: dict[str, OutboxRow] = field(default_factory=dict)


class MemoryEventStore:
    """`stores.EventStore` in memory. A change is applied whole, before the call returns."""

    def __init__(self) -> None:
        self._rooms: dict[str, _StoredRoom] = {}

    async def create_room(self, row: RoomRow, events: Sequence[Event]) -> None:
        """Store a new room. Raises as the disk's store."""
        check_first_events(row, events)
        if row.room_id in self._rooms:
            raise append.room_is_here()
        promised_epoch = max([row.promised_epoch, *(event.epoch for event in events)])
        self._rooms[row.room_id] = _StoredRoom(
            replace(row, promised_epoch=promised_epoch),
            list(events),
            {event.proposal.key: event for event in events},
        )

    async def apply(self, change: RoomChange) -> None:
        """Commit one change whole. Raises as the disk's store."""
        check_dense(change.events)
        room = self._rooms.get(change.room_id)
        if room is None:
            if change.events or change.outbox_put:
                raise append.no_room()
            return
        self._check(room, change)
        for event in change.events:
            room.events.append(event)
            room.by_key[event.proposal.key] = event
            room.row = replace(
                room.row, head_seq=event.seq, head_hash=event.hash, promised_epoch=event.epoch
            )
        for row in change.outbox_put:
            room.outbox[row.proposal.key] = row
        for key, reason in change.outbox_refuse:
            if key in room.outbox:
                room.outbox[key] = replace(room.outbox[key], state="refused", reason=reason)
        for key in change.outbox_drop:
            room.outbox.pop(key, None)

    async def rooms(self) -> tuple[RoomRow, ...]:
        """All rooms, in the order in which they came."""
        return tuple(room.row for room in self._rooms.values())

    async def read(
        self, room_id: str, since_seq: int, limit: int, size_bytes_max: int
    ) -> tuple[Event, ...]:
        """Events after `since_seq`; at least one if there is one, within both bounds."""
        room = self._rooms.get(room_id)
        found: list[Event] = []
        size_bytes = 0
        for event in room.events[since_seq : since_seq + limit] if room else ():
            size_bytes += len(event.proposal.raw) + len(event.header)
            if found and size_bytes > size_bytes_max:
                break
            found.append(event)
        return tuple(found)

    async def read_wire(
        self, room_id: str, since_seq: int, limit: int, size_bytes_max: int
    ) -> tuple[WireEvent, ...]:
        """As `read`, as it travels."""
        return tuple(
            WireEvent(
                raw=event.proposal.raw,
                author_sig=event.proposal.signature,
                header=event.header,
                authority_sig=event.signature,
            )
            for event in await self.read(room_id, since_seq, limit, size_bytes_max)
        )

    async def by_key(self, room_id: str, key: str) -> Event | None:
        """The event with that key, if it is in the log."""
        room = self._rooms.get(room_id)
        return room.by_key.get(key) if room else None

    async def outbox(self, room_id: str) -> tuple[OutboxRow, ...]:
        """Rows of a room in the order they were queued."""
        room = self._rooms.get(room_id)
        return tuple(sorted(room.outbox.values(), key=lambda row: row.n)) if room else ()

    async def forget_room(self, room_id: str) -> None:
        """Delete a copy. An unknown room is no error."""
        self._rooms.pop(room_id, None)

    def _check(self, room: _StoredRoom, change: RoomChange) -> None:
        head = room.row
        if change.events:
            first = change.events[0]
            linked = (first.seq - 1, first.prev_hash) == (head.head_seq, head.head_hash)
            if first.epoch < head.promised_epoch or not linked:
                raise append.stale(first)
            keys = [event.proposal.key for event in change.events]
            if len(set(keys)) != len(keys) or not room.by_key.keys().isdisjoint(keys):
                raise append.known_key()
        taken = {row.n: key for key, row in room.outbox.items()}
        for row in change.outbox_put:
            if taken.setdefault(row.n, row.proposal.key) != row.proposal.key:
                raise append.taken_place()
