"""A scripted participant: speaks tones or bursts, hears with a decoder, measures its own pacing.

It stands on the engine's own transport and packet formats, but on none of its media path. That
aiortc's stock peer connection and a browser understand the engine as well is shown elsewhere.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from audio import answer, opus, red, rtp, sdp
from audio.errors import PacketMalformed
from audio.limits import SAMPLE_RATE, TICK_S, TICK_SAMPLES
from audio.mix import Pcm, level_dbov
from audio.rtc_seam import RemoteParameters, Transport, make_certificate
from audio.rtcp import Reports
from audio.rtcp import parse as parse_rtcp
from tests.audio.sounds import strength, tone

CERTIFICATE = make_certificate()
HEARING_S = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One packet as it came, and its sound."""

    at_s: float
    packet: rtp.RtpPacket
    sound: Pcm


@dataclass(slots=True, kw_only=True)
class Script:
    """What a participant says: `sound(tick)`, or nothing where it gives None."""

    sound: Callable[[int], Pcm | None] = lambda tick: None
    uses_red: bool = True
    says_level: bool = True
    claimed_dbov: int | None = None
    change: Callable[[bytes], bytes] = field(default=lambda payload: payload)


class Participant:
    """One end of a call. `offer`, `accept`, then it speaks by its script until the block ends."""

    def __init__(self, name: str, script: Script | None = None, *, direction: str = "sendrecv",
                 keeps_s: float = 3.0) -> None:
        self.name = name
        self.script = script or Script()
        self.direction = direction
        self.transport = Transport(
            CERTIFICATE, is_offering=True, on_rtp=self._hear, on_rtcp=self._hear_reports,
            on_closed=self._note_closed,
        )
        self.heard: list[Heard] = []
        self.reports: list[Reports] = []
        self.late_s: list[float] = []
        self.sent: dict[int, float] = {}
        self.connected, self.closed = asyncio.Event(), asyncio.Event()
        self.ssrc = secrets.randbits(32)
        self._keeps_s = keeps_s
        self._news = asyncio.Event()
        self._decoder = opus.Decoder()
        self._session, self._version, self._seq = secrets.randbits(60), 0, secrets.randbits(15)
        self._at = secrets.randbits(31)
        self._line: sdp.MediaLine | None = None
        self._stack = AsyncExitStack()
        self._is_over = False

    async def __aenter__(self) -> Self:
        self._stack.push_async_callback(self.transport.close)
        self._tasks = await self._stack.enter_async_context(asyncio.TaskGroup())
        self._running: list[asyncio.Task[None]] = []
        self._stack.callback(self._cancel)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    def _cancel(self) -> None:
        for task in self._running:
            task.cancel()

    def _note_closed(self) -> None:
        self.closed.set()

    def say(self, hz: float | None, *, amplitude: float = 6_000) -> None:
        """Speak a tone from now on, or nothing."""
        if hz is None:
            self.script.sound = lambda tick: None
        else:
            self.script.sound = lambda tick: tone(hz, tick, amplitude=amplitude)

    async def offer(self, *, without_candidates: bool = False) -> str:
        """The offer of one audio line."""
        if self._version == 0:
            self._local = await self.transport.gather()
        self._version += 1
        end = answer.LocalEnd(
            ufrag=self._local.ufrag, password=self._local.password,
            fingerprints=self._local.fingerprints,
            candidates=() if without_candidates else self._local.candidates,
            session_id=self._session, version=self._version, cname=self.name, ssrcs=(self.ssrc,),
        )
        text = answer.write_offer(end).replace("a=sendrecv", f"a={self.direction}")
        if not self.script.uses_red:
            lines = [one for one in text.split("\r\n") if not one.startswith(("a=rtpmap:63",
                                                                             "a=fmtp:63"))]
            text = "\r\n".join(lines).replace("SAVPF 63 111", "SAVPF 111")
        return text

    def accept(self, text: str) -> None:
        """Take the answer; the first one starts connecting and speaking."""
        theirs = sdp.read(text)
        is_first = self._line is None
        (self._line,) = theirs.usable
        if is_first:
            self._running.append(self._tasks.create_task(self._live(theirs)))

    async def _live(self, theirs: sdp.Description) -> None:
        candidates = tuple(one for one in theirs.candidates if one is not None)
        assert await self.transport.connect(RemoteParameters(
            ufrag=theirs.ufrag, password=theirs.password, fingerprints=theirs.fingerprints,
            is_active=theirs.setup == "active", is_ice_lite=False, candidates=candidates,
        ))
        self.connected.set()
        await self._speak()

    async def _speak(self) -> None:
        encoder = opus.Encoder()
        redundant = red.Redundant(111)
        begun_s, tick = time.monotonic(), 0
        while True:
            due_s = begun_s + tick * TICK_S
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            self.late_s.append(time.monotonic() - due_s)
            sound = self.script.sound(tick)
            if sound is not None and self._line is not None and "recv" in self._line.direction:
                self._send(encoder.encode(sound), sound, redundant)
            tick += 1
            self._at += TICK_SAMPLES

    def _send(self, payload: bytes, sound: Pcm, redundant: red.Redundant) -> None:
        assert self._line is not None
        payload, kind = self.script.change(payload), self._line.opus_type
        if self.script.uses_red and self._line.red_type is not None:
            payload, kind = redundant.wrap("own", self._at, payload), self._line.red_type
        self._seq += 1
        level = self.script.claimed_dbov
        if level is None:
            level = round(level_dbov(sound))
        self.sent[self._at & 0xFFFFFFFF] = time.monotonic()
        self.transport.send_rtp(rtp.serialize(
            rtp.RtpPacket(
                payload_type=kind, seq=self._seq & 0xFFFF, at_samples=self._at & 0xFFFFFFFF,
                ssrc=self.ssrc, payload=payload,
                level_dbov=level if self.script.says_level else None,
            ),
            level_id=self._line.level_id,
        ))

    def _hear(self, data: bytes, now_s: float) -> None:
        packet = rtp.parse(data, level_id=1)
        assert self._line is not None
        payload = packet.payload
        try:
            if packet.payload_type == self._line.red_type:
                payload = red.unpack(payload)[-1].payload
            sound = self._decoder.decode(payload)
        except PacketMalformed:
            sound = np.zeros(0, dtype=np.int16)
        self.heard.append(Heard(at_s=now_s, packet=packet, sound=sound))
        while self.heard[0].at_s < now_s - self._keeps_s:
            del self.heard[0]
        self._news.set()

    def _hear_reports(self, data: bytes, now_s: float) -> None:
        self.reports.append(parse_rtcp(data))
        self._news.set()

    def recent(self, span_s: float = HEARING_S) -> Pcm:
        """What was heard in the last moments."""
        since_s = time.monotonic() - span_s
        parts = [one.sound for one in self.heard if one.at_s >= since_s]
        return np.concatenate([np.zeros(0, dtype=np.int16), *parts])

    def hears(self, hz: float) -> bool:
        """Whether a tone is in what was heard in the last moments."""
        sound = self.recent()
        return sound.size >= HEARING_S * SAMPLE_RATE * 0.5 and strength(sound, hz) > 1_000

    async def until(self, is_so: Callable[[], bool], *, deadline_s: float = 8.0) -> None:
        """Wait until something is so; looked at with every packet that comes."""
        async with asyncio.timeout(deadline_s):
            while not is_so():
                self._news.clear()
                await self._news.wait()

    async def until_hears(self, *tones: float, deadline_s: float = 8.0) -> None:
        """Wait until all the tones are heard at once."""
        await self.until(lambda: all(self.hears(hz) for hz in tones), deadline_s=deadline_s)

    async def until_silent(self, *, deadline_s: float = 3.0) -> float:
        """Wait until nothing has come for 200 ms; when the last packet came (monotonic)."""
        async with asyncio.timeout(deadline_s):
            while self.heard and time.monotonic() - self.heard[-1].at_s < 0.2:
                await self._tick()
        return self.heard[-1].at_s if self.heard else 0.0

    async def assert_not_heard(self, *tones: float, for_s: float = 0.6) -> None:
        """Listen for a while; none of the tones may be in it. Absence needs a stretch of time."""
        await asyncio.sleep(for_s)
        sound = self.recent(for_s)
        for hz in tones:
            assert strength(sound, hz) < 200, f"{self.name} hears {hz} Hz"

    @staticmethod
    async def _tick() -> None:
        await asyncio.sleep(TICK_S)

    def late_p99_s(self) -> float:
        """How late this participant itself was: a run with a high value says nothing."""
        return float(np.percentile(self.late_s, 99)) if self.late_s else 0.0
