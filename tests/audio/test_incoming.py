"""What a peer sends, made into frames."""

from hypothesis import given
from hypothesis import strategies as st

from audio import red, rtcp, rtp, sdp
from audio.incoming import Frame, Incoming
from audio.limits import PACKETS_BURST_MAX
from tests.audio.offers import audio_line, offer

LINES = sdp.read(offer()).usable
OPUS = b"\x08\x80sound"


def packet(seq: int, *, ssrc: int = 1_234_567, kind: int = 111, payload: bytes = OPUS,
           level: int | None = 30) -> bytes:
    return rtp.serialize(
        rtp.RtpPacket(payload_type=kind, seq=seq & 0xFFFF, at_samples=seq * 960 & 0xFFFFFFFF,
                      ssrc=ssrc, payload=payload, level_dbov=level),
        level_id=1,
    )


def incoming() -> Incoming:
    one = Incoming("anna")
    one.agree(LINES)
    return one


def frames(one: Incoming, data: bytes, now_s: float = 0.0) -> tuple[Frame, ...]:
    return one.take(data, now_s)[1]


def test_a_packet_becomes_a_frame_with_its_level() -> None:
    (frame,) = frames(incoming(), packet(5))
    assert (frame.source, frame.payload, frame.level_dbov) == ("anna:1234567", OPUS, 30)
    assert frame.samples == 960 and not frame.is_copy


def test_a_redundant_packet_becomes_a_copy_and_a_frame() -> None:
    one, redundant = incoming(), red.Redundant(111)
    frames(one, packet(1, kind=63, payload=redundant.wrap("s", 960, OPUS + b"1")))
    copy, newest = frames(one, packet(2, kind=63, payload=redundant.wrap("s", 1_920, OPUS + b"2")))
    assert copy.is_copy and copy.payload == OPUS + b"1" and copy.level_dbov is None
    assert newest.seq - copy.seq == 1 and newest.at_samples - copy.at_samples == 960


def test_what_was_not_agreed_on_is_dropped() -> None:
    one = incoming()
    inner = red.pack((red.Block(payload_type=0, samples_ago=0, payload=OPUS),))
    for data in (packet(1, kind=13), packet(2, kind=126), packet(3, payload=b""), b"\x80",
                 packet(4, kind=63, payload=b"\xff"), packet(5, kind=63, payload=inner)):
        assert frames(one, data) == ()
    assert one.dropped == 4, "an empty packet and a foreign block are only skipped"
    assert Incoming("ben").take(packet(1), 0.0) == (0, ()), "before anything is agreed on"


def test_a_second_track_waits_until_the_first_is_silent() -> None:
    """ATTACKS 48: an SSRC more is no voice more."""
    one = incoming()
    assert frames(one, packet(1), 0.0)
    assert frames(one, packet(1, ssrc=9), 0.1) == ()
    (frame,) = frames(one, packet(2, ssrc=9), 0.7)
    assert frame.source == "anna:9"


def test_lines_are_told_apart_by_their_declared_streams() -> None:
    two = (audio_line(), audio_line(mid="1", leave_out=("a=ssrc",), extra=("a=ssrc:8 cname:x",)))
    one = Incoming("link")
    one.agree(sdp.read(offer(*two, bundle="0 1")).usable)
    assert one.take(packet(1, ssrc=8), 0.0)[0] == 1
    assert one.take(packet(1), 0.0)[0] == 0
    assert one.take(packet(1, ssrc=77), 0.0) == (0, ())


def test_a_flood_is_cut_to_its_budget() -> None:
    one = incoming()
    taken = sum(bool(frames(one, packet(seq), 0.0)) for seq in range(10_000))
    assert taken == PACKETS_BURST_MAX


def test_what_was_received_is_reported() -> None:
    one = incoming()
    for seq in (1, 2, 4):
        frames(one, packet(seq), seq * 0.02)
    said = rtcp.SenderReport(ssrc=1_234_567, ntp=1 << 40, at_samples=0, packets=1, octets=1)
    one.heard(said, 0.1)
    (report,) = one.reports(1.1)
    assert (report.lost, one.received, one.lost) == (1, 3, 1)
    assert report.last_sender_report == 1 << 24 and report.since_it == 65_536
    assert one.jitter_samples == 0
    assert one.reports(99.0) == (), "a track that ended is not reported about"


@given(st.lists(st.binary(max_size=80), max_size=30))
def test_any_bytes_give_frames_or_nothing(datagrams: list[bytes]) -> None:
    one = incoming()
    for data in datagrams:
        for frame in frames(one, b"\x80\x6f" + data):
            assert 120 <= frame.samples <= 5_760
