"""Redundant audio."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.errors import PacketMalformed
from audio.limits import RED_OFFSET_MAX
from audio.red import Block, Redundant, pack, unpack

copies = st.lists(
    st.tuples(st.integers(1, RED_OFFSET_MAX), st.binary(min_size=1, max_size=200)),
    max_size=4, unique_by=lambda pair: pair[0],
)


@given(copies, st.binary(max_size=300))
def test_what_is_packed_is_unpacked(pairs: list[tuple[int, bytes]], newest: bytes) -> None:
    ordered = sorted(pairs, reverse=True)
    blocks = (
        *(Block(payload_type=111, samples_ago=ago, payload=frame) for ago, frame in ordered),
        Block(payload_type=111, samples_ago=0, payload=newest),
    )
    assert unpack(pack(blocks)) == blocks


@given(st.binary(max_size=200))
def test_any_bytes_are_unpacked_or_refused(data: bytes) -> None:
    try:
        blocks = unpack(data)
    except PacketMalformed:
        return
    assert blocks[-1].samples_ago == 0
    assert sum(len(block.payload) for block in blocks) <= len(data)


@pytest.mark.parametrize(
    "data", [b"", b"\xef", b"\xef\x00\x00\xff\x6f", b"\xef\x0f\x00\x01" * 5 + b"\x6fabcde"]
)
def test_payloads_that_do_not_add_up_are_refused(data: bytes) -> None:
    with pytest.raises(PacketMalformed):
        unpack(data)


def test_each_frame_carries_the_one_before() -> None:
    redundant = Redundant(111)
    assert len(unpack(redundant.wrap("anna", 0, b"one"))) == 1
    copy, newest = unpack(redundant.wrap("anna", 960, b"two"))
    assert (copy.payload, copy.samples_ago, newest.payload) == (b"one", 960, b"two")


def test_no_copy_crosses_a_change_of_talker_or_a_pause() -> None:
    redundant = Redundant(111)
    redundant.wrap("anna", 0, b"one")
    assert [block.payload for block in unpack(redundant.wrap("ben", 960, b"two"))] == [b"two"]
    later = 960 + RED_OFFSET_MAX + 1
    assert [block.payload for block in unpack(redundant.wrap("ben", later, b"x"))] == [b"x"]
    # A packet that comes out of turn is older than the last: there is nothing to add.
    assert [block.payload for block in unpack(redundant.wrap("ben", later - 960, b"y"))] == [b"y"]


def test_a_frame_too_long_to_be_named_is_not_copied() -> None:
    redundant = Redundant(111)
    redundant.wrap("anna", 0, b"x" * 1_024)
    assert len(unpack(redundant.wrap("anna", 960, b"two"))) == 1
