"""RTP headers, and streams that go on without a jump."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.errors import PacketMalformed
from audio.limits import PACKET_BYTES_MAX, SAMPLE_RATE
from audio.rtp import OutgoingStream, RtpPacket, Unwrapped, is_rtcp, parse, serialize

packets = st.builds(
    RtpPacket,
    payload_type=st.integers(0, 127),
    seq=st.integers(0, 0xFFFF),
    at_samples=st.integers(0, 0xFFFFFFFF),
    ssrc=st.integers(0, 0xFFFFFFFF),
    payload=st.binary(max_size=200),
    marker=st.booleans(),
    level_dbov=st.none() | st.integers(0, 127),
)


@given(packets, st.integers(1, 14))
def test_what_is_written_is_read(packet: RtpPacket, level_id: int) -> None:
    assert parse(serialize(packet, level_id=level_id), level_id=level_id) == packet


@given(st.binary(max_size=2_000), st.none() | st.integers(1, 14))
def test_any_bytes_are_read_or_refused(data: bytes, level_id: int | None) -> None:
    try:
        packet = parse(data, level_id=level_id)
    except PacketMalformed:
        return
    assert len(packet.payload) <= len(data) <= PACKET_BYTES_MAX
    assert packet.level_dbov is None or 0 <= packet.level_dbov <= 127


def header(first: int = 0x80, rest: bytes = b"") -> bytes:
    return bytes((first, 111)) + bytes(10) + rest


@pytest.mark.parametrize(
    "data",
    [b"\x80", header(0x40), header(0x8F), header(0x90), header(0x90, b"\xbe\xde\xff\xff"),
     header(0xA0, b"\x00"), header(0xA0, b"\x09"), header(rest=b"x" * 65_000)],
    ids=["1 byte", "version 1", "15 sources", "no extension", "long extension", "padding 0",
         "long padding", "64 KB"],
)
def test_headers_that_run_away_are_refused(data: bytes) -> None:
    with pytest.raises(PacketMalformed):
        parse(data)


def test_padding_and_sources_are_no_payload() -> None:
    assert parse(header(0xA1, b"SSSS" + b"ab" + b"\x00\x02")).payload == b"ab"


@pytest.mark.parametrize(
    ("extension", "level"),
    [
        (b"\xbe\xde\x00\x02" + b"\x30\x11" + b"\x00" + b"\x50\x85" + b"\x00" * 3, 5),
        (b"\x10\x00\x00\x01" + b"\x05\x01\x85\x00", 5),
        (b"\xbe\xde\x00\x01" + b"\xf0\x85\x00\x00", None),
        (b"\xbe\xde\x00\x01" + b"\x00\x00\x00\x5f", None),
        (b"\xab\xcd\x00\x01" + b"\x50\x85\x00\x00", None),
    ],
    ids=["one byte", "two bytes", "reserved id", "cut short", "other profile"],
)
def test_levels_are_found_by_their_id(extension: bytes, level: int | None) -> None:
    assert parse(header(0x90, extension + b"pay"), level_id=5).level_dbov == level


def test_reports_are_told_from_sound() -> None:
    assert is_rtcp(b"\x80\xc8") and is_rtcp(b"\x81\xc9")
    assert not is_rtcp(b"\x80\x6f") and not is_rtcp(b"\x80\xef") and not is_rtcp(b"\x80")


@given(st.lists(st.integers(-300, 500), max_size=300), st.integers(0, 0xFFFF))
def test_unwrapping_follows_every_small_step(steps: list[int], start: int) -> None:
    unwrapped = Unwrapped(16)
    first = unwrapped.extend(start)
    true = start
    highest = true
    for step in steps:
        true = highest + step
        assert unwrapped.extend(true & 0xFFFF) - first == true - start
        highest = max(highest, true)


sources = st.lists(
    st.tuples(
        st.sampled_from(["anna", "ben", "mix"]),
        st.integers(0, 3),  # packets lost before this one
        st.sampled_from([0.0, 0.02, 0.4, 30.0]),  # seconds since the one before
    ),
    min_size=1, max_size=80,
)


@given(sources, st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF))
def test_a_listeners_stream_never_jumps(
    played: list[tuple[str, int, float]], first_seq: int, first_at: int
) -> None:
    """Whatever is played: seq rises by one and the losses, media time never goes back or overlaps,
    and stays with the clock."""
    stream = OutgoingStream(first_seq=first_seq, first_at=first_at)
    counters = {"anna": (70_000, 5_000_000), "ben": (100, 7), "mix": (0, 0)}
    seqs, ats = Unwrapped(16), Unwrapped(32)
    now_s, before, source = 100.0, None, ""
    for who, lost, pause_s in played:
        # Whoever starts is heard from his first packet on: what he lost before is no gap.
        lost = lost if who == source else 0
        now_s += pause_s + 0.02 * lost
        seq, at = counters[who]
        seq += 1 + lost
        at += 960 * (1 + lost) if pause_s < 0.4 else round(SAMPLE_RATE * pause_s)
        counters[who] = (seq, at)
        placed = stream.place(who, seq, at, 960, now_s)
        assert placed is not None
        out_seq, out_at = seqs.extend(placed.seq), ats.extend(placed.at_samples)
        if before is not None:
            assert out_seq == before[0] + 1 + lost
            assert out_at >= before[1] + 960
        if who != source:
            assert placed.marker
        before, source = (out_seq, out_at), who
    assert before is not None


def test_a_reordered_packet_keeps_its_place_and_an_older_one_has_none() -> None:
    stream = OutgoingStream(first_seq=10, first_at=0)
    first = stream.place("anna", 500, 96_000, 960, 1.0)
    third = stream.place("anna", 502, 97_920, 960, 1.04)
    second = stream.place("anna", 501, 96_960, 960, 1.041)
    assert first is not None and second is not None and third is not None
    assert (first.seq, second.seq, third.seq) == (10, 11, 12)
    assert second.at_samples - first.at_samples == 960
    assert stream.place("anna", 499, 95_040, 960, 1.05) is None


def test_switches_do_not_add_up_to_a_drift() -> None:
    stream = OutgoingStream(first_seq=0, first_at=0)
    placed = None
    for k in range(1_000):
        placed = stream.place("ab"[k % 2], k, k * 960, 960, k * 0.021)
    assert placed is not None
    assert abs(placed.at_samples - 999 * 0.021 * SAMPLE_RATE) < 960
