"""One open call: its seats, their connections, its bridge and its links, kept in step.

The rules are `Call`'s; this file makes the media follow them at once: who is muted or removed is
dropped from the bridge before the function returns. A seat is a participant's place or a link's
end, from its first offer to its `Closed`.

It refuses to keep a seat without its task: `host` is the task, and cleans up whatever happens.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from aiortc import RTCCertificate

from audio.bridge import Bridge
from audio.call import Call, CallStep, Presence
from audio.errors import AudioError, CallRefused
from audio.events import Closed, Event, Joined
from audio.incoming import Frame
from audio.limits import LINKS_MAX
from audio.link import Link, Origins, Tag
from audio.peer import Peer, Terms
from audio.stats import CallStats


@dataclass(slots=True, kw_only=True, eq=False)
class Seat:
    """A participant's or a link's connection, and how it is to end."""

    name: str
    peer: Peer
    link: Link | None = None
    is_told: bool = False
    description: asyncio.Future[str] = field(default_factory=asyncio.Future)
    ending: asyncio.Future[CallStep] = field(default_factory=asyncio.Future)

    def end(self, step: CallStep) -> None:
        """Let the connection end for this reason; the first reason counts."""
        if not self.ending.done():
            self.ending.set_result(step)


class OpenCall:
    """One call and its media. The engine runs `bridge.run` and each seat's `host` as tasks."""

    def __init__(
        self,
        call_id: str,
        *,
        engine_id: str,
        certificate: RTCCertificate,
        on_event: Callable[[Event], None],
    ) -> None:
        self.call_id = call_id
        self._rules = Call(call_id)
        self._engine_id, self._certificate, self._on_event = engine_id, certificate, on_event
        self._seats: dict[str, Seat] = {}
        self._listeners: dict[str, Peer] = {}
        self._links: dict[str, Seat] = {}
        self._origins = Origins()
        self._remote: dict[str, Tag] = {}
        self._told: tuple[str, ...] = ()
        self.ticking: asyncio.Task[None]
        self.bridge = Bridge(
            self._listeners, may_be_heard=self._may_be_heard, on_talkers=lambda talkers: None,
            on_passed=self._to_links,
        )

    @property
    def is_empty(self) -> bool:
        """Whether nobody is in the call, nor about to be."""
        return not self._seats and not self._links

    def seat(self, participant_id: str, member_id: str, terms: Terms) -> Seat:
        """Give a participant his place. Raises CallRefused."""
        if participant_id in self._links:
            raise CallRefused("conflict", "This id is a link's.")
        _, replaced = self._rules.join(participant_id, member_id, may_speak=terms.may_speak)
        before = self._seats.pop(participant_id, None)
        if before is not None:
            self._unhear(participant_id)
            before.end(CallStep.REPLACED)
        assert (replaced is None) == (before is None)
        seat = Seat(name=participant_id, peer=Peer(
            participant_id, self._certificate, terms,
            on_frame=lambda line, frame, now_s: self.bridge.take(participant_id, frame, now_s),
            on_step=lambda step: self._step(seat, step),
        ))
        self._seats[participant_id] = seat
        return seat

    def seat_link(
        self, link_id: str, terms: Terms, *, relays: bool, is_offering: bool = False
    ) -> Seat:
        """Give a link its end in this call. The same id again replaces it. Raises CallRefused."""
        if link_id in self._seats:
            raise CallRefused("conflict", "This id is a participant's.")
        if link_id not in self._links and len(self._links) >= LINKS_MAX:
            raise CallRefused("busy", f"The call has {LINKS_MAX} links already.")
        before = self._links.pop(link_id, None)
        if before is not None:
            before.end(CallStep.REPLACED)
        link = Link(
            self._engine_id, relays=relays,
            on_frame=lambda tag, frame, now_s: self._from_link(link_id, tag, frame, now_s),
        )
        seat = Seat(name=link_id, link=link, peer=Peer(
            link_id, self._certificate, terms, is_offering=is_offering, on_frame=link.take,
            on_step=lambda step: None, on_message=link.told,
        ))
        self._links[link_id] = seat
        return seat

    def known(self, name: str) -> Seat:
        """The seat of a participant or link. Raises CallRefused (`not_found`)."""
        seat = self._seats.get(name) or self._links.get(name)
        if seat is None:
            raise CallRefused("not_found", "This participant is not in the call.")
        return seat

    def mute(self, participant_id: str, *, is_muted: bool) -> None:
        """Set the wish, and act on it at once. Raises CallRefused."""
        if not self._rules.mute(participant_id, is_muted=is_muted).is_audible:
            self.bridge.drop(participant_id)

    def close(self, step: CallStep) -> None:
        """End every seat."""
        for seat in [*self._seats.values(), *self._links.values()]:
            seat.end(step)
            self._unhear(seat.name)

    async def host(self, seat: Seat, offer: str | None) -> None:
        """Hold a seat's connection from its first description to its end."""
        step = CallStep.FAILED
        try:
            async with seat.peer as peer:
                try:
                    text = await (peer.offer() if offer is None else peer.negotiate(offer))
                except AudioError as refused:
                    seat.description.set_exception(refused)
                    return
                seat.description.set_result(text)
                if seat.link is None and self._seats.get(seat.name) is seat:
                    self._listeners[seat.name] = peer
                step = await self._until_end(seat)
                self._unseat(seat, step)
        finally:
            if not seat.description.done():
                seat.description.set_exception(CallRefused("voice_lost", "The call has ended."))
            self._unseat(seat, step)

    def tell_links(self) -> None:
        """Say again whose voices the links carry."""
        for seat in self._links.values():
            assert seat.link is not None
            seat.link.tell(seat.peer)

    def changed_talkers(self) -> tuple[str, ...] | None:
        """Who is heard, if that has changed since the last time it was asked."""
        if self.bridge.talkers == self._told:
            return None
        self._told = self.bridge.talkers
        return self._told

    def stats(self) -> CallStats:
        """The counters now."""
        recovered, concealed, depth_s = self.bridge.mended
        return CallStats(
            call_id=self.call_id, talkers=self.bridge.talkers, mode=self.bridge.mode,
            ticks=self.bridge.ticks, late_ticks=self.bridge.late_ticks, concealed=concealed,
            recovered=recovered, depth_ms=depth_s * 1_000,
            peers=tuple(seat.peer.stats() for seat in (*self._seats.values(),
                                                      *self._links.values())),
        )

    async def _until_end(self, seat: Seat) -> CallStep:
        """Wait for the connection's own end, or for the one that was decided."""

        async def watch() -> None:
            seat.end(await seat.peer.ended())

        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(watch())
            step = await asyncio.shield(seat.ending)
            watching.cancel()
        return step

    def _unseat(self, seat: Seat, step: CallStep) -> None:
        """Take a seat away, once: nothing of it is heard, and its end is told."""
        if seat.link is not None:
            if self._links.get(seat.name) is seat:
                del self._links[seat.name]
                for origin in self._origins.forget(seat.name):
                    self._remote.pop(origin, None)
                    self.bridge.drop(origin)
        elif self._seats.get(seat.name) is seat:
            self._unhear(seat.name)
            del self._seats[seat.name]
            if self._rules.get(seat.name) is not None:
                self._rules.step(seat.name, step)
        if not seat.is_told and seat.description.done() and seat.description.exception() is None:
            seat.is_told = True
            self._on_event(
                Closed(call_id=self.call_id, participant_id=seat.name, reason=step.value)
            )

    def _unhear(self, name: str) -> None:
        """Neither heard nor played to, from this moment."""
        self._listeners.pop(name, None)
        self.bridge.drop(name)

    def _step(self, seat: Seat, step: CallStep) -> None:
        participant = self._rules.get(seat.name)
        if self._seats.get(seat.name) is not seat or participant is None:
            return
        participant = self._rules.step(seat.name, step)
        if step is CallStep.CONNECTED:
            self._on_event(Joined(
                call_id=self.call_id, participant_id=seat.name,
                member_id=participant.member_id, is_muted=participant.is_muted,
            ))

    def _may_be_heard(self, who: str) -> bool:
        participant = self._rules.get(who)
        if participant is None:
            return who in self._remote
        return participant.is_audible and participant.presence is not Presence.JOINING

    def _to_links(self, who: str, frame: Frame, now_s: float) -> None:
        if not self._links:
            return
        tag = self._remote.get(who) or Tag(origin=f"{self._engine_id}/{who}", hops=0)
        for seat in self._links.values():
            assert seat.link is not None
            seat.link.forward(seat.peer, tag, frame, now_s)

    def _from_link(self, link_id: str, tag: Tag, frame: Frame, now_s: float) -> None:
        if not self._origins.is_from(tag.origin, link_id, now_s):
            return
        self._remote[tag.origin] = tag
        self.bridge.take(tag.origin, frame, now_s)
