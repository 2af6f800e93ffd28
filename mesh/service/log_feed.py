"""Feeds the copies of one room with its log: in frames, from memory where events are recent.

One call gives the link at most FEED_BYTES_MAX and tells how far that went; the rest is sent when
the copy has acknowledged it. So a room of long messages never fills the queue of a link, which
would be cut for it, and with it every other room's.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from mesh.core.effects import Stream
from mesh.core.event import Event
from mesh.core.limits import (
    BATCH_BYTES_MAX,
    BATCH_EVENTS_MAX,
    FEED_BYTES_MAX,
    REPLICA_WINDOW_EVENTS,
)
from mesh.core.link_messages import Append, WireEvent
from mesh.core.log import Head
from mesh.ports import Links
from mesh.stores import EventStore

_RECENT: Final = REPLICA_WINDOW_EVENTS * 2
_AROUND_BYTES: Final = 160  # two signatures and what a frame puts around an event


class LogFeed:
    """The sending side of one room's replication. What it sends is on the disk already."""

    def __init__(self, room_id: str, *, store: EventStore, links: Links) -> None:
        self._room_id = room_id
        self._store = store
        self._links = links
        self._recent: deque[tuple[int, WireEvent]] = deque(maxlen=_RECENT)

    def remember(self, events: Sequence[Event]) -> None:
        """These were stored; they will be asked for soon."""
        for event in events:
            proposal = event.proposal
            wire = WireEvent(proposal.raw, proposal.signature, event.header, event.signature)
            self._recent.append((event.seq, wire))

    def forget(self) -> None:
        """What was remembered may not be on the disk."""
        self._recent.clear()

    async def stream(self, wanted: Stream, head: Head) -> int | None:
        """Send the events of one copy's window; returns the last seq that was given to its link.

        None where the link is gone: the copy asks again when it is back.
        """
        since, sent_bytes = wanted.since_seq, 0
        while since < wanted.upto_seq and sent_bytes < FEED_BYTES_MAX:
            batch = self._from_memory(since, wanted.upto_seq)
            if batch is None:
                limit = min(BATCH_EVENTS_MAX, wanted.upto_seq - since)
                batch = await self._store.read_wire(self._room_id, since, limit, BATCH_BYTES_MAX)
            assert batch, "the log has what was promised to a copy"
            sent = self._links.send(
                wanted.install_id,
                Append(
                    room_id=self._room_id,
                    epoch=head.epoch,
                    events=tuple(batch),
                    latest_seq=head.seq,
                    protected_seq=0,
                ),
            )
            if not sent:
                return None
            since += len(batch)
            sent_bytes += sum(map(_size, batch))
        return since

    def _from_memory(self, since: int, upto: int) -> Sequence[WireEvent] | None:
        if not self._recent or self._recent[0][0] > since + 1:
            return None
        first = self._recent[0][0]
        batch: list[WireEvent] = []
        batch_bytes = 0
        for index in range(since + 1 - first, upto + 1 - first):
            wire = self._recent[index][1]
            batch_bytes += _size(wire)
            if batch and (batch_bytes > BATCH_BYTES_MAX or len(batch) >= BATCH_EVENTS_MAX):
                break
            batch.append(wire)
        return batch


def _size(wire: WireEvent) -> int:
    return len(wire.raw) + len(wire.header) + _AROUND_BYTES
