"""What one listener gets."""

from dataclasses import replace

from audio import red, rtp, sdp
from audio.incoming import Frame
from audio.outgoing import Outgoing
from tests.audio.offers import offer

LINE = sdp.read(offer()).usable[0]


def frame(seq: int, *, source: str = "anna:1") -> Frame:
    return Frame(source=source, seq=seq, at_samples=seq * 960, samples=960,
                 payload=b"\x08%d" % seq, level_dbov=30)


def outgoing(line: sdp.MediaLine = LINE) -> Outgoing:
    one = Outgoing(ssrc=7, first_seq=65_535, first_at=1_000)
    one.agree(line)
    return one


def sent(one: Outgoing, what: Frame, now_s: float) -> rtp.RtpPacket:
    data = one.packet(what, now_s)
    assert data is not None
    return rtp.parse(data, level_id=1)


def test_a_listener_gets_his_own_numbers_and_formats() -> None:
    plain = outgoing(replace(LINE, opus_type=96, red_type=None, level_id=None))
    first, second = sent(plain, frame(500), 0.0), sent(plain, frame(501), 0.02)
    assert (first.payload_type, first.seq, second.seq, first.ssrc) == (96, 65_535, 0, 7)
    assert first.payload == b"\x08500" and first.level_dbov is None and first.marker


def test_red_goes_to_those_who_took_it_and_never_across_talkers() -> None:
    one = outgoing()
    assert sent(one, frame(1), 0.0).payload_type == 63
    assert len(red.unpack(sent(one, frame(2), 0.02).payload)) == 2
    other = sent(one, frame(9, source="ben:2"), 0.04)
    assert len(red.unpack(other.payload)) == 1 and other.marker


def test_a_new_agreement_changes_formats_and_not_the_stream() -> None:
    one = outgoing()
    before = sent(one, frame(1), 0.0)
    one.agree(replace(LINE, red_type=None))
    after = sent(one, frame(2), 0.02)
    assert after.payload_type == 111 and after.seq == (before.seq + 1) & 0xFFFF


def test_the_report_counts_and_goes_with_the_clock() -> None:
    one = outgoing()
    assert one.sender_report(0, 0.0) is None
    packet = sent(one, frame(1), 1.0)
    report = one.sender_report(5, 2.0)
    assert report is not None and report.packets == one.packets == 1
    assert report.at_samples == packet.at_samples + 48_000


def test_a_frame_from_before_the_change_is_not_sent() -> None:
    one = outgoing()
    sent(one, frame(5), 0.0)
    assert one.packet(frame(4), 0.01) is None and one.packets == 1
