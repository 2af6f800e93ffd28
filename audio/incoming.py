"""What one peer sends, made into frames: the right stream, the right format, in rising numbers.

An m-line has one voice at a time. A second SSRC on it is a new track only when the first has
fallen silent; otherwise it is noise, and dropped. A redundant packet becomes its newest frame and
copies of earlier ones, each with its own media time. Formats that were not agreed on (comfort
noise, keys of a telephone) are dropped.

Pure: `now_s` is an argument. It refuses to decode.
"""

from dataclasses import dataclass, field
from typing import Final

from audio import red, rtcp, rtp
from audio.errors import PacketMalformed
from audio.ice import CheckBudget
from audio.limits import PACKETS_BURST_MAX, PACKETS_PER_S_MAX, REPORT_EVERY_S
from audio.opus_toc import frame_samples
from audio.sdp import MediaLine

# A track that is silent for so long gives its line to the next one.
_TRACK_SILENT_S: Final = 0.5
# A track that is silent for longer is not reported about.
_REPORTED_FOR_S: Final = 10 * REPORT_EVERY_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One Opus packet of a talker: `seq` and `at_samples` rise for ever within `source`."""

    source: str
    seq: int
    at_samples: int
    samples: int
    payload: bytes
    is_copy: bool = False
    level_dbov: int | None = None


@dataclass(slots=True, kw_only=True)
class _Track:
    """One SSRC: its wrapped numbers, and what was counted of it."""

    ssrc: int
    reception: rtcp.Reception
    seqs: rtp.Unwrapped = field(default_factory=lambda: rtp.Unwrapped(16))
    ats: rtp.Unwrapped = field(default_factory=lambda: rtp.Unwrapped(32))
    heard_s: float = 0.0


class Incoming:
    """The receiving half of a peer's m-lines. `take` packets, get frames."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: tuple[MediaLine, ...] = ()
        self._level_id: int | None = None
        self._tracks: dict[int, _Track] = {}
        self._budget = CheckBudget(per_s=PACKETS_PER_S_MAX, burst=PACKETS_BURST_MAX)
        self.dropped = 0

    @property
    def received(self) -> int:
        """Packets of the tracks that are heard now."""
        return sum(track.reception.received for track in self._tracks.values())

    @property
    def jitter_samples(self) -> float:
        """The unevenness of the track that is most uneven."""
        return max((track.reception.jitter for track in self._tracks.values()), default=0.0)

    @property
    def lost(self) -> int:
        """Packets of those tracks that did not come."""
        return sum(max(0, track.reception.lost) for track in self._tracks.values())

    def agree(self, lines: tuple[MediaLine, ...]) -> None:
        """Take the accepted lines of the description that now holds; tracks go on."""
        if len(lines) != len(self._lines):
            share = max(1, len(lines))
            self._budget = CheckBudget(
                per_s=PACKETS_PER_S_MAX * share, burst=PACKETS_BURST_MAX * share
            )
        self._lines = lines
        # Lines of one transport name the same extension by the same number (RFC 8843).
        self._level_id = lines[0].level_id if lines else None
        self._tracks = {line: track for line, track in self._tracks.items() if line < len(lines)}

    def take(self, data: bytes, now_s: float) -> tuple[int, tuple[Frame, ...]]:
        """The line's number and the frames of a decrypted packet, oldest first.

        A packet that is nothing to us gives no frames. Raises nothing.
        """
        if not self._budget.spend(now_s) or not self._lines:
            self.dropped += 1
            return 0, ()
        try:
            packet = rtp.parse(data, level_id=self._level_id)
            line = self._line_of(packet, now_s)
            if line is None:
                self.dropped += 1
                return 0, ()
            return line, self._frames(line, packet, now_s)
        except PacketMalformed:
            self.dropped += 1
            return 0, ()

    def heard(self, report: rtcp.SenderReport, now_s: float) -> None:
        """Take a sender's report about one of the tracks."""
        for track in self._tracks.values():
            if track.ssrc == report.ssrc:
                track.reception.heard(report, now_s)

    def reports(self, now_s: float) -> tuple[rtcp.ReceptionReport, ...]:
        """What to report about the tracks that were heard lately."""
        return tuple(
            track.reception.report(now_s) for track in self._tracks.values()
            if now_s - track.heard_s < _REPORTED_FOR_S
        )

    def _line_of(self, packet: rtp.RtpPacket, now_s: float) -> int | None:
        """The line that a packet belongs to; a new track is begun on it if its turn has come."""
        for number, track in self._tracks.items():
            if track.ssrc == packet.ssrc:
                track.heard_s = now_s
                return number
        declared = next(
            (number for number, line in enumerate(self._lines) if line.ssrc == packet.ssrc), None
        )
        if declared is None and len(self._lines) > 1:
            return None
        number = declared or 0
        before = self._tracks.get(number)
        if before is not None and now_s - before.heard_s < _TRACK_SILENT_S:
            return None
        self._tracks[number] = _Track(
            ssrc=packet.ssrc, reception=rtcp.Reception(packet.ssrc), heard_s=now_s
        )
        return number

    def _frames(self, number: int, packet: rtp.RtpPacket, now_s: float) -> tuple[Frame, ...]:
        line, track = self._lines[number], self._tracks[number]
        if packet.payload_type not in (line.opus_type, line.red_type):
            raise PacketMalformed("A packet is of a format that was not agreed on.")
        seq, at_samples = track.seqs.extend(packet.seq), track.ats.extend(packet.at_samples)
        track.reception.count(seq, at_samples, now_s)
        source = f"{self._name}:{packet.ssrc}"
        if packet.payload_type == line.opus_type:
            blocks: tuple[red.Block, ...] = (
                red.Block(payload_type=line.opus_type, samples_ago=0, payload=packet.payload),
            )
        else:
            blocks = red.unpack(packet.payload)
        frames: list[Frame] = []
        for block in blocks:
            if block.payload_type != line.opus_type or not block.payload:
                continue
            samples = frame_samples(block.payload)
            # How many packets ago a copy was sent is not told; frames of one length are usual.
            back = round(block.samples_ago / samples) if block.samples_ago else 0
            frames.append(Frame(
                source=source, seq=seq - back, at_samples=at_samples - block.samples_ago,
                samples=samples, payload=block.payload, is_copy=back > 0,
                level_dbov=packet.level_dbov if back == 0 else None,
            ))
        return tuple(frames)

