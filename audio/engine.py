"""All calls of one process: seats people, joins engines, and tells what happens.

    async with Engine("install:a", on_event=told) as engine:
        answer = await engine.join("room", "tab-1", "anna", offer)

Each participant is one task that holds his `Peer` open; whatever ends it (he leaves, is removed,
falls silent, the connection fails) comes out as one `Closed` with its reason. A call is made by its
first join and ends with its last participant or link.

It refuses what `Call`, `sdp` and `negotiation` refuse, with their reasons, and leaves nothing of a
refused join behind.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Self

from audio import ice, rtc_seam
from audio.call import CallStep
from audio.errors import CallRefused
from audio.events import Closed, Event, Speaking, Stats
from audio.limits import CALLS_MAX, ID_CHARS_MAX, SPEAKING_EVERY_S, STATS_EVERY_S
from audio.negotiation import offers_first
from audio.opus import library
from audio.peer import Terms
from audio.rtc_seam import IceServer
from audio.seating import OpenCall, Seat


class Engine:
    """The calls of this process. An asynchronous context manager; it owns every task."""

    def __init__(
        self,
        engine_id: str,
        *,
        on_event: Callable[[Event], None],
        policy: ice.Policy = ice.ANYWHERE,
        ice_servers: tuple[IceServer, ...] = (),
    ) -> None:
        assert 0 < len(engine_id) <= ID_CHARS_MAX and "/" not in engine_id
        self.engine_id = engine_id
        self._on_event = on_event
        self._policy, self._ice_servers = policy, ice_servers
        self._calls: dict[str, OpenCall] = {}
        self._stack = AsyncExitStack()
        self._tasks: asyncio.TaskGroup

    async def __aenter__(self) -> Self:
        """Raises VoiceUnavailable when a library is missing or has changed."""
        library()
        rtc_seam.verify()
        self._certificate = rtc_seam.make_certificate()
        self._tasks = await self._stack.enter_async_context(asyncio.TaskGroup())
        self._teller = self._tasks.create_task(self._tell())
        return self

    async def __aexit__(self, *exception: object) -> None:
        for call in list(self._calls.values()):
            call.close(CallStep.LEFT)
        self._teller.cancel()
        await self._stack.aclose()

    @property
    def calls(self) -> tuple[str, ...]:
        """The ids of the calls that are open."""
        return tuple(self._calls)

    async def join(
        self, call_id: str, participant_id: str, member_id: str, offer: str, *,
        may_speak: bool = True,
    ) -> str:
        """Seat a participant; the answer to his offer. The same id again replaces him.

        Raises CallRefused, OfferRefused, VoiceUnavailable.
        """
        call = self._open(call_id)
        try:
            seat = call.seat(participant_id, member_id, self._terms(may_speak=may_speak))
            return await self._hosted(call, seat, offer)
        finally:
            self._close_if_empty(call)

    async def renegotiate(self, call_id: str, participant_id: str, offer: str) -> str:
        """Answer a further offer. Raises CallRefused (`not_found`), OfferRefused."""
        return await self._seat(call_id, participant_id).peer.negotiate(offer)

    async def add_candidate(self, call_id: str, participant_id: str, line: str) -> str:
        """Take a trickled candidate; the verdict's word. Raises CallRefused (`not_found`)."""
        return (await self._seat(call_id, participant_id).peer.add_candidate(line)).value

    def leave(self, call_id: str, participant_id: str, *, removed: bool = False) -> None:
        """End a participant's connection now. Raises CallRefused (`not_found`)."""
        seat = self._seat(call_id, participant_id)
        seat.end(CallStep.REMOVED if removed else CallStep.LEFT)

    def mute(self, call_id: str, participant_id: str, *, is_muted: bool) -> None:
        """Let a participant be unheard, or heard again, from now on. Raises CallRefused."""
        self._known(call_id).mute(participant_id, is_muted=is_muted)

    def close_call(self, call_id: str) -> None:
        """End a call for everybody. Raises CallRefused (`not_found`)."""
        self._known(call_id).close(CallStep.REMOVED)

    async def offer_link(self, call_id: str, link_id: str, *, relays: bool = False) -> str:
        """Our offer for a link to the engine `link_id`, whose id is the higher one.

        Raises CallRefused (`conflict` when it is the other's turn), VoiceUnavailable.
        """
        self._check_turn(link_id, is_ours=True)
        call = self._open(call_id)
        try:
            seat = call.seat_link(link_id, self._terms(is_link=True), relays=relays,
                                  is_offering=True)
            return await self._hosted(call, seat, None)
        finally:
            self._close_if_empty(call)

    def accept_link(self, call_id: str, link_id: str, answer: str) -> None:
        """Take the other engine's answer. Raises CallRefused (`not_found`), OfferRefused."""
        self._seat(call_id, link_id).peer.accept(answer)

    async def answer_link(
        self, call_id: str, link_id: str, offer: str, *, relays: bool = False
    ) -> str:
        """Answer the offer of a link from the engine `link_id`, whose id is the lower one.

        Two offers that cross are no conflict: this one is refused, our own will be answered.
        Raises CallRefused, OfferRefused.
        """
        self._check_turn(link_id, is_ours=False)
        call = self._open(call_id)
        try:
            seat = call.seat_link(link_id, self._terms(is_link=True), relays=relays)
            return await self._hosted(call, seat, offer)
        finally:
            self._close_if_empty(call)

    def _check_turn(self, link_id: str, *, is_ours: bool) -> None:
        if link_id == self.engine_id:
            raise CallRefused("conflict", "An engine does not link to itself.")
        if offers_first(self.engine_id, link_id) != is_ours:
            raise CallRefused(
                "conflict", "Of two engines the one with the lower id offers the link.",
                next="Wait for the other side's offer." if is_ours else "Answer our offer.",
            )

    def stats(self, call_id: str) -> Stats:
        """The counters of a call. Raises CallRefused (`not_found`)."""
        return Stats(call_id=call_id, stats=self._known(call_id).stats())

    def _terms(self, *, may_speak: bool = True, is_link: bool = False) -> Terms:
        return Terms(
            may_speak=may_speak, lines_max=3 if is_link else 1, policy=self._policy,
            ice_servers=self._ice_servers,
        )

    def _open(self, call_id: str) -> OpenCall:
        call = self._calls.get(call_id)
        if call is None:
            if len(self._calls) >= CALLS_MAX:
                raise CallRefused("busy", f"There are {CALLS_MAX} calls already.")
            call = OpenCall(
                call_id, engine_id=self.engine_id, certificate=self._certificate,
                on_event=self._on_event,
            )
            call.ticking = self._tasks.create_task(call.bridge.run())
            self._calls[call_id] = call
        return call

    def _known(self, call_id: str) -> OpenCall:
        call = self._calls.get(call_id)
        if call is None:
            raise CallRefused("not_found", "There is no such call.")
        return call

    def _seat(self, call_id: str, name: str) -> Seat:
        return self._known(call_id).known(name)

    async def _hosted(self, call: OpenCall, seat: Seat, offer: str | None) -> str:
        """Start the task that holds a seat's connection; its first description."""
        self._tasks.create_task(self._host(call, seat, offer))
        try:
            return await asyncio.shield(seat.description)
        except asyncio.CancelledError:
            # Whoever asked has gone away: nobody will ever use this connection.
            seat.end(CallStep.LEFT)
            raise

    async def _host(self, call: OpenCall, seat: Seat, offer: str | None) -> None:
        """Hold one connection from its first offer to its end."""
        try:
            await call.host(seat, offer)
        finally:
            self._close_if_empty(call)

    def _close_if_empty(self, call: OpenCall) -> None:
        if call.is_empty and self._calls.get(call.call_id) is call:
            del self._calls[call.call_id]
            call.ticking.cancel()
            self._on_event(Closed(call_id=call.call_id, participant_id=None, reason="empty"))

    async def _tell(self) -> None:
        """Say who speaks, at most ten times a second, and the counters once a second."""
        told_s = time.monotonic()
        while True:
            await asyncio.sleep(SPEAKING_EVERY_S)
            now_s = time.monotonic()
            is_time = now_s - told_s >= STATS_EVERY_S
            told_s = now_s if is_time else told_s
            for call in list(self._calls.values()):
                if (talkers := call.changed_talkers()) is not None:
                    self._on_event(Speaking(call_id=call.call_id, talkers=talkers))
                if is_time:
                    call.tell_links()
                    self._on_event(Stats(call_id=call.call_id, stats=call.stats()))
