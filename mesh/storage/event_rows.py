"""How rooms, events and proposals look as rows, in both directions.

What comes back from the disk is checked before anyone sees it: the header's hash, the proposal's
digest and the place in the log. A flipped bit is a failed disk, never another event (attack 77).
"""

import hashlib
import sqlite3
from typing import Any, Final

from mesh.core.errors import Malformed, StorageFailed
from mesh.core.event import Event, parse_event, parse_proposal
from mesh.core.identity import DOMAIN
from mesh.core.link_messages import WireEvent
from mesh.stores import OutboxRow, RoomRow

# place = room number * 2^40 + seq
PLACE_BITS: Final = 40
SEQ_MAX: Final = (1 << PLACE_BITS) - 1

EVENT_COLUMNS: Final = "place, raw, author_sig, header, authority_sig, hash"
ROOM_COLUMNS: Final = (
    "room_id, authority_install_id, promised_epoch, head_seq, head_hash, joined_at_ms"
)
OUTBOX_COLUMNS: Final = "n, raw, signature, state, reason, queued_at_ms"

_HASH_DOMAIN: Final = DOMAIN + b"event\0"


def event_values(event: Event) -> tuple[Any, ...]:
    """The values of a row of `append`, in the order of its columns."""
    proposal = event.proposal
    assert 1 <= event.seq <= SEQ_MAX, event.seq
    return (
        proposal.room_id,
        event.seq,
        event.epoch,
        bytes.fromhex(event.prev_hash),
        bytes.fromhex(proposal.key),
        proposal.kind,
        proposal.raw,
        proposal.signature,
        event.header,
        event.signature,
        bytes.fromhex(event.hash),
    )


def wire_event(row: tuple[Any, ...]) -> WireEvent:
    """An event as it travels, from EVENT_COLUMNS, without parsing it.

    Raises:
        StorageFailed: header or proposal are not the bytes that were stored.
    """
    place, raw, author_sig, header, authority_sig, stored_hash = row
    # The header carries P's digest in hex; finding it there saves parsing it.
    digest = hashlib.sha256(raw).hexdigest().encode()
    if hashlib.sha256(_HASH_DOMAIN + header).digest() != stored_hash or digest not in header:
        raise damaged(place & SEQ_MAX)
    return WireEvent(raw=raw, author_sig=author_sig, header=header, authority_sig=authority_sig)


def event(row: tuple[Any, ...]) -> Event:
    """An event, from EVENT_COLUMNS.

    Raises:
        StorageFailed: the row is not what was stored.
    """
    place, raw, author_sig, header, authority_sig, stored_hash = row
    try:
        made = parse_event(raw, author_sig, header, authority_sig)
    except Malformed as error:
        raise damaged(place & SEQ_MAX) from error
    if made.seq != place & SEQ_MAX or made.hash != stored_hash.hex():
        raise damaged(place & SEQ_MAX)
    return made


def room(row: tuple[Any, ...]) -> RoomRow:
    """A room, from ROOM_COLUMNS."""
    return RoomRow(
        room_id=row[0],
        authority_install_id=row[1],
        promised_epoch=row[2],
        head_seq=row[3],
        head_hash=row[4].hex(),
        joined_at_ms=row[5],
    )


def outbox_values(row: OutboxRow) -> tuple[Any, ...]:
    """The values of a row of `outbox_put`, in the order of its columns."""
    return (
        row.proposal.room_id,
        row.n,
        bytes.fromhex(row.proposal.key),
        row.proposal.raw,
        row.proposal.signature,
        row.state,
        row.reason,
        row.queued_at_ms,
    )


def outbox(row: tuple[Any, ...]) -> OutboxRow:
    """A row of an outbox, from OUTBOX_COLUMNS.

    Raises:
        StorageFailed: the proposal is not what was stored.
    """
    n, raw, signature, state, reason, queued_at_ms = row
    try:
        proposal = parse_proposal(raw, signature)
    except Malformed as error:
        raise StorageFailed("storage_failed", f"Row {n} of an outbox is damaged.") from error
    return OutboxRow(n=n, proposal=proposal, state=state, reason=reason, queued_at_ms=queued_at_ms)


def damaged(seq: int) -> StorageFailed:
    """The refusal to show an event that is not what was stored."""
    return StorageFailed(
        "storage_failed",
        f"Event {seq} on this disk is damaged.",
        next="Keep a copy of the database, and restore a backup or join the room again.",
        seq=seq,
    )


def fetch_within(cursor: sqlite3.Cursor, limit: int, size_bytes_max: int) -> list[tuple[Any, ...]]:
    """Rows of EVENT_COLUMNS within both bounds, but one at least if there is one."""
    assert limit >= 1 and size_bytes_max >= 1
    rows: list[tuple[Any, ...]] = []
    size_bytes = 0
    for row in cursor:
        size_bytes += len(row[1]) + len(row[3])
        if rows and size_bytes > size_bytes_max:
            break
        rows.append(row)
        if len(rows) == limit:
            break
    return rows
