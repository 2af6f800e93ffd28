"""Offers: what is read, what is left out, what is refused and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio import sdp
from audio.errors import OfferRefused
from tests.audio.offers import FINGERPRINT, audio_line, data_line, offer, video_line


def refusal(text: str) -> str:
    """The reason of the refusal; the test fails if the offer is taken."""
    with pytest.raises(OfferRefused) as caught:
        sdp.read(text)
    assert caught.value.sentence
    return caught.value.reason


def test_a_browsers_offer_is_read() -> None:
    read = sdp.read(offer())
    (line,) = read.usable
    assert (line.opus_type, line.red_type, line.level_id) == (111, 63, 1)
    assert (line.mid, line.direction, line.ssrc) == ("0", "sendrecv", 1_234_567)
    assert (read.session_id, read.version, read.setup) == ("77", 2, "actpass")
    assert (read.ufrag, read.password) == ("abcd", "0123456789abcdef01234567")
    assert read.fingerprints == (sdp.Fingerprint(algorithm="sha-256", value=FINGERPRINT),)
    assert [one.host for one in read.candidates if one] == ["192.0.2.9"]
    assert not read.is_ice_lite


def test_plain_line_feeds_are_read_as_well() -> None:
    assert sdp.read(offer(end="\n")) == sdp.read(offer())


def test_video_and_data_are_left_out() -> None:
    read = sdp.read(offer(audio_line(), video_line(), data_line(), bundle="0 1 2"))
    assert [line.usable for line in read.media] == [True, False, False]
    read = sdp.read(offer(video_line("0"), audio_line(mid="1"), bundle="0 1"))
    assert [line.usable for line in read.media] == [False, True]


def test_a_second_audio_line_needs_the_first_ones_transport() -> None:
    two = (audio_line(), audio_line(mid="1"))
    assert len(sdp.read(offer(*two, bundle="0 1")).usable) == 2
    assert len(sdp.read(offer(*two, bundle=None)).usable) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "invalid_params"),
        ("hello", "invalid_params"),
        (offer([]), "invalid_params"),
        (offer(end="\r"), "invalid_params"),
        (offer() + "\0", "invalid_params"),
        (offer(audio_line(extra=("no type",))), "invalid_params"),
        (offer(audio_line(leave_out=("a=mid",))), "invalid_params"),
        (offer(audio_line(), audio_line()), "invalid_params"),
        (offer(audio_line(leave_out=("a=fingerprint",))), "invalid_params"),
        (offer(audio_line(leave_out=("a=ice-ufrag",))), "invalid_params"),
        (offer(audio_line(leave_out=("a=ice-pwd",))), "invalid_params"),
        (offer(audio_line(leave_out=("a=ice-pwd",), extra=("a=ice-pwd:short",))),
         "invalid_params"),
        (offer(audio_line(extra=("a=fingerprint:sha-256 AB:CD",))), "invalid_params"),
        (offer(["m=audio"]), "invalid_params"),
        (offer(video_line("0"), data_line("1")), "unsupported"),
        (offer(audio_line(types="0")), "unsupported"),
        (offer(audio_line(leave_out=("a=rtcp-mux",))), "unsupported"),
        (offer(audio_line(leave_out=("a=setup",), extra=("a=setup:holdconn",))), "unsupported"),
        (offer(*(audio_line(mid=str(k)) for k in range(5))), "too_large"),
        (offer(*(audio_line(mid=str(k)) for k in range(200))), "too_large"),
        (offer() + "a=x:" + "y" * 1_000_000, "too_large"),
        (offer(audio_line(extra=("a=x:" + "y" * 3_000,))), "too_large"),
        (offer(audio_line(extra=("a=x",) * 3_000)), "too_large"),
        (offer(audio_line(types=" ".join(str(k) for k in range(127)))), "too_large"),
        (offer() + "é" * 33_000, "too_large"),
    ],
)
def test_odd_offers_are_refused_with_a_reason(text: str, reason: str) -> None:
    assert refusal(text) == reason


def test_ten_thousand_candidates_are_refused() -> None:
    line = "a=candidate:1 1 udp 1 192.0.2.9 5001 typ host"
    assert refusal(offer(audio_line(extra=(line,) * 10_000))) == "too_large"
    assert refusal(offer(audio_line(extra=(line,) * 64))) == "too_large"


def test_a_name_instead_of_an_address_is_read_and_left_to_the_policy() -> None:
    hidden = "a=candidate:1 1 udp 1 5f8c9a3e-0d54.local 5001 typ host"
    lines = [line.replace("c=IN IP4 0.0.0.0", "c=IN IP4 5f8c9a3e-0d54.local") for line in
             audio_line(leave_out=("a=candidate",), extra=(hidden, "a=candidate:"))]
    read = sdp.read(offer(lines))
    assert len(read.candidates) == 2 and read.candidates[1] is None


def test_red_counts_only_when_it_wraps_this_opus() -> None:
    for fmtp in ("a=fmtp:63 0/0", "a=fmtp:63 111", "a=fmtp:63 111/0", "a=fmtp:64 111/111"):
        lines = audio_line(leave_out=("a=fmtp:63",), extra=(fmtp,))
        assert sdp.read(offer(lines)).usable[0].red_type is None


def test_directions_and_secrets_may_stand_for_the_session() -> None:
    bare = audio_line(leave_out=("a=sendrecv", "a=ice-", "a=fingerprint", "a=setup"))
    whole = offer(bare).replace(
        "a=msid-semantic: WMS\r\n",
        "a=recvonly\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789abcdef01234567\r\na=ice-lite\r\n"
        f"a=fingerprint:sha-256 {FINGERPRINT}\r\na=setup:active\r\n",
    )
    read = sdp.read(whole)
    assert (read.usable[0].direction, read.setup, read.is_ice_lite) == ("recvonly", "active", True)


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    read_or_refuse(text)


def read_or_refuse(text: str) -> None:
    try:
        sdp.read(text)
    except OfferRefused as refused:
        assert refused.reason in ("invalid_params", "too_large", "unsupported")


@given(st.data())
def test_a_damaged_offer_is_read_or_refused(data: st.DataObject) -> None:
    lines = offer(audio_line(), video_line(), bundle="0 1").split("\r\n")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        how = data.draw(st.sampled_from(["drop", "twice", "cut", "swap"]))
        if how == "drop":
            del lines[at]
        elif how == "twice":
            lines.insert(at, lines[at])
        elif how == "cut":
            lines[at] = lines[at][: data.draw(st.integers(0, max(0, len(lines[at]))))]
        else:
            lines[at] += data.draw(st.text(max_size=10))
    read_or_refuse("\r\n".join(lines))
