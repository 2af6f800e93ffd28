"""Sums of sound."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.limits import SAMPLE_RATE, TICK_SAMPLES
from audio.mix import FULL_SCALE, Limiter, Pcm, level_dbov, mix_minus, silence


def tone(hz: float, amplitude: float, start: int = 0) -> Pcm:
    at = np.arange(start, start + TICK_SAMPLES) / SAMPLE_RATE
    return (amplitude * np.sin(2 * math.pi * hz * at)).astype(np.int16)


@given(st.integers(0, 2**32), st.integers(0, 16))
def test_everybody_hears_the_others_and_never_himself(seed: int, count: int) -> None:
    noise = np.random.default_rng(seed)
    frames = {
        str(k): noise.integers(-32_768, 32_768, TICK_SAMPLES).astype(np.int16)
        for k in range(count)
    }
    total, without = mix_minus(frames)
    for who, rest in without.items():
        others = [frame.astype(np.int64) for name, frame in frames.items() if name != who]
        assert np.array_equal(rest, sum(others, np.zeros(TICK_SAMPLES, dtype=np.int64)))
        assert np.array_equal(rest + frames[who], total)


@given(st.lists(st.tuples(st.integers(1, 16), st.integers(0, 2**32)), min_size=1, max_size=20))
def test_no_sum_is_louder_than_the_format(frames: list[tuple[int, int]]) -> None:
    limiter = Limiter()
    for voices, seed in frames:
        noise = np.random.default_rng(seed)
        loud = noise.integers(-32_768 * voices, 32_768 * voices, TICK_SAMPLES).astype(np.int32)
        assert np.abs(limiter.limit(loud).astype(np.int32)).max() < FULL_SCALE


def test_what_fits_passes_untouched() -> None:
    frame = tone(440, 9_000)
    assert np.array_equal(Limiter().limit(frame.astype(np.int32)), frame)


def test_a_loud_moment_is_turned_down_without_a_step_and_recovers() -> None:
    limiter = Limiter()
    steady = [tone(300, 9_000, k * TICK_SAMPLES).astype(np.int32) for k in range(100)]
    steady[10] *= 5
    out = np.concatenate([limiter.limit(frame) for frame in steady]).astype(np.int32)
    after = out[11 * TICK_SAMPLES :]
    # The gain moves over samples: the sound has no click, which is a large step between two.
    assert np.abs(np.diff(after)).max() < 1.2 * 9_000 * 2 * math.pi * 300 / SAMPLE_RATE
    assert np.array_equal(out[-TICK_SAMPLES:], steady[-1])


def test_levels_in_decibels() -> None:
    assert level_dbov(silence()) == 127
    assert level_dbov(np.zeros(0, dtype=np.int16)) == 127
    assert abs(level_dbov(tone(500, FULL_SCALE)) - 3.01) < 0.05
    assert abs(level_dbov(tone(500, FULL_SCALE / 10)) - 23.01) < 0.05
