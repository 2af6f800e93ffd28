"""RTP headers in and out (RFC 3550), and the level of the sound in them (RFC 6464).

Numbers on the wire wrap; `Unwrapped` makes them rise for ever. `OutgoingStream` gives every
listener one SSRC whose seq and media time go on without a jump, whatever is played to it: one
talker's own packets, a mix, or nothing for an hour. A gap of the sender stays a gap for the
listener, so that its own concealment works.

It refuses to guess: a header that runs past its packet is dropped with `PacketMalformed`. What a
header says about loudness is the sender's claim, and `talkers` treats it as one.
"""

import struct
from dataclasses import dataclass
from typing import Final

from audio.errors import PacketMalformed
from audio.limits import PACKET_BYTES_MAX, SAMPLE_RATE, TICK_SAMPLES

HEADER_BYTES: Final = 12
_HEADER: Final = struct.Struct("!BBHII")
_ONE_BYTE: Final = 0xBEDE
_TWO_BYTE: Final = 0x1000
SILENCE_DBOV: Final = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class RtpPacket:
    """One packet: `at_samples` is its media time (48 kHz, wraps at 32 bits).

    `level_dbov` is the claimed loudness below full scale, 0 (loudest) to 127 (silent), or None.
    """

    payload_type: int
    seq: int
    at_samples: int
    ssrc: int
    payload: bytes
    marker: bool = False
    level_dbov: int | None = None


def is_rtcp(data: bytes) -> bool:
    """Whether a datagram of the media range is a report and not sound (RFC 5761)."""
    return len(data) > 1 and 192 <= data[1] <= 223


def parse(data: bytes, *, level_id: int | None = None) -> RtpPacket:
    """Read a packet; `level_id` is the negotiated id of the level. Raises PacketMalformed."""
    if not HEADER_BYTES <= len(data) <= PACKET_BYTES_MAX:
        raise PacketMalformed(f"An RTP packet has {len(data)} bytes.")
    first, second, seq, at_samples, ssrc = _HEADER.unpack_from(data)
    if first >> 6 != 2:
        raise PacketMalformed("An RTP packet is not of version 2.")
    start = HEADER_BYTES + 4 * (first & 0x0F)
    end = len(data)
    level = None
    if first & 0x10:
        if start + 4 > end:
            raise PacketMalformed("An RTP header ends inside its extension.")
        profile, words = struct.unpack_from("!HH", data, start)
        stop = start + 4 + 4 * words
        if stop > end:
            raise PacketMalformed("An RTP extension is longer than its packet.")
        if level_id is not None:
            level = _level_in(data[start + 4 : stop], profile, level_id)
        start = stop
    if first & 0x20:
        # The last byte counts the padding, itself included.
        padding = data[-1]
        if not 0 < padding <= end - start:
            raise PacketMalformed("An RTP packet's padding is longer than its payload.")
        end -= padding
    if start > end:
        raise PacketMalformed("An RTP header is longer than its packet.")
    return RtpPacket(
        payload_type=second & 0x7F,
        seq=seq,
        at_samples=at_samples,
        ssrc=ssrc,
        payload=data[start:end],
        marker=bool(second & 0x80),
        level_dbov=level,
    )


def serialize(packet: RtpPacket, *, level_id: int | None = None) -> bytes:
    """The bytes of a packet, with its level if it has one and `level_id` (1..14) is given."""
    assert 0 <= packet.payload_type < 128
    first, extension = 0x80, b""
    if level_id is not None and packet.level_dbov is not None:
        assert 0 < level_id < 15
        first = 0x90
        level = packet.level_dbov & 0x7F
        extension = struct.pack("!HHBBxx", _ONE_BYTE, 1, level_id << 4, level)
    second = packet.marker << 7 | packet.payload_type
    header = _HEADER.pack(first, second, packet.seq, packet.at_samples, packet.ssrc)
    return header + extension + packet.payload


def _level_in(block: bytes, profile: int, level_id: int) -> int | None:
    """The level in an extension block; a block cut short says nothing."""
    if profile != _ONE_BYTE and profile & 0xFFF0 != _TWO_BYTE:
        return None
    one_byte = profile == _ONE_BYTE
    at = 0
    while at < len(block):
        if block[at] == 0:
            at += 1
            continue
        if one_byte:
            number, size, at = block[at] >> 4, (block[at] & 0x0F) + 1, at + 1
            if number == 15:
                return None
        else:
            if at + 2 > len(block):
                return None
            number, size, at = block[at], block[at + 1], at + 2
        if at + size > len(block):
            return None
        if number == level_id and size >= 1:
            return block[at] & 0x7F
        at += size
    return None


class Unwrapped:
    """A number of `bits` bits that wraps, made to rise for ever.

    Each value is taken for the one nearest to the highest value so far.
    """

    def __init__(self, bits: int) -> None:
        assert bits in (16, 32)
        self._modulus = 1 << bits
        self._highest: int | None = None

    def extend(self, value: int) -> int:
        """The value with its missing high bits."""
        assert 0 <= value < self._modulus
        if self._highest is None:
            # A whole turn up, so that what is a little older is not negative.
            self._highest = value + self._modulus
            return self._highest
        half = self._modulus // 2
        step = (value - self._highest + half) % self._modulus - half
        extended = self._highest + step
        self._highest = max(self._highest, extended)
        return extended


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where a frame stands in a listener's stream, as its header will say."""

    seq: int
    at_samples: int
    marker: bool


class OutgoingStream:
    """One listener's stream: seq and media time continuous over every change of what is played.

    `first_seq` and `first_at` are random numbers of the owner's making. The media time follows
    the clock, so that after a silence of a minute it is a minute later.
    """

    def __init__(self, *, first_seq: int, first_at: int) -> None:
        assert 0 <= first_seq < 1 << 16
        self._source: str | None = None
        self._highest_seq = first_seq - 1
        self._next_at = first_at
        self._anchor_at = first_at
        self._anchor_s: float | None = None
        self._first_of_source = 0
        self._seq_shift = 0
        self._at_shift = 0

    def place(
        self, source: str, seq: int, at_samples: int, samples: int, now_s: float
    ) -> Placed | None:
        """Where a source's frame goes; None if it belongs before the source took over.

        `seq` and `at_samples` are unwrapped; `samples` is how long the frame plays.
        """
        assert samples > 0
        if self._anchor_s is None:
            self._anchor_s = now_s
        begins = source != self._source
        if begins:
            due = self._anchor_at + round((now_s - self._anchor_s) * SAMPLE_RATE)
            self._source = source
            self._first_of_source = seq
            self._seq_shift = self._highest_seq + 1 - seq
            self._at_shift = max(due, self._next_at) - at_samples
        elif seq < self._first_of_source:
            return None
        out_seq = seq + self._seq_shift
        out_at = at_samples + self._at_shift
        # A source that pauses (DTX) goes on at a later media time: its next packet is marked.
        gap = begins or out_at > self._next_at + TICK_SAMPLES * max(1, out_seq - self._highest_seq)
        self._highest_seq = max(self._highest_seq, out_seq)
        self._next_at = max(self._next_at, out_at + samples)
        return Placed(seq=out_seq & 0xFFFF, at_samples=out_at & 0xFFFFFFFF, marker=gap)

    def end_source(self) -> None:
        """Forget who was played: the next frame begins anew, with a marker."""
        self._source = None
