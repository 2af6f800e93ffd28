"""Rows of the log: a single flipped bit never becomes another event."""

import pytest

from mesh.core.errors import StorageFailed
from mesh.storage import event_rows
from tests.storage.logs import log, waiting

SEQ = 2
EVENT = log(2, text="hi")[1]
PLACE = (3 << event_rows.PLACE_BITS) + SEQ
ROW = (
    PLACE,
    EVENT.proposal.raw,
    EVENT.proposal.signature,
    EVENT.header,
    EVENT.signature,
    bytes.fromhex(EVENT.hash),
)


def flipped(column: int, bit: int) -> tuple[object, ...]:
    """The row with one bit of one column flipped."""
    data = bytearray(ROW[column])
    data[bit // 8] ^= 1 << bit % 8
    return (*ROW[:column], bytes(data), *ROW[column + 1 :])


def test_a_row_comes_back_as_the_event() -> None:
    assert event_rows.event(ROW) == EVENT
    wire = event_rows.wire_event(ROW)
    assert (wire.raw, wire.author_sig, wire.header, wire.authority_sig) == ROW[1:5]


@pytest.mark.parametrize("column", [1, 3, 5], ids=["raw", "header", "hash"])
def test_every_flipped_bit_is_found(column: int) -> None:
    bits = len(ROW[column]) * 8  # type: ignore[arg-type]
    for bit in range(bits):
        row = flipped(column, bit)
        for read in (event_rows.event, event_rows.wire_event):
            with pytest.raises(StorageFailed, match="Event 2 on this disk is damaged"):
                read(row)


def test_an_event_in_another_place_is_found() -> None:
    with pytest.raises(StorageFailed, match="Event 3"):
        event_rows.event((PLACE + 1, *ROW[1:]))


def test_a_damaged_row_of_the_outbox_is_found() -> None:
    row = waiting(1)
    stored = (1, row.proposal.raw, row.proposal.signature, "waiting", "", 1)
    assert event_rows.outbox(stored) == row
    with pytest.raises(StorageFailed, match="Row 1 of an outbox"):
        event_rows.outbox((1, row.proposal.raw[:-1], *stored[2:]))
