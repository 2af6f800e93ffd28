"""Sums of sound: everybody but oneself, and never louder than the format can say.

`mix_minus` gives each talker the others' sum and everybody else the sum of all, made once. The
`Limiter` turns a sum down before it would clip, at once, and up again slowly; hard clipping of
three voices is heard as a crackle. Frames are numpy arrays of int16, 48 kHz, mono.

Pure: no clock, no codec. It refuses frames of unequal length.
"""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from audio.limits import TICK_SAMPLES
from audio.rtp import SILENCE_DBOV

Pcm = npt.NDArray[np.int16]
Sum = npt.NDArray[np.int32]

FULL_SCALE: Final = 32_767
# A little below full scale: the encoder's own error must not clip.
_CEILING: Final = 31_000
# Of the way back to full gain, per frame: about half a second in all.
_RELEASE: Final = 0.06


def silence() -> Pcm:
    """A tick of silence."""
    return np.zeros(TICK_SAMPLES, dtype=np.int16)


def level_dbov(frame: Pcm) -> float:
    """Loudness in decibels below full scale: 0 loudest, 127 silent (as in RFC 6464)."""
    if frame.size == 0:
        return SILENCE_DBOV
    wide = frame.astype(np.float32)
    power = float(np.dot(wide, wide)) / frame.size
    if power < 1.0:
        return SILENCE_DBOV
    return min(float(SILENCE_DBOV), max(0.0, -10 * math.log10(power / FULL_SCALE**2)))


def mix_minus(frames: Mapping[str, Pcm]) -> tuple[Sum, dict[str, Sum]]:
    """The sum of all frames, and for each talker the sum without his own."""
    total = np.zeros(TICK_SAMPLES, dtype=np.int32)
    for frame in frames.values():
        assert frame.shape == (TICK_SAMPLES,), frame.shape
        total += frame
    return total, {who: total - frame for who, frame in frames.items()}


class Limiter:
    """Keeps one stream of sums under the ceiling. One for each mix that is encoded."""

    def __init__(self) -> None:
        self._gain = 1.0

    def limit(self, frame: Sum) -> Pcm:
        """The frame, turned down as far as needed; the gain glides from the last frame's."""
        peak = int(np.abs(frame).max(initial=0))
        wanted = min(1.0, _CEILING / peak) if peak else 1.0
        if wanted >= 1.0 and self._gain >= 1.0:
            return frame.astype(np.int16)
        before = self._gain
        released = before + (1.0 - before) * _RELEASE
        after = 1.0 if released > 0.99 and wanted >= 1.0 else min(wanted, released)
        # Down at once, over the first 2 ms; up over the whole frame.
        ramp = 96 if after < before else frame.size
        gains = np.full(frame.size, after, dtype=np.float32)
        gains[:ramp] = np.linspace(before, after, ramp, dtype=np.float32)
        self._gain = after
        limited: Pcm = np.clip(frame * gains, -_CEILING, _CEILING).astype(np.int16)
        return limited
