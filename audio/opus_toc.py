"""What the first byte of an Opus packet says: how long it plays, and whether it helps the past.

It reads RFC 6716, section 3, without decoding anything, so that the buffers can reckon with
packets that are never decoded. It refuses packets that no decoder would take.
"""

from typing import Final

from audio.errors import PacketMalformed
from audio.limits import FRAME_SAMPLES_MAX

# Samples of one frame at 48 kHz by configuration: SILK, hybrid, CELT.
_SILK: Final = (480, 960, 1_920, 2_880)
_HYBRID: Final = (480, 960)
_CELT: Final = (120, 240, 480, 960)
_FRAME_BYTES_MAX: Final = 1_275
# A packet of at most two bytes carries no sound: the sender is silent (DTX).
_SILENT_BYTES_MAX: Final = 2


def frame_samples(payload: bytes) -> int:
    """Samples at 48 kHz that the packet plays. Raises PacketMalformed."""
    if not payload:
        raise PacketMalformed("An Opus packet is empty.")
    toc = payload[0]
    each = _samples_of(toc >> 3)
    code = toc & 3
    if code == 3:
        if len(payload) < 2 or not payload[1] & 0x3F:
            raise PacketMalformed("An Opus packet does not say how many frames it has.")
        count = payload[1] & 0x3F
    else:
        count = (1, 2, 2)[code]
    if code == 1 and len(payload) % 2 == 0:
        raise PacketMalformed("An Opus packet of two equal frames has an odd number of bytes.")
    if each * count > FRAME_SAMPLES_MAX:
        raise PacketMalformed("An Opus packet claims to play more than 120 ms.")
    if len(payload) > 2 + count * (_FRAME_BYTES_MAX + 2):
        raise PacketMalformed("An Opus packet is longer than its frames may be.")
    return each * count


def has_recovery(payload: bytes) -> bool:
    """Whether a one-frame packet carries a low-rate copy of the packet before it (in-band FEC)."""
    if len(payload) <= _SILENT_BYTES_MAX:
        return False
    configuration, stereo, code = payload[0] >> 3, payload[0] & 4, payload[0] & 3
    # CELT has none. Packets with several frames are rare and not worth the reading.
    if configuration >= 16 or code != 0:
        return False
    frames = {1_920: 2, 2_880: 3}.get(_samples_of(configuration), 1)
    # One flag for each SILK frame's voice, then the flag for the copy; twice when stereo.
    if (payload[1] >> (7 - frames)) & 1:
        return True
    return bool(stereo and (payload[1] >> (6 - 2 * frames)) & 1)


def is_silent(payload: bytes) -> bool:
    """Whether the packet only says that its sender is silent."""
    return len(payload) <= _SILENT_BYTES_MAX


def _samples_of(configuration: int) -> int:
    assert 0 <= configuration < 32
    if configuration < 12:
        return _SILK[configuration % 4]
    if configuration < 16:
        return _HYBRID[configuration % 2]
    return _CELT[configuration % 4]
