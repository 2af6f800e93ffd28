"""What one listener gets: frames in its own numbers, in the format it took.

Payload type, redundancy and the level's extension are the listener's, as its offer said; SSRC, seq
and media time are one stream for the whole call, whoever is played (`rtp.OutgoingStream`). Pure;
it refuses frames that are older than the change to their talker.
"""

from audio import rtcp, rtp
from audio.incoming import Frame
from audio.limits import SAMPLE_RATE
from audio.red import Redundant
from audio.sdp import MediaLine


class Outgoing:
    """The sending half of one m-line."""

    def __init__(self, *, ssrc: int, first_seq: int, first_at: int) -> None:
        self.ssrc = ssrc
        self.packets = 0
        self._octets = 0
        self._stream = rtp.OutgoingStream(first_seq=first_seq, first_at=first_at)
        self._opus_type = -1
        self._red_type: int | None = None
        self._level_id: int | None = None
        self._redundant: Redundant | None = None
        self._last: tuple[int, float] | None = None

    def agree(self, line: MediaLine) -> None:
        """Take the numbers of the listener's description that now holds."""
        if (line.opus_type, line.red_type) != (self._opus_type, self._red_type):
            self._opus_type, self._red_type = line.opus_type, line.red_type
            self._redundant = None if line.red_type is None else Redundant(line.opus_type)
        self._level_id = line.level_id

    def packet(self, frame: Frame, now_s: float) -> bytes | None:
        """The packet of a frame; None for one that is too old to be placed."""
        assert self._opus_type >= 0, "nothing was agreed on"
        placed = self._stream.place(
            frame.source, frame.seq, frame.at_samples, frame.samples, now_s
        )
        if placed is None:
            return None
        payload, payload_type = frame.payload, self._opus_type
        if self._redundant is not None and self._red_type is not None:
            payload = self._redundant.wrap(frame.source, frame.at_samples, frame.payload)
            payload_type = self._red_type
        self.packets += 1
        self._octets += len(payload)
        self._last = (placed.at_samples, now_s)
        return rtp.serialize(
            rtp.RtpPacket(
                payload_type=payload_type, seq=placed.seq, at_samples=placed.at_samples,
                ssrc=self.ssrc, payload=payload, marker=placed.marker,
                level_dbov=frame.level_dbov,
            ),
            level_id=self._level_id,
        )

    def sender_report(self, ntp: int, now_s: float) -> rtcp.SenderReport | None:
        """What to report about this stream; None before its first packet."""
        if self._last is None:
            return None
        at_samples, sent_s = self._last
        since = round((now_s - sent_s) * SAMPLE_RATE)
        return rtcp.SenderReport(
            ssrc=self.ssrc, ntp=ntp, at_samples=(at_samples + since) & 0xFFFFFFFF,
            packets=self.packets, octets=self._octets,
        )
