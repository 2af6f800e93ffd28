"""Spoken sentences at 48 kHz from flite, for tests that ask whether words survive."""

import shutil
import subprocess
import wave
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from audio.limits import SAMPLE_RATE, TICK_SAMPLES
from audio.mix import Pcm

TEXT: Final = (
    "The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background. "
    "It is easy to tell the depth of a well. These days a chicken leg is a rare dish. "
    "Rice is often served in round bowls. The juice of lemons makes fine punch. "
    "The box was thrown beside the parked truck. Four hours of steady work faced us."
)
MISSING: Final = "needs flite: apt-get install -y flite"


def speech(folder: Path) -> Pcm:
    """About 20 s of speech in whole ticks, at a usual level. Skips the test without flite."""
    if shutil.which("flite") is None:
        pytest.skip(MISSING)
    path = folder / "speech.wav"
    subprocess.run(["flite", "-voice", "slt", "-t", TEXT, "-o", str(path)], check=True)
    with wave.open(str(path)) as spoken:
        rate = spoken.getframerate()
        samples = np.frombuffer(spoken.readframes(spoken.getnframes()), dtype=np.int16)
    count = samples.size * SAMPLE_RATE // rate
    spectrum = np.fft.rfft(samples)
    wide = np.zeros(count // 2 + 1, dtype=complex)
    wide[: spectrum.size] = spectrum[: wide.size]
    sound = np.fft.irfft(wide, count) * (count / samples.size)
    sound *= 12_000 / np.abs(sound).max()
    whole: Pcm = sound[: count - count % TICK_SAMPLES].astype(np.int16)
    return whole
