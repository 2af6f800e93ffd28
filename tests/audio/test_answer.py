"""Answers are read by the rules by which offers are."""

import pytest

from audio import ice, sdp
from audio.answer import LocalEnd, write_answer, write_offer
from audio.sdp import Fingerprint
from tests.audio.offers import FINGERPRINT, audio_line, data_line, offer, video_line

LOCAL = LocalEnd(
    ufrag="wxyz", password="fedcba9876543210fedcba98",
    fingerprints=(Fingerprint(algorithm="sha-256", value=FINGERPRINT),),
    candidates=(ice.Candidate(
        foundation="1", component=1, transport="udp", priority=5, host="192.0.2.2", port=40_000,
        kind="host",
    ),),
    session_id=5, version=1, cname="engine", ssrcs=(11, 12, 13),
)


def test_the_answer_repeats_the_offers_numbers() -> None:
    numbers = audio_line(types="96 97", leave_out=("a=rtpmap", "a=fmtp", "a=extmap"), extra=(
        "a=rtpmap:96 OPUS/48000/2", "a=rtpmap:97 red/48000/2", "a=fmtp:97 96/96",
        "a=extmap:7 urn:ietf:params:rtp-hdrext:ssrc-audio-level",
    ))
    text = write_answer(sdp.read(offer(numbers)), LOCAL)
    (line,) = sdp.read(text).usable
    assert (line.opus_type, line.red_type, line.level_id, line.ssrc) == (96, 97, 7, 11)
    # RED stands first: that is how a browser is told to send it.
    assert "m=audio 9 UDP/TLS/RTP/SAVPF 97 96\r\n" in text
    assert "useinbandfec=1" in text and "a=candidate:1 1 udp 5 192.0.2.2 40000 typ host" in text


def test_red_only_to_those_who_offered_it() -> None:
    text = write_answer(sdp.read(offer(audio_line(types="111"))), LOCAL)
    assert "red/48000" not in text and "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n" in text


def test_lines_that_are_not_carried_are_answered_with_port_0_in_their_order() -> None:
    sections = (video_line("0"), audio_line(mid="1"), data_line("2"))
    text = write_answer(sdp.read(offer(*sections, bundle="0 1 2")), LOCAL)
    media = [line for line in text.split("\r\n") if line.startswith("m=")]
    assert [line.split()[:2] for line in media] == [
        ["m=video", "0"], ["m=audio", "9"], ["m=application", "0"]
    ]
    assert "a=group:BUNDLE 1\r\n" in text


def test_without_a_bundle_none_is_answered() -> None:
    assert "BUNDLE" not in write_answer(sdp.read(offer(bundle=None)), LOCAL)


@pytest.mark.parametrize(("setup", "ours"), [("actpass", "active"), ("active", "passive"),
                                             ("passive", "active")])
def test_the_setup_is_the_other_one(setup: str, ours: str) -> None:
    lines = audio_line(leave_out=("a=setup",), extra=(f"a=setup:{setup}",))
    assert f"a=setup:{ours}\r\n" in write_answer(sdp.read(offer(lines)), LOCAL)


@pytest.mark.parametrize(
    ("offered", "may_receive", "answered"),
    [("sendrecv", True, "sendrecv"), ("recvonly", True, "sendonly"), ("sendonly", True, "recvonly"),
     ("inactive", True, "inactive"), ("sendrecv", False, "sendonly"),
     ("sendonly", False, "inactive")],
)
def test_the_direction_is_a_legal_mirror(offered: str, may_receive: bool, answered: str) -> None:
    read = sdp.read(offer(audio_line(direction=offered)))
    text = write_answer(read, LOCAL, may_receive=may_receive)
    assert sdp.read(text).usable[0].direction == answered
    assert ("a=ssrc:" in text) == ("send" in answered), "a stream that is not sent has no name"


def test_a_links_offer_is_read_and_answered_with_three_lines() -> None:
    text = write_offer(LOCAL)
    read = sdp.read(text)
    assert [line.ssrc for line in read.usable] == [11, 12, 13]
    answer = sdp.read(write_answer(read, LOCAL, lines_max=3))
    assert [line.mid for line in answer.usable] == ["0", "1", "2"]
    assert answer.setup == "active" and answer.usable[2].red_type == 63
    assert len(answer.candidates) == 1
