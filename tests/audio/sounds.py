"""Tones made and found again, for tests that say who is heard and who is not."""

import math

import numpy as np

from audio.limits import SAMPLE_RATE, TICK_SAMPLES
from audio.mix import Pcm


def tone(hz: float, tick: int, *, amplitude: float = 6_000) -> Pcm:
    """The tick-th 20 ms of a tone; its phase goes on from tick to tick."""
    at = np.arange(tick * TICK_SAMPLES, (tick + 1) * TICK_SAMPLES) / SAMPLE_RATE
    return (amplitude * np.sin(2 * math.pi * hz * at)).astype(np.int16)


def strength(sound: Pcm, hz: float) -> float:
    """The amplitude of a tone in a sound: near its true one if it is there, near 0 if not."""
    if sound.size == 0:
        return 0.0
    at = np.arange(sound.size) / SAMPLE_RATE
    window = np.hanning(sound.size)
    turned = sound * window * np.exp(-2j * math.pi * hz * at)
    return float(2 * abs(turned.sum()) / window.sum())


def main_hz(sound: Pcm) -> float:
    """The strongest frequency of a sound."""
    spectrum = np.abs(np.fft.rfft(sound * np.hanning(sound.size)))
    return float(np.argmax(spectrum)) * SAMPLE_RATE / sound.size
