"""The first byte of an Opus packet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.errors import PacketMalformed
from audio.limits import FRAME_SAMPLES_MAX, FRAME_SAMPLES_MIN
from audio.opus_toc import frame_samples, has_recovery, is_silent


@pytest.mark.parametrize(
    ("configuration", "samples"),
    [(0, 480), (1, 960), (3, 2880), (11, 2880), (12, 480), (13, 960), (16, 120), (31, 960)],
)
def test_each_mode_has_its_lengths(configuration: int, samples: int) -> None:
    assert frame_samples(bytes((configuration << 3,)) + b"x") == samples
    assert frame_samples(bytes((configuration << 3 | 1,)) + b"xx") == 2 * samples


@pytest.mark.parametrize(
    "payload",
    [b"", b"\x03", b"\x03\x00", b"\x01x", bytes((3 << 3 | 3, 3)), b"\x08" + b"x" * 1_300],
    ids=["empty", "no count", "count 0", "unequal halves", "180 ms", "longer than a frame"],
)
def test_impossible_packets_are_refused(payload: bytes) -> None:
    with pytest.raises(PacketMalformed):
        frame_samples(payload)


@given(st.binary(max_size=64))
def test_no_packet_plays_longer_than_opus_allows(payload: bytes) -> None:
    try:
        samples = frame_samples(payload)
    except PacketMalformed:
        return
    assert FRAME_SAMPLES_MIN <= samples <= FRAME_SAMPLES_MAX


def test_the_recovery_flag_stands_behind_the_voice_flags() -> None:
    assert has_recovery(bytes((1 << 3, 0b0100_0000, 0)))
    assert not has_recovery(bytes((1 << 3, 0b1000_0000, 0)))
    assert has_recovery(bytes((3 << 3, 0b0001_0000, 0))), "60 ms: three voice flags first"
    assert not has_recovery(bytes((31 << 3, 0xFF, 0))), "CELT has none"
    assert not has_recovery(bytes((1 << 3 | 2, 0xFF, 0))), "several frames are not looked into"
    assert not has_recovery(b"\x08\xff"), "too short to carry sound"


def test_two_bytes_are_silence() -> None:
    assert is_silent(b"\x08") and is_silent(b"\x08\xff") and not is_silent(b"\x08\xff\xfe")
