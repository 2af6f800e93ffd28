"""Reports about the media (RFC 3550, section 6): ours to the peer, and the peer's to us.

The media path passes by the library's own counters, so the reports are ours as well: a browser
that never hears of loss never turns its error correction on. `Reception` counts one incoming
stream as RFC 3550, appendix A, does. It refuses to trust a report that runs past its packet; a
report about somebody else's stream is ignored by its reader.
"""

import struct
from dataclasses import dataclass
from typing import Final

from audio.errors import PacketMalformed
from audio.limits import RTCP_BLOCKS_MAX, SAMPLE_RATE

_SENDER: Final = 200
_RECEIVER: Final = 201
_DESCRIPTION: Final = 202
_BYE: Final = 203
_BLOCK: Final = struct.Struct("!IIIIII")
# Seconds between the epochs of NTP (1900) and Unix (1970).
_NTP_SHIFT_S: Final = 2_208_988_800


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceptionReport:
    """What one side says about a stream that it receives.

    `fraction_lost` is 0..1 since the report before; `last_sender_report` and `since_it` are the
    middle 32 bits of NTP and units of 1/65536 s, as on the wire.
    """

    ssrc: int
    fraction_lost: float
    lost: int
    highest_seq: int
    jitter_samples: int
    last_sender_report: int = 0
    since_it: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderReport:
    """What a sender says about itself: its clock, its media time, its counts."""

    ssrc: int
    ntp: int
    at_samples: int
    packets: int
    octets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """The content of one compound packet that matters to us."""

    sender: SenderReport | None = None
    about: tuple[ReceptionReport, ...] = ()
    bye: tuple[int, ...] = ()


def parse(data: bytes) -> Reports:
    """Read a compound packet. Raises PacketMalformed."""
    sender: SenderReport | None = None
    about: list[ReceptionReport] = []
    bye: list[int] = []
    at = 0
    while at < len(data):
        if at + 4 > len(data) or data[at] >> 6 != 2:
            raise PacketMalformed("A report is cut short or not of version 2.")
        count, kind = data[at] & 0x1F, data[at + 1]
        end = at + 4 + 4 * int.from_bytes(data[at + 2 : at + 4], "big")
        if end > len(data):
            raise PacketMalformed("A report is longer than its packet.")
        body = data[at + 4 : end]
        if kind == _SENDER:
            if len(body) < 24:
                raise PacketMalformed("A sender's report is cut short.")
            ssrc, ntp, at_samples, packets, octets = struct.unpack_from("!IQIII", body)
            sender = SenderReport(
                ssrc=ssrc, ntp=ntp, at_samples=at_samples, packets=packets, octets=octets
            )
            about += _blocks(body[24:], count)
        elif kind == _RECEIVER:
            about += _blocks(body[4:], count)
        elif kind == _BYE:
            if len(body) < 4 * count:
                raise PacketMalformed("A goodbye is cut short.")
            bye += struct.unpack_from(f"!{count}I", body)
        at = end
    return Reports(sender=sender, about=tuple(about), bye=tuple(bye))


def serialize(
    *, ssrc: int, cname: str, sender: SenderReport | None, about: tuple[ReceptionReport, ...]
) -> bytes:
    """A compound packet: a sender's or receiver's report, then who is speaking (CNAME)."""
    assert len(about) <= RTCP_BLOCKS_MAX
    blocks = b"".join(_block_bytes(report) for report in about)
    if sender is None:
        body = struct.pack("!I", ssrc) + blocks
        report = _chunk(_RECEIVER, len(about), body)
    else:
        assert sender.ssrc == ssrc
        numbers = (ssrc, sender.ntp, sender.at_samples, sender.packets & 0xFFFFFFFF,
                   sender.octets & 0xFFFFFFFF)
        report = _chunk(_SENDER, len(about), struct.pack("!IQIII", *numbers) + blocks)
    name = cname.encode("ascii")
    assert 0 < len(name) < 256
    item = struct.pack("!IBB", ssrc, 1, len(name)) + name + b"\0"
    return report + _chunk(_DESCRIPTION, 1, item + b"\0" * (-len(item) % 4))


def goodbye(ssrc: int) -> bytes:
    """A compound packet that ends a stream."""
    return _chunk(_RECEIVER, 0, struct.pack("!I", ssrc)) + _chunk(_BYE, 1, struct.pack("!I", ssrc))


def ntp_of(unix_s: float) -> int:
    """The 64-bit NTP instant of a wall-clock time in seconds."""
    return round((unix_s + _NTP_SHIFT_S) * (1 << 32)) & 0xFFFFFFFFFFFFFFFF


def middle_of(ntp: int) -> int:
    """The middle 32 bits of an NTP instant, in which reports quote each other."""
    return (ntp >> 16) & 0xFFFFFFFF


class Reception:
    """Counts one incoming stream: what was expected, what came, and how unevenly."""

    def __init__(self, ssrc: int) -> None:
        self.ssrc = ssrc
        self.received = 0
        self._first: int | None = None
        self._highest = 0
        self._jitter = 0.0
        self._transit: float | None = None
        self._expected_before = 0
        self._received_before = 0
        self._sender_report: tuple[int, float] | None = None

    def count(self, seq: int, at_samples: int, now_s: float) -> None:
        """Take note of a packet; seq and media time are unwrapped."""
        self.received += 1
        if self._first is None:
            self._first = self._highest = seq
        self._highest = max(self._highest, seq)
        transit = now_s * SAMPLE_RATE - at_samples
        if self._transit is not None:
            self._jitter += (abs(transit - self._transit) - self._jitter) / 16
        self._transit = transit

    def heard(self, report: SenderReport, now_s: float) -> None:
        """Take note of the sender's own report, which ours will quote."""
        self._sender_report = (middle_of(report.ntp), now_s)

    @property
    def jitter(self) -> float:
        """How unevenly packets come, in samples (RFC 3550, section 6.4.1)."""
        return self._jitter

    @property
    def lost(self) -> int:
        """Packets that did not come, so far; duplicates may make it negative."""
        return self._expected() - self.received

    def report(self, now_s: float) -> ReceptionReport:
        """The report since the last one."""
        expected = self._expected()
        fresh = expected - self._expected_before
        came = self.received - self._received_before
        self._expected_before, self._received_before = expected, self.received
        fraction = max(0, fresh - came) / fresh if fresh > 0 else 0.0
        quoted, since = 0, 0
        if self._sender_report is not None:
            quoted = self._sender_report[0]
            since = round((now_s - self._sender_report[1]) * 65_536)
        return ReceptionReport(
            ssrc=self.ssrc,
            fraction_lost=fraction,
            lost=expected - self.received,
            highest_seq=self._highest & 0xFFFFFFFF,
            jitter_samples=min(round(self._jitter), 0xFFFFFFFF),
            last_sender_report=quoted,
            since_it=min(since, 0xFFFFFFFF),
        )

    def _expected(self) -> int:
        return 0 if self._first is None else self._highest - self._first + 1


def _chunk(kind: int, count: int, body: bytes) -> bytes:
    assert len(body) % 4 == 0
    return struct.pack("!BBH", 0x80 | count, kind, len(body) // 4) + body


def _block_bytes(report: ReceptionReport) -> bytes:
    fraction = min(255, round(report.fraction_lost * 256))
    lost = max(-(1 << 23), min((1 << 23) - 1, report.lost)) & 0xFFFFFF
    return _BLOCK.pack(
        report.ssrc, fraction << 24 | lost, report.highest_seq, report.jitter_samples,
        report.last_sender_report, report.since_it,
    )


def _blocks(body: bytes, count: int) -> list[ReceptionReport]:
    if len(body) < count * _BLOCK.size:
        raise PacketMalformed("A report has fewer blocks than it says.")
    reports = []
    for index in range(count):
        ssrc, loss, highest, jitter, quoted, since = _BLOCK.unpack_from(body, index * _BLOCK.size)
        lost = loss & 0xFFFFFF
        reports.append(ReceptionReport(
            ssrc=ssrc,
            fraction_lost=(loss >> 24) / 256,
            lost=lost - (1 << 24) if lost >> 23 else lost,
            highest_seq=highest,
            jitter_samples=jitter,
            last_sender_report=quoted,
            since_it=since,
        ))
    return reports
