"""Short-time objective intelligibility (Taal and others, 2010), on numpy alone.

1 is the reference itself; speech is hard to follow below about 0.7. Silent stretches of the
reference do not count, so a pause hides no loss.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

Signal = npt.NDArray[np.float64]
_RATE: Final = 10_000
_FRAME: Final = 256
_HOP: Final = 128
_FFT: Final = 512
_BANDS: Final = 15
_FIRST_HZ: Final = 150.0
_SEGMENT: Final = 30
_CLIP: Final = 10 ** (15 / 20)
_SILENT_DB: Final = 40.0


def stoi(reference: npt.ArrayLike, heard: npt.ArrayLike, rate: int) -> float:
    """How intelligible `heard` is beside `reference`, both of one length and aligned."""
    clean = _resampled(np.asarray(reference, dtype=np.float64), rate)
    noisy = _resampled(np.asarray(heard, dtype=np.float64), rate)
    assert clean.size == noisy.size > _FRAME * (_SEGMENT + 1)
    frames, others = _frames(clean), _frames(noisy)
    power = 20 * np.log10(np.linalg.norm(frames, axis=1) + 1e-12)
    spoken = power > power.max() - _SILENT_DB
    bands = _bands()
    x = np.sqrt(np.abs(np.fft.rfft(frames[spoken], _FFT)) ** 2 @ bands.T).T
    y = np.sqrt(np.abs(np.fft.rfft(others[spoken], _FFT)) ** 2 @ bands.T).T
    scores = []
    for end in range(_SEGMENT, x.shape[1] + 1):
        one, other = x[:, end - _SEGMENT : end], y[:, end - _SEGMENT : end]
        gain = np.linalg.norm(one, axis=1) / (np.linalg.norm(other, axis=1) + 1e-12)
        other = np.minimum(other * gain[:, None], one * (1 + _CLIP))
        one = one - one.mean(axis=1, keepdims=True)
        other = other - other.mean(axis=1, keepdims=True)
        norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1) + 1e-12
        scores.append((one * other).sum(axis=1) / norms)
    return float(np.mean(scores))


def _resampled(signal: Signal, rate: int) -> Signal:
    """The signal at 10 kHz, by its spectrum."""
    count = int(signal.size * _RATE / rate)
    spectrum = np.fft.rfft(signal)[: count // 2 + 1]
    resampled: Signal = np.fft.irfft(spectrum, count) * (count / signal.size)
    return resampled


def _frames(signal: Signal) -> Signal:
    starts = range(0, signal.size - _FRAME, _HOP)
    window = np.hanning(_FRAME + 2)[1:-1]
    return np.stack([signal[start : start + _FRAME] * window for start in starts])


def _bands() -> Signal:
    """Which bins of the spectrum make each third of an octave."""
    at = np.linspace(0, _RATE, _FFT + 1)[: _FFT // 2 + 1]
    centres = _FIRST_HZ * 2 ** (np.arange(_BANDS) / 3)
    bands = np.zeros((_BANDS, at.size))
    for band, centre in enumerate(centres):
        low = int(np.argmin((at - centre * 2 ** (-1 / 6)) ** 2))
        high = int(np.argmin((at - centre * 2 ** (1 / 6)) ** 2))
        bands[band, low:high] = 1
    return bands
