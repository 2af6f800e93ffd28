"""All rooms of this install: opened at the start, each with a runner and a supervisor of its own.

Messages of links are turned into inputs here, at the gate: bytes become proposals and events, or
are refused. One broken room stops alone and is flagged; the others go on (situation 29).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mesh.core import inputs
from mesh.core.authority import Authority
from mesh.core.canonical import decode_object
from mesh.core.effects import Answer, StoreEvent
from mesh.core.errors import Malformed, MeshError, Refused
from mesh.core.event import GENESIS, Event, Proposal, parse_event, parse_proposal
from mesh.core.identity import SigningKey
from mesh.core.limits import BATCH_BYTES_MAX, LOG_PAGE_MAX, ROOMS_MAX
from mesh.core.link_messages import (
    Append,
    CatchUp,
    LinkMessage,
    NotHere,
    Presence,
    Propose,
    Redeem,
    Signal,
    Stored,
    TurnReport,
    Verdict,
    WireProposal,
)
from mesh.core.live_turns import LiveTurns
from mesh.core.room import RoomState
from mesh.core.room_machine import RoomMachine
from mesh.ports import Clock, Links
from mesh.service.room_runner import RoomRunner, Watcher
from mesh.stores import EventStore, RoomRow
from mesh.telemetry import Log


class OpenRooms:
    """Every room of this install by id. `async with` it; leaving it stops the runners."""

    def __init__(
        self,
        *,
        me: str,
        key: SigningKey,
        store: EventStore,
        links: Links,
        clock: Clock,
        changed: Callable[[str], None],
        log: Log,
        verify: Callable[[str], Awaitable[object | None]] | None = None,
    ) -> None:
        """`changed("rooms")` is called when the list of rooms is another.

        `verify` is given after an unclean stop: it answers what is wrong with a room's chain.
        """
        self._verify = verify
        self.me = me
        self._key = key
        self._store = store
        self._links = links
        self._clock = clock
        self._changed = changed
        self._log = log
        self._watchers: list[Watcher] = []
        self._runners: dict[str, RoomRunner] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.broken: dict[str, str] = {}
        self._group = asyncio.TaskGroup()

    def watch(self, watcher: Watcher) -> None:
        """Tell `watcher` of every event from now on. Called before the rooms open."""
        assert not self._runners, "watchers are named before rooms open"
        self._watchers.append(watcher)

    async def __aenter__(self) -> "OpenRooms":
        await self._group.__aenter__()
        for row in await self._store.rooms():
            with self._isolated(row.room_id):
                fault = await self._verify(row.room_id) if self._verify else None
                if fault is not None:
                    raise Refused("storage_failed", str(fault))
                await self._open(row)
        return self

    async def __aexit__(self, *error: Any) -> None:
        for task in self._tasks.values():
            task.cancel()
        await self._group.__aexit__(*error)

    # --- what others ask -------------------------------------------------------------------

    def all(self) -> tuple[RoomRunner, ...]:
        """Every room that runs."""
        return tuple(r for i, r in self._runners.items() if i not in self.broken)

    def get(self, room_id: str) -> RoomRunner:
        """One room.

        Raises:
            Refused: `not_found`, or the reason why it stopped.
        """
        if room_id in self.broken:
            raise Refused("storage_failed", f"This room has stopped: {self.broken[room_id]}")
        runner = self._runners.get(room_id)
        if runner is None:
            raise Refused("not_found", "This install keeps no such room.")
        return runner

    def find(self, room_id: str) -> RoomRunner | None:
        """One room that runs, or None."""
        return None if room_id in self.broken else self._runners.get(room_id)

    async def found(self, founding: Proposal) -> RoomRunner:
        """Create a room: its first event is on the disk when this returns.

        Raises:
            MeshError: the proposal does not found a room, or the id is taken.
        """
        if len(self._runners) >= ROOMS_MAX:
            raise Refused("busy", f"A node keeps at most {ROOMS_MAX} rooms.")
        state = RoomState(founding.room_id)
        authority = Authority(state, LiveTurns(state), self.me, self._key)
        put = inputs.Submitted(proposal=founding, ticket=0)
        effects = tuple(authority.submitted(put, self._clock.now()))
        events = tuple(e.event for e in effects if isinstance(e, StoreEvent))
        if not events:
            answer = effects[-1]
            assert isinstance(answer, Answer) and isinstance(answer.outcome, MeshError)
            raise answer.outcome
        row = RoomRow(
            room_id=founding.room_id,
            authority_install_id=self.me,
            promised_epoch=0,
            head_seq=events[-1].seq,
            head_hash=events[-1].hash,
            joined_at_ms=events[0].admitted_at_ms,
        )
        await self._store.create_room(row, events)
        runner = await self._open(row)
        for event in events:
            for watcher in self._watchers:
                watcher.on_event(runner, event)
        self._changed("rooms")
        return runner

    async def keep_copy(self, room_id: str, authority_install_id: str) -> RoomRunner:
        """Begin to keep a copy of a room that another install hosts.

        Raises:
            Refused: `wrong_authority`, this install knows the id as a room of somebody else.
        """
        present = self._runners.get(room_id)
        if present is not None:
            if present.machine.authority_install_id != authority_install_id:
                raise Refused("wrong_authority", "Another install hosts the room of that id.")
            return present
        row = RoomRow(
            room_id=room_id,
            authority_install_id=authority_install_id,
            promised_epoch=0,
            head_seq=0,
            head_hash=GENESIS,
            joined_at_ms=self._clock.now().wall_ms,
        )
        await self._store.create_room(row, ())
        runner = await self._open(row)
        if self._links.is_up(authority_install_id):
            runner.put(inputs.LinkUp(install_id=authority_install_id))
        self._changed("rooms")
        return runner

    # --- links -----------------------------------------------------------------------------

    def on_link_up(self, install_id: str) -> None:
        """A link is open: the rooms that need it say what they have."""
        for runner in self.all():
            if runner.machine.authority_install_id == install_id:
                self._put(runner, inputs.LinkUp(install_id=install_id))

    def on_link_down(self, install_id: str) -> None:
        """A link is gone."""
        for runner in self.all():
            self._put(runner, inputs.LinkDown(install_id=install_id))

    def on_message(self, install_id: str, message: LinkMessage) -> bool:
        """Turn a room's link message into inputs; False if it is not one of a room's.

        Raises:
            Malformed: the bytes are not what they claim to be; the link is cut.
        """
        make = _GATES.get(type(message))
        if make is None:
            return False
        room_id: str = message.room_id  # type: ignore[union-attr]
        runner = self.find(room_id)
        if runner is None:
            if isinstance(message, Propose | CatchUp):
                reason = "storage_failed" if room_id in self.broken else "not_found"
                self._links.send(install_id, NotHere(room_id=room_id, reason=reason))
            return True
        for put in make(install_id, message):
            self._put(runner, put)
        return True

    def _put(self, runner: RoomRunner, put: inputs.Input) -> None:
        try:
            runner.put(put)
        except Refused:
            # Honest peers stay within their windows, so this is not reached by them; what is
            # dropped here is sent again, because nothing was acknowledged.
            self._log.warning("room.flooded", room_id=runner.room_id)

    # --- opening ---------------------------------------------------------------------------

    async def _open(self, row: RoomRow) -> RoomRunner:
        runner = RoomRunner(
            await self._machine(row.room_id, row.authority_install_id),
            lambda: self._machine(row.room_id, row.authority_install_id),
            store=self._store,
            links=self._links,
            clock=self._clock,
            watchers=self._watchers,
            log=self._log,
        )
        self._runners[row.room_id] = runner
        self._tasks[row.room_id] = self._group.create_task(self._supervise(runner))
        return runner

    async def _machine(self, room_id: str, authority_install_id: str) -> RoomMachine:
        waiting = [r.proposal for r in await self._store.outbox(room_id) if r.state == "waiting"]
        events: list[Event] = []
        while True:
            since = events[-1].seq if events else 0
            page = await self._store.read(room_id, since, LOG_PAGE_MAX, 16 * BATCH_BYTES_MAX)
            if not page:
                break
            events.extend(page)
        return RoomMachine(
            room_id,
            me=self.me,
            key=self._key,
            authority_install_id=authority_install_id,
            events=iter(events),
            waiting=tuple(waiting),
        )

    async def _supervise(self, runner: RoomRunner) -> None:
        with self._isolated(runner.room_id):
            await runner.run()
        why = self.broken[runner.room_id]
        runner.end(Refused("storage_failed", f"This room has stopped: {why}"))
        self._changed("rooms")

    @contextmanager
    def _isolated(self, room_id: str) -> Iterator[None]:
        """The one broad except of the rooms: what breaks in here stops this room and no other.

        It is flagged in `broken` and logged; `node.status` warns of it.
        """
        try:
            yield
        except Exception as fault:  # noqa: BLE001 - a supervisor: rooms are isolated
            said = fault.message if isinstance(fault, MeshError) else type(fault).__name__
            self.broken[room_id] = said
            self._log.error("room.stopped", room_id=room_id, exc_info=fault)


def _proposals(wires: Sequence[WireProposal]) -> tuple[Proposal, ...]:
    return tuple(parse_proposal(w.raw, w.signature) for w in wires)


def _from_propose(install_id: str, message: Propose) -> list[inputs.Input]:
    return [
        inputs.Proposed(install_id=install_id, proposal=p)
        for p in _proposals(message.proposals)
        if p.room_id == message.room_id
    ]


def _from_append(install_id: str, message: Append) -> list[inputs.Input]:
    return [
        inputs.Appended(
            install_id=install_id,
            event=parse_event(w.raw, w.author_sig, w.header, w.authority_sig),
            latest_seq=message.latest_seq,
        )
        for w in message.events
    ]


def _from_catch_up(install_id: str, message: CatchUp) -> list[inputs.Input]:
    if message.have_seq < 0:
        raise Malformed("invalid_params", "have_seq is 0 or more.", field="have_seq")
    return [inputs.CaughtUp(install_id=install_id, have_seq=message.have_seq)]


def _from_redeem(install_id: str, message: Redeem) -> list[inputs.Input]:
    proposals = _proposals(message.proposals)
    if any(p.room_id != message.room_id for p in proposals):
        raise Malformed("invalid_params", "A seat is for another room.")
    return [
        inputs.Redeemed(
            install_id=install_id,
            request_id=message.request_id,
            invitation_id=message.invitation_id,
            secret=message.secret,
            proposals=proposals,
            relayed_for=message.relayed_for,
        )
    ]


def _from_signal(install_id: str, message: Signal) -> list[inputs.Input]:
    return [inputs.SignalTold(install_id=install_id, body=decode_object(message.body))]


_GATES: dict[type, Callable[[str, Any], list[inputs.Input]]] = {
    Propose: _from_propose,
    Append: _from_append,
    Redeem: _from_redeem,
    Signal: _from_signal,
    CatchUp: _from_catch_up,
    Stored: lambda i, m: [inputs.Acknowledged(install_id=i, seq=m.seq)],
    NotHere: lambda i, m: [inputs.Declined(install_id=i, reason=m.reason)],
    Presence: lambda i, m: [inputs.PresenceTold(install_id=i, online=m.online)],
    Verdict: lambda i, m: [
        inputs.Judged(
            install_id=i,
            key=m.key,
            state=m.state,
            seq=m.seq,
            reason=m.reason,
            message=m.message,
        )
    ],
    TurnReport: lambda i, m: [
        inputs.TurnReported(
            install_id=i,
            turn_id=m.turn_id,
            member_id=m.member_id,
            state=m.state,
            reason=m.reason,
            message=m.message,
        )
    ],
}
