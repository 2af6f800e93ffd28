"""Frames and the stream that carries them: what goes in comes out, and nothing else gets in."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core import link_messages
from mesh.core.errors import Malformed
from mesh.core.limits import LINK_FRAME_BYTES_MAX
from mesh.core.link_messages import Append, LinkMessage, Signal, Stored, WireEvent
from mesh.wire.codec import FrameReader, decode, encode, frame

ROOM = "r_" + "0" * 32
STORED = Stored(room_id=ROOM, seq=7)
EVENT = WireEvent(raw=b"p", author_sig=b"s", header=b"h", authority_sig=b"t")
APPEND = Append(room_id=ROOM, epoch=1, events=(EVENT, EVENT), latest_seq=9, protected_seq=8)


def reason_of(data: bytes) -> str:
    with pytest.raises(Malformed) as caught:
        decode(data)
    return caught.value.reason


@pytest.mark.parametrize("message", [STORED, APPEND, Signal(room_id=ROOM, body=b"{}")])
def test_a_message_comes_back_as_it_was(message: LinkMessage) -> None:
    assert decode(encode(message)) == message


def test_every_kind_of_message_can_be_told_from_its_bytes() -> None:
    kinds = LinkMessage.__args__
    names = {kind.__struct_config__.tag for kind in kinds}
    assert len(names) == len(kinds)
    assert all(getattr(link_messages, kind.__name__) is kind for kind in kinds)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\xff" * 64,
        encode(STORED)[:-1],
        encode(STORED) + b"\x00",
        msgspec.msgpack.encode({"type": "no such message"}),
        msgspec.msgpack.encode({"type": "stored", "room_id": ROOM, "seq": "7"}),
        msgspec.msgpack.encode({"type": "stored", "room_id": ROOM}),
        msgspec.msgpack.encode([1, 2, 3]),
        b"\x82\xa4type\xa6stored\xa3seq\xdd\xff\xff\xff\xff",
    ],
)
def test_what_is_not_a_message_is_malformed(data: bytes) -> None:
    assert reason_of(data) == "invalid_params"


def test_deep_nesting_is_malformed_and_never_a_recursion_error() -> None:
    deep = b"\x82\xa4type\xa6stored\xa1z" + b"\x91" * (LINK_FRAME_BYTES_MAX - 64)
    assert reason_of(deep) == "invalid_params"
    assert reason_of(b"\x81\xa1a" * 100_000) == "invalid_params"


def test_size_is_looked_at_first() -> None:
    assert reason_of(b"\x91" * (LINK_FRAME_BYTES_MAX + 1)) == "too_large"
    with pytest.raises(Malformed, match="too_large"):
        encode(Signal(room_id=ROOM, body=bytes(LINK_FRAME_BYTES_MAX)))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_malformed(data: bytes) -> None:
    try:
        message = decode(data)
    except Malformed:
        return
    assert decode(encode(message)) == message


@given(st.lists(st.integers(0, 2_000), max_size=12), st.lists(st.integers(1, 900), min_size=1))
def test_the_stream_may_be_cut_anywhere(sizes: list[int], cuts: list[int]) -> None:
    messages = [Signal(room_id=ROOM, body=bytes(size)) for size in sizes]
    stream = b"".join(map(frame, messages))
    reader = FrameReader()
    found: list[LinkMessage] = []
    at = turn = 0
    while at < len(stream):
        step = cuts[turn % len(cuts)]
        found += map(decode, reader.feed(stream[at : at + step]))
        at, turn = at + step, turn + 1
    assert found == messages
    assert reader.held_bytes == 0


def test_a_frame_that_announces_too_much_is_refused_by_its_length() -> None:
    reader = FrameReader()
    with pytest.raises(Malformed) as caught:
        reader.feed((LINK_FRAME_BYTES_MAX + 1).to_bytes(4, "big"))
    assert caught.value.reason == "too_large"


def test_the_reader_holds_at_most_one_unfinished_frame() -> None:
    reader = FrameReader()
    whole = frame(STORED)
    assert reader.feed(whole * 3 + whole[:5]) == (encode(STORED),) * 3
    assert reader.held_bytes == 5
