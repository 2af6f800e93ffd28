"""Slots, tags and the guard against loops, without a network."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.errors import PacketMalformed
from audio.incoming import Frame
from audio.link import Link, Origins, Tag, tags_bytes, tags_of
from audio.rtcp import parse

origins = st.text(st.characters(codec="utf-8", categories=("L", "N")), max_size=20).map(
    lambda name: f"install:a/{name}"
)
tags = st.none() | st.builds(Tag, origin=origins, hops=st.integers(0, 9))


@given(st.lists(tags, max_size=3), st.integers(0, 0xFFFFFFFF))
def test_what_is_told_is_understood(said: list[Tag | None], ssrc: int) -> None:
    data = tags_bytes(ssrc, tuple(said))
    assert tags_of(data) == tuple(said)
    assert parse(data).sender is None, "to a reader of reports it is nothing"


@given(st.binary(max_size=100))
def test_any_bytes_are_tags_or_not(data: bytes) -> None:
    packet = b"\x80\xcc\x00\x09" + b"SSRC" + b"ORIG" + data
    try:
        found = tags_of(packet)
    except PacketMalformed:
        return
    assert found is None or len(found) <= 3


class Wire:
    """What a link sends, put straight into the other end."""

    def __init__(self) -> None:
        self.other: Link | None = None
        self.played: list[tuple[int, Frame]] = []

    def play(self, frame: Frame, now_s: float, *, line: int = 0) -> bool:
        self.played.append((line, frame))
        if self.other is not None:
            self.other.take(line, frame, now_s)
        return True

    def say(self, message: bytes) -> None:
        if self.other is not None:
            self.other.told(message)


def frame(source: str = "s", seq: int = 0) -> Frame:
    return Frame(source=source, seq=seq, at_samples=seq * 960, samples=960, payload=b"\x08x")


def pair(*, relays: bool = False) -> tuple[Link, Wire, list[tuple[Tag, Frame]]]:
    came: list[tuple[Tag, Frame]] = []
    ours = Link("a", relays=relays, on_frame=lambda tag, one, now_s: None)
    theirs = Link("b", on_frame=lambda tag, one, now_s: came.append((tag, one)))
    wire = Wire()
    wire.other = theirs
    return ours, wire, came


def test_a_voice_arrives_under_its_name_and_one_hop_older() -> None:
    ours, wire, came = pair()
    ours.forward(wire, Tag(origin="a/anna", hops=0), frame(), 0.0)
    ((tag, one),) = came
    assert tag == Tag(origin="a/anna", hops=1) and one.source == "s:a/anna"


def test_three_voices_have_three_slots_and_a_fourth_waits_for_silence() -> None:
    ours, wire, _ = pair()
    for name in ("anna", "ben", "cleo", "dora"):
        ours.forward(wire, Tag(origin=f"a/{name}", hops=0), frame(), 1.0)
    assert sorted(line for line, _ in wire.played) == [0, 1, 2] and ours.dropped == 1
    ours.forward(wire, Tag(origin="a/dora", hops=0), frame(seq=9), 1.5)
    assert len(wire.played) == 4


def test_an_own_voice_that_comes_back_is_dropped() -> None:
    _, wire, came = pair()
    liar = Link("x", on_frame=lambda tag, one, now_s: None)
    liar.forward(wire, Tag(origin="b/ben", hops=0), frame(), 0.0)
    assert came == []


def test_nothing_goes_further_than_two_hops_and_only_by_a_relay() -> None:
    for relays, hops, goes in ((False, 0, True), (False, 1, False), (True, 1, True),
                               (True, 2, False)):
        ours, wire, came = pair(relays=relays)
        ours.forward(wire, Tag(origin="c/cleo", hops=hops), frame(), 0.0)
        assert bool(came) == goes, (relays, hops)


def test_a_voice_never_goes_back_by_the_link_that_brought_it() -> None:
    ours, wire, came = pair(relays=True)
    ours.told(tags_bytes(0, (Tag(origin="b/ben", hops=1),)))
    ours.forward(wire, Tag(origin="b/ben", hops=1), frame(), 0.0)
    assert wire.played == [] and came == []


def test_sound_without_a_name_is_dropped() -> None:
    link = Link("b", on_frame=lambda tag, one, now_s: pytest.fail("heard"))
    link.take(0, frame(), 0.0)
    link.told(b"\x80\xcc\x00\x04SSRCORIG\x01\x03\x01\x00\x09ab\x00")
    assert link.dropped == 2


def test_the_first_link_that_brings_a_voice_keeps_it_until_it_falls_silent() -> None:
    seen = Origins()
    assert seen.is_from("a/anna", "one", 0.0)
    assert not seen.is_from("a/anna", "two", 0.5)
    assert seen.is_from("a/anna", "two", 1.6)
    assert seen.forget("two") == ("a/anna",) and seen.forget("two") == ()
