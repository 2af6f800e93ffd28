"""libopus by ctypes: what the usual bindings hide. Loss concealment, in-band recovery, DTX, cost.

The library is looked for where it certainly fits: in PyAV's wheel (which `aiortc` brings), then
in the system. Packets come from strangers: what does not decode raises `PacketMalformed`, and the
decoder stays usable. One encoder or decoder serves one stream and one thread.

It refuses sound that is not 48 kHz mono int16, and an install without the library with
`VoiceUnavailable`; nothing ever falls back to a slower path unseen.
"""

import ctypes
import ctypes.util
import importlib.util
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from audio.errors import PacketMalformed, VoiceUnavailable
from audio.limits import FRAME_SAMPLES_MAX, SAMPLE_RATE, TICK_SAMPLES
from audio.mix import Pcm

BITRATE_BPS: Final = 32_000
# Half the cost of the library's default, and not told from it for speech.
COMPLEXITY: Final = 5
# Told less, the encoder leaves its in-band copies out, and at 5 % of loss STOI falls from 0.994 to
# 0.973 (tests/audio/test_quality.py).
EXPECTED_LOSS: Final = 0.10
_PACKET_BYTES: Final = 1_276
_APPLICATION_VOIP: Final = 2_048
_SET_BITRATE: Final = 4_002
_SET_COMPLEXITY: Final = 4_010
_SET_FEC: Final = 4_012
_SET_LOSS: Final = 4_014
_SET_DTX: Final = 4_016
_RESET: Final = 4_028


@cache
def library() -> ctypes.CDLL:
    """The loaded libopus. Raises VoiceUnavailable."""
    for place in _places():
        try:
            found = ctypes.CDLL(place)
            return _declared(found)
        except (OSError, AttributeError):
            continue
    raise VoiceUnavailable(
        "The Opus library was not found.", next="Install PyAV's wheel, or libopus."
    )


def version() -> str:
    """The library's own name and version. Raises VoiceUnavailable."""
    name: bytes = library().opus_get_version_string()
    return name.decode("ascii", "replace")


class Encoder:
    """One outgoing stream: 20 ms of sound in, one packet out."""

    def __init__(
        self, *, bitrate_bps: int = BITRATE_BPS, complexity: int = COMPLEXITY,
        uses_dtx: bool = False,
    ) -> None:
        self._opus = library()
        error = ctypes.c_int()
        self._state = ctypes.c_void_p(
            self._opus.opus_encoder_create(SAMPLE_RATE, 1, _APPLICATION_VOIP, ctypes.byref(error))
        )
        if error.value != 0 or self._state.value is None:
            raise VoiceUnavailable("The Opus library made no encoder.")
        self._packet = ctypes.create_string_buffer(_PACKET_BYTES)
        self._loss_percent = -1
        self._set(_SET_BITRATE, bitrate_bps)
        self._set(_SET_COMPLEXITY, complexity)
        self._set(_SET_FEC, 1)
        self._set(_SET_DTX, int(uses_dtx))
        self.expect_loss(EXPECTED_LOSS)

    def __del__(self) -> None:
        state = getattr(self, "_state", None)
        if state:
            self._opus.opus_encoder_destroy(state)

    def expect_loss(self, fraction: float) -> None:
        """Tell how much is lost on the way (0..1): more makes the in-band copies better."""
        percent = max(0, min(30, round(fraction * 100)))
        if percent != self._loss_percent:
            self._loss_percent = percent
            self._set(_SET_LOSS, percent)

    def encode(self, frame: Pcm) -> bytes:
        """One packet of 20 ms."""
        assert frame.dtype == np.int16 and frame.shape == (TICK_SAMPLES,)
        frame = np.ascontiguousarray(frame)
        size = self._opus.opus_encode(
            self._state, frame.ctypes.data, TICK_SAMPLES, self._packet, _PACKET_BYTES
        )
        assert size > 0, size
        return self._packet.raw[:size]

    def _set(self, request: int, value: int) -> None:
        done = self._opus.opus_encoder_ctl(
            self._state, ctypes.c_int(request), ctypes.c_int(value)
        )
        assert done == 0, (request, value, done)


class Decoder:
    """One incoming stream: packets in, sound out, and something plausible for the lost ones."""

    def __init__(self) -> None:
        self._opus = library()
        error = ctypes.c_int()
        self._state = ctypes.c_void_p(
            self._opus.opus_decoder_create(SAMPLE_RATE, 1, ctypes.byref(error))
        )
        if error.value != 0 or self._state.value is None:
            raise VoiceUnavailable("The Opus library made no decoder.")
        self._sound = np.zeros(FRAME_SAMPLES_MAX, dtype=np.int16)
        self._address = self._sound.ctypes.data

    def __del__(self) -> None:
        state = getattr(self, "_state", None)
        if state:
            self._opus.opus_decoder_destroy(state)

    def decode(self, payload: bytes) -> Pcm:
        """The sound of a packet, of its own length. Raises PacketMalformed."""
        return self._run(payload, FRAME_SAMPLES_MAX, recovers=False)

    def recover(self, following: bytes, samples: int) -> Pcm:
        """The sound of a lost packet, from the copy in the packet after it.

        Where that carries none, it is concealed. Raises PacketMalformed.
        """
        return self._run(following, samples, recovers=True)

    def conceal(self, samples: int) -> Pcm:
        """A continuation of the last sound, fading to silence over a few calls."""
        return self._run(None, samples, recovers=False)

    def reset(self) -> None:
        """Forget the past: the next packet is another stream's."""
        self._opus.opus_decoder_ctl(self._state, ctypes.c_int(_RESET))

    def _run(self, payload: bytes | None, samples: int, *, recovers: bool) -> Pcm:
        assert 0 < samples <= FRAME_SAMPLES_MAX and samples % 120 == 0, samples
        size = 0 if payload is None else len(payload)
        if payload is not None and size == 0:
            # An empty packet would be taken for a lost one.
            raise PacketMalformed("An Opus packet is empty.")
        made = self._opus.opus_decode(
            self._state, payload, size, self._address, samples, int(recovers)
        )
        if made <= 0:
            raise PacketMalformed("An Opus packet does not decode.")
        return self._sound[:made].copy()


def _places() -> list[str]:
    """Where the library may be, best first. PyAV itself is not imported for it."""
    places: list[str] = []
    wheel = importlib.util.find_spec("av")
    if wheel is not None and wheel.origin is not None:
        package = Path(wheel.origin).parent
        for folder in (package.parent / "av.libs", package / ".dylibs"):
            places += sorted(str(path) for path in folder.glob("libopus*"))
    system = ctypes.util.find_library("opus")
    return [*places, *([system] if system else ())]


def _declared(opus: ctypes.CDLL) -> ctypes.CDLL:
    """The library with its signatures. Raises AttributeError if it is another library."""
    pointer, number = ctypes.c_void_p, ctypes.c_int
    opus.opus_get_version_string.restype = ctypes.c_char_p
    opus.opus_encoder_create.restype = pointer
    opus.opus_decoder_create.restype = pointer
    opus.opus_encoder_destroy.argtypes = [pointer]
    opus.opus_encoder_destroy.restype = None
    opus.opus_decoder_destroy.argtypes = [pointer]
    opus.opus_decoder_destroy.restype = None
    opus.opus_encode.argtypes = [pointer, pointer, number, ctypes.c_char_p, ctypes.c_int32]
    opus.opus_encode.restype = ctypes.c_int32
    opus.opus_decode.argtypes = [
        pointer, ctypes.c_char_p, ctypes.c_int32, pointer, number, number,
    ]
    return opus
