"""One connection: offers answered, packets in and out, reports, and a watch on its life.

    async with Peer(...) as peer:
        answer = await peer.negotiate(offer)     # at once; checks and handshake go on behind it
        reason = await peer.ended()              # left, failed, silent

The block owns every task and the sockets; leaving it closes them within `CLOSE_MAX_S`. A peer who
is unheard for three seconds is gone: reports, checks and packets all count as hearing, and after a
second without any it is asked. The node never offers to a browser, so nothing is ever rolled back.

It refuses to decide who is heard: frames go to `on_frame`, and `play` sends what it is given.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, Self

from aiortc import RTCCertificate

from audio import answer, ice, rtcp, sdp
from audio.call import CallStep
from audio.errors import OfferRefused, PacketMalformed
from audio.incoming import Frame, Incoming
from audio.limits import (
    CANDIDATES_TRIED_MAX,
    CLOSE_MAX_S,
    CONNECT_MAX_S,
    REPORT_EVERY_S,
    SILENT_PEER_S,
)
from audio.negotiation import Agreed, Further, NegotiationStep, Stage, further, next_stage
from audio.outgoing import Outgoing
from audio.rtc_seam import IceServer, LocalParameters, RemoteParameters, Transport
from audio.stats import PeerStats

_ASK_AFTER_S: Final = 1.0
_STALE_AFTER_S: Final = 2.0
_WATCH_EVERY_S: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the owner allows one peer."""

    may_speak: bool = True
    lines_max: int = 1
    policy: ice.Policy = ice.ANYWHERE
    ice_servers: tuple[IceServer, ...] = ()


class Peer:
    """One participant's connection, or one end of a link. An asynchronous context manager.

    `on_frame(line, frame, now_s)` gets what it sends; `on_step` is told of `CallStep`s.
    """

    def __init__(
        self,
        participant_id: str,
        certificate: RTCCertificate,
        terms: Terms,
        *,
        on_frame: Callable[[int, Frame, float], None],
        on_step: Callable[[CallStep], None],
        on_message: Callable[[bytes], None] | None = None,
        is_offering: bool = False,
    ) -> None:
        self.participant_id = participant_id
        self._terms = terms
        self._on_frame, self._on_step, self._on_message = on_frame, on_step, on_message
        self._transport = Transport(
            certificate, is_offering=is_offering, ice_servers=terms.ice_servers,
            on_rtp=self._take_rtp, on_rtcp=self._take_rtcp, on_closed=self._left,
        )
        self._incoming = Incoming(participant_id)
        self.outgoing = tuple(
            Outgoing(ssrc=secrets.randbits(32), first_seq=secrets.randbits(15),
                     first_at=secrets.randbits(31))
            for _ in range(terms.lines_max)
        )
        self._stage = Stage.FRESH
        self._agreed: Agreed | None = None
        self._answer = ""
        self._local: LocalParameters | None = None
        self._session_id, self._version = secrets.randbits(62), 0
        self._is_stale = False
        self._end: asyncio.Future[CallStep] | None = None
        self._hears: tuple[bool, ...] = ()
        self._speaks: tuple[bool, ...] = ()
        self._tasks: asyncio.TaskGroup
        self._stack = AsyncExitStack()
        self._lost_out = 0.0
        self._candidates_left = CANDIDATES_TRIED_MAX
        self._round_trip_s: float | None = None

    async def __aenter__(self) -> Self:
        self._end = asyncio.get_running_loop().create_future()
        await self._stack.__aenter__()
        self._stack.push_async_callback(self._close_transport)
        self._tasks = await self._stack.enter_async_context(asyncio.TaskGroup())
        self._stack.callback(self._cancel_tasks)
        self._running: list[asyncio.Task[None]] = []
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._stage = next_stage(self._stage, NegotiationStep.CLOSED)
        await self._stack.aclose()

    @property
    def hears(self) -> bool:
        """Whether anything may be played to it now."""
        return any(self._hears) and self._transport.is_connected

    @property
    def lost_out(self) -> float:
        """Of what is sent to it, the part it last said it lost (0..1)."""
        return self._lost_out

    async def ended(self) -> CallStep:
        """Wait until the peer left, failed or fell silent."""
        assert self._end is not None, "a peer lives inside its async with"
        return await asyncio.shield(self._end)

    async def negotiate(self, text: str) -> str:
        """Answer an offer, the first or a further one.

        Raises OfferRefused (the session stays as it was), VoiceUnavailable, IllegalStep.
        """
        offer = sdp.read(text)
        kind = None if self._agreed is None else further(self._agreed, offer)
        if kind is Further.REPEATED:
            return self._answer
        if kind is Further.RESTART:
            raise OfferRefused(
                "conflict", "The offer restarts its connection.",
                next="Join again with the same participant id.",
            )
        self._stage = next_stage(self._stage, NegotiationStep.OFFERED)
        try:
            self._answer = await self._answered(offer)
        except BaseException:
            self._stage = next_stage(
                self._stage, NegotiationStep.REFUSED, had_answer=self._agreed is not None
            )
            raise
        self._stage = next_stage(self._stage, NegotiationStep.ANSWERED)
        if self._agreed is None:
            self._start(offer, is_active=offer.setup == "active")
        self._agreed = Agreed(offer=offer)
        return self._answer

    async def offer(self) -> str:
        """Our own offer, for a link: as many lines as the terms say. Raises VoiceUnavailable."""
        assert self._stage is Stage.FRESH
        return answer.write_offer(await self._local_end())

    def accept(self, text: str) -> None:
        """Take the answer to our offer. Raises OfferRefused."""
        assert self._agreed is None, "a link negotiates once"
        theirs = sdp.read(text)
        if theirs.setup == "actpass":
            raise OfferRefused("invalid_params", "An answer must say who begins the handshake.")
        self._agree(theirs, theirs.usable[: self._terms.lines_max])
        self._stage = Stage.ANSWERED
        self._start(theirs, is_active=theirs.setup == "active")
        self._agreed = Agreed(offer=theirs)

    async def add_candidate(self, line: str) -> ice.Verdict:
        """Take one trickled candidate; the verdict says whether it is tried."""
        candidate = ice.parse(line)
        verdict = ice.judge(candidate, self._terms.policy)
        if verdict is ice.Verdict.TRIED and candidate is not None:
            if self._candidates_left <= 0:
                return ice.Verdict.TOO_MANY
            self._candidates_left -= 1
            await self._transport.add_candidate(candidate)
        return verdict

    def play(self, frame: Frame, now_s: float, *, line: int = 0) -> bool:
        """Send a frame on a line, in the listener's own numbers; whether it went out."""
        if line >= len(self._hears) or not self._hears[line]:
            return False
        packet = self.outgoing[line].packet(frame, now_s)
        return packet is not None and self._transport.send_rtp(packet)

    def say(self, message: bytes) -> None:
        """Send a small message beside the media (a link's tags), encrypted like it."""
        self._transport.send_rtcp(message)

    def stats(self) -> PeerStats:
        """The counters now."""
        incoming = self._incoming
        return PeerStats(
            participant_id=self.participant_id,
            packets_in=incoming.received,
            packets_out=sum(line.packets for line in self.outgoing),
            lost_in=incoming.lost / max(1, incoming.lost + incoming.received),
            lost_out=self._lost_out,
            jitter_ms=incoming.jitter_samples / 48,
            round_trip_ms=None if self._round_trip_s is None else self._round_trip_s * 1_000,
            dropped=incoming.dropped + self._transport.dropped,
        )

    # ---- negotiation ---------------------------------------------------------------------------

    async def _local_end(self) -> answer.LocalEnd:
        if self._local is None:
            self._local = await self._transport.gather()
        self._version += 1
        return answer.LocalEnd(
            ufrag=self._local.ufrag, password=self._local.password,
            fingerprints=self._local.fingerprints, candidates=self._local.candidates,
            session_id=self._session_id, version=self._version,
            cname=f"{self._session_id:016x}", ssrcs=tuple(line.ssrc for line in self.outgoing),
        )

    async def _answered(self, offer: sdp.Description) -> str:
        taken = answer.accepted(offer, lines_max=self._terms.lines_max)
        text = answer.write_answer(
            offer, await self._local_end(), lines_max=self._terms.lines_max,
            may_receive=self._terms.may_speak,
        )
        self._agree(offer, taken)
        return text

    def _agree(self, theirs: sdp.Description, lines: tuple[sdp.MediaLine, ...]) -> None:
        """Let the lines of a description hold from now on."""
        self._incoming.agree(lines)
        for line, outgoing in zip(lines, self.outgoing, strict=False):
            outgoing.agree(line)
        self._hears = tuple(line.direction in ("sendrecv", "recvonly") for line in lines)
        self._speaks = tuple(
            self._terms.may_speak and line.direction in ("sendrecv", "sendonly") for line in lines
        )

    def _start(self, theirs: sdp.Description, *, is_active: bool) -> None:
        candidates, _ = ice.choose(theirs.candidates, self._terms.policy)
        self._candidates_left -= len(candidates)
        remote = RemoteParameters(
            ufrag=theirs.ufrag, password=theirs.password, fingerprints=theirs.fingerprints,
            is_active=is_active, is_ice_lite=theirs.is_ice_lite, candidates=candidates,
        )
        self._running.append(self._tasks.create_task(self._live(remote)))

    # ---- life ----------------------------------------------------------------------------------

    async def _live(self, remote: RemoteParameters) -> None:
        """Connect, then watch and report until cancelled."""
        try:
            async with asyncio.timeout(CONNECT_MAX_S):
                is_connected = await self._transport.connect(remote)
        except (TimeoutError, OSError, ValueError):
            # The library's words for a peer who does not answer, or answers nonsense.
            is_connected = False
        if not is_connected:
            self._finish(CallStep.FAILED)
            return
        self._on_step(CallStep.CONNECTED)
        reported_s = time.monotonic()
        while True:
            await asyncio.sleep(_WATCH_EVERY_S)
            now_s = time.monotonic()
            self._watch(now_s)
            if now_s - reported_s >= REPORT_EVERY_S:
                reported_s = now_s
                self._report(now_s)
                if now_s - self._transport.heard_s >= _ASK_AFTER_S:
                    self._running = [task for task in self._running if not task.done()]
                    self._running.append(self._tasks.create_task(self._transport.probe()))

    def _watch(self, now_s: float) -> None:
        unheard_s = now_s - self._transport.heard_s
        if unheard_s >= SILENT_PEER_S - _WATCH_EVERY_S:
            self._finish(CallStep.SILENT)
        elif unheard_s >= _STALE_AFTER_S and not self._is_stale:
            self._is_stale = True
            self._on_step(CallStep.UNHEARD)
        elif unheard_s < _STALE_AFTER_S and self._is_stale:
            self._is_stale = False
            self._on_step(CallStep.HEARD)

    def _report(self, now_s: float) -> None:
        ntp = rtcp.ntp_of(time.time())  # noqa: TID251 - reports carry the wall clock (RFC 3550)
        about = self._incoming.reports(now_s)
        for index, line in enumerate(self.outgoing[: max(1, len(self._hears))]):
            self._transport.send_rtcp(rtcp.serialize(
                ssrc=line.ssrc, cname=f"{self._session_id:016x}",
                sender=line.sender_report(ntp, now_s), about=about if index == 0 else (),
            ))

    def _finish(self, step: CallStep) -> None:
        assert self._end is not None
        if not self._end.done():
            self._end.set_result(step)

    def _left(self) -> None:
        self._finish(CallStep.LEFT)

    def _cancel_tasks(self) -> None:
        for task in self._running:
            task.cancel()

    async def _close_transport(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_MAX_S):
                await self._transport.close()
        except TimeoutError:
            # The sockets are closed by then; what hangs is a farewell that nobody awaits.
            return

    # ---- packets -------------------------------------------------------------------------------

    def _take_rtp(self, data: bytes, now_s: float) -> None:
        line, frames = self._incoming.take(data, now_s)
        if line < len(self._speaks) and self._speaks[line]:
            for frame in frames:
                self._on_frame(line, frame, now_s)

    def _take_rtcp(self, data: bytes, now_s: float) -> None:
        if self._on_message is not None:
            self._on_message(data)
        try:
            reports = rtcp.parse(data)
        except PacketMalformed:
            self._incoming.dropped += 1
            return
        if reports.sender is not None:
            self._incoming.heard(reports.sender, now_s)
        ours = {line.ssrc for line in self.outgoing}
        for block in reports.about:
            if block.ssrc not in ours:
                continue
            self._lost_out = block.fraction_lost
            if block.last_sender_report:
                middle = rtcp.middle_of(rtcp.ntp_of(time.time()))  # noqa: TID251 - as above
                units = (middle - block.last_sender_report - block.since_it) & 0xFFFFFFFF
                # A turn of the clock or a lie gives hours; such a trip tells nothing.
                if units < 60 << 16:
                    self._round_trip_s = units / 65_536
