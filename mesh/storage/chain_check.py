"""Walk a room's log on the disk and say where it first stops being the log that was stored.

Used by the doctor, and at the start after an unclean stop, before the room is served: a chain
that does not hold is found here and not by the peers (attack 77). Signatures are not checked
here, for their keys come out of the log itself; folding it does that.
"""

import functools
import sqlite3
from dataclasses import dataclass
from typing import Any, Final

from mesh.core.errors import Malformed
from mesh.core.event import GENESIS, parse_event
from mesh.storage.database import Database
from mesh.storage.event_rows import EVENT_COLUMNS, SEQ_MAX

# Small pages: a reading thread is shared, and each page is one of its jobs.
_PAGE_EVENTS: Final = 200

_SELECT: Final = f"""
    SELECT {EVENT_COLUMNS}, key, kind, epoch FROM events
    WHERE place > (? << 40) + ? AND place < (? + 1) << 40 ORDER BY place LIMIT ?
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFault:
    """The first thing that is wrong with a log: at which seq, and what."""

    seq: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """How far the walk has come."""

    seq: int = 0
    hash: str = GENESIS
    epoch: int = 0


async def verify_chain(database: Database, room_id: str) -> ChainFault | None:
    """None if the log is dense, whole and chained from the first event to the room's head.

    Raises:
        StorageFailed: the file could not be read at all.
    """
    room = await database.read(
        lambda connection: connection.execute(
            "SELECT room, head_seq, head_hash FROM rooms WHERE room_id = ?", (room_id,)
        ).fetchone()
    )
    if room is None:
        return ChainFault(seq=0, message="the room is not stored here")
    number, head_seq, head_hash = room
    reached = _Link()
    # The room may grow while we walk; what was there at the start is what we answer for.
    while reached.seq < head_seq:
        step = await database.read(
            functools.partial(
                _walk, number=number, room_id=room_id, since=reached, head_seq=head_seq
            )
        )
        if isinstance(step, ChainFault):
            return step
        reached = step
    if reached.seq != head_seq or reached.hash != head_hash.hex():
        return ChainFault(seq=head_seq, message="the room's head is not its last event")
    return None


def _walk(
    connection: sqlite3.Connection, *, number: int, room_id: str, since: _Link, head_seq: int
) -> _Link | ChainFault:
    count = min(_PAGE_EVENTS, head_seq - since.seq)
    rows = connection.execute(_SELECT, (number, since.seq, number, count)).fetchall()
    for row in rows:
        step = _follow(row, room_id, since)
        if isinstance(step, ChainFault):
            return step
        since = step
    if not rows:
        return ChainFault(seq=since.seq + 1, message="the log ends before the room's head")
    return since


def _follow(row: tuple[Any, ...], room_id: str, last: _Link) -> _Link | ChainFault:
    place, raw, author_sig, header, authority_sig, stored_hash, key, kind, epoch = row
    seq = last.seq + 1
    if place & SEQ_MAX != seq:
        return ChainFault(seq=seq, message="an event is missing")
    try:
        event = parse_event(raw, author_sig, header, authority_sig)
    except Malformed as error:
        return ChainFault(seq=seq, message=f"the event cannot be read: {error.message}")
    checks = (
        (event.room_id == room_id, "the event is of another room"),
        (event.seq == seq, "the header tells another seq"),
        (event.prev_hash == last.hash, "the event does not follow the one before"),
        (event.epoch >= last.epoch, "the epoch goes back"),
        (event.hash == stored_hash.hex(), "the stored hash is another"),
        (event.proposal.key == key.hex(), "the stored key is another"),
        ((event.kind, event.epoch) == (kind, epoch), "the stored kind or epoch is another"),
        (len(author_sig) == len(authority_sig) == 64, "a signature is cut"),
    )
    for holds, message in checks:
        if not holds:
            return ChainFault(seq=seq, message=message)
    return _Link(seq=seq, hash=event.hash, epoch=event.epoch)
