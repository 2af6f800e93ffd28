"""libopus: what goes in comes out, and damaged packets do no harm."""

import math
import random

import numpy as np
import pytest

from audio import opus
from audio.errors import PacketMalformed
from audio.limits import SAMPLE_RATE, TICK_SAMPLES
from audio.mix import Pcm, level_dbov
from audio.opus_toc import frame_samples, has_recovery


def tone(hz: float, ticks: int, amplitude: float = 9_000) -> list[Pcm]:
    at = np.arange(ticks * TICK_SAMPLES) / SAMPLE_RATE
    # A little vibrato and a second voice: a bare sine is coded in a mode without recovery.
    sound = np.sin(2 * math.pi * hz * at + 3 * np.sin(2 * math.pi * 5 * at))
    sound += 0.5 * np.sin(2 * math.pi * 2.1 * hz * at)
    return list((amplitude / 1.5 * sound).astype(np.int16).reshape(ticks, TICK_SAMPLES))


def main_hz(sound: Pcm) -> float:
    spectrum = np.abs(np.fft.rfft(sound * np.hanning(sound.size)))
    return float(np.argmax(spectrum)) * SAMPLE_RATE / sound.size


def steady(hz: float, ticks: int) -> list[Pcm]:
    at = np.arange(ticks * TICK_SAMPLES) / SAMPLE_RATE
    return list(
        (9_000 * np.sin(2 * math.pi * hz * at)).astype(np.int16).reshape(ticks, TICK_SAMPLES)
    )


def test_a_tone_keeps_its_pitch_and_length() -> None:
    """SITUATIONS 113: one rate, 48 kHz, from end to end."""
    encoder, decoder = opus.Encoder(), opus.Decoder()
    out = np.concatenate([decoder.decode(encoder.encode(frame)) for frame in steady(440, 50)])
    assert out.size == 50 * TICK_SAMPLES
    assert abs(main_hz(out) / 440 - 1) < 0.01
    assert abs(level_dbov(out) - level_dbov(np.concatenate(steady(440, 50)))) < 1


def test_every_packet_says_its_length() -> None:
    encoder = opus.Encoder()
    assert {frame_samples(encoder.encode(frame)) for frame in tone(300, 20)} == {TICK_SAMPLES}


def test_a_lost_packet_comes_back_from_the_next_one() -> None:
    encoder, decoder, blind = opus.Encoder(bitrate_bps=24_000), opus.Decoder(), opus.Decoder()
    encoder.expect_loss(0.2)
    frames = tone(200, 60)
    packets = [encoder.encode(frame) for frame in frames]
    assert sum(has_recovery(packet) for packet in packets) > 10
    whole = opus.Decoder()
    true = [whole.decode(packet) for packet in packets]
    errors = {"recovered": 0.0, "concealed": 0.0}
    lost = next(k for k in range(15, 59) if has_recovery(packets[k + 1]))
    for packet in packets[:lost]:
        decoder.decode(packet)
        blind.decode(packet)
    errors["recovered"] = float(np.abs(
        decoder.recover(packets[lost + 1], TICK_SAMPLES).astype(float) - true[lost]).mean())
    errors["concealed"] = float(np.abs(
        blind.conceal(TICK_SAMPLES).astype(float) - true[lost]).mean())
    assert errors["recovered"] < errors["concealed"]


def test_concealment_fades_to_silence() -> None:
    encoder, decoder = opus.Encoder(), opus.Decoder()
    for frame in tone(300, 20):
        decoder.decode(encoder.encode(frame))
    levels = [level_dbov(decoder.conceal(TICK_SAMPLES)) for _ in range(50)]
    assert levels[0] < 40 and levels[-1] > 70


def test_silence_is_cheap_with_dtx() -> None:
    encoder = opus.Encoder(uses_dtx=True)
    quiet = np.zeros(TICK_SAMPLES, dtype=np.int16)
    sizes = [len(encoder.encode(quiet)) for _ in range(100)]
    assert sizes[50:].count(1) + sizes[50:].count(2) > 40


@pytest.mark.parametrize("seed_of_damage", range(5))
def test_damaged_packets_are_refused_or_decoded_within_bounds(seed_of_damage: int) -> None:
    chance = random.Random(seed_of_damage)
    encoder, decoder = opus.Encoder(), opus.Decoder()
    frames = tone(300, 100)
    for frame in frames:
        packet = bytearray(encoder.encode(frame))
        how = chance.choice(["cut", "flip", "random", "whole"])
        if how == "cut":
            del packet[chance.randrange(len(packet)) :]
        elif how == "flip":
            packet[chance.randrange(len(packet))] ^= 1 << chance.randrange(8)
        elif how == "random":
            packet = bytearray(chance.randbytes(chance.randrange(1, 200)))
        try:
            sound = decoder.decode(bytes(packet))
        except PacketMalformed:
            continue
        assert 0 < sound.size <= 5_760
    decoder.reset()
    clean = [decoder.decode(encoder.encode(frame)) for frame in frames[:20]]
    assert 8 < level_dbov(np.concatenate(clean[5:])) < 20, "the decoder is as good as before"


def test_an_empty_packet_is_no_lost_one() -> None:
    with pytest.raises(PacketMalformed):
        opus.Decoder().decode(b"")


def test_the_library_says_who_it_is() -> None:
    assert "opus" in opus.version().lower()
