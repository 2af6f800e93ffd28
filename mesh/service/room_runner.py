"""One room's driver: wait, step, then persist, send, deliver, reply. The one loop.

Inputs that came while a commit was running are taken together, so one commit carries many
events. If the disk refuses, nothing of the round is said to anybody: the callers hear
`storage_full` or `storage_failed`, and the machine is built anew from what the disk has.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

from mesh.core.effects import Accepted, Answer, Deliver, Stream
from mesh.core.errors import MeshError, PeerFault, Refused, StorageFailed
from mesh.core.event import Event, Proposal
from mesh.core.inputs import Discarded, Input, LinkUp, Now, RoundEnded, Submitted
from mesh.core.limits import BATCH_BYTES_MAX, GATHER_S, GROUP_COMMIT_MAX, ROOM_INPUTS_MAX
from mesh.core.room import RoomState
from mesh.core.room_machine import RoomMachine
from mesh.ports import Clock, Links
from mesh.service.log_feed import LogFeed
from mesh.service.room_view import event_json
from mesh.service.round import Round, Submission
from mesh.service.subscriptions import Subscriptions
from mesh.stores import EventStore, OutboxRow, RoomChange
from mesh.telemetry import Log

_RETRY_S: Final = 1.0  # how soon a disk that was full or busy is tried again


class Watcher(Protocol):
    """Whoever must know what has happened in a room of this install."""

    def on_event(self, runner: "RoomRunner", event: Event) -> None:
        """An event is on the disk. Must not block."""
        ...


class RoomRunner:
    """Drives one `RoomMachine` on this install. Its owner runs `run()` in a task group."""

    def __init__(
        self,
        machine: RoomMachine,
        rebuild: Callable[[], Awaitable[RoomMachine]],
        *,
        store: EventStore,
        links: Links,
        clock: Clock,
        watchers: Sequence[Watcher],
        log: Log,
    ) -> None:
        """`rebuild` is a coroutine function that makes the machine anew from the disk."""
        self.machine = machine
        self._rebuild = rebuild
        self._store = store
        self._links = links
        self._clock = clock
        self._watchers = watchers
        self._log = log
        self._inbox: deque[Input] = deque()
        self._news = asyncio.Event()
        self._full = asyncio.Event()
        self._together = 0
        self._tickets: dict[int, Submission] = {}
        self._next_ticket = 1
        self._next_row = 1
        self._is_storing = False
        self._retry_at_s: float | None = None
        self._ended: MeshError | None = None
        self._feed = LogFeed(machine.state.room_id, store=store, links=links)
        self._waits: list[tuple[Callable[[RoomState], bool], asyncio.Future[None]]] = []
        self.subscriptions = Subscriptions(
            machine.state.room_id, self.page, self.to_json, machine.state.head.seq
        )

    @property
    def room_id(self) -> str:
        """The room's id."""
        return self.machine.state.room_id

    @property
    def state(self) -> RoomState:
        """What the log says, as far as it was folded. Only shown facts may be spoken of."""
        return self.machine.state

    # --- what others ask -------------------------------------------------------------------

    def put(self, happened: Input) -> None:
        """Give the room an input.

        Raises:
            Refused: reason `busy`, when the room has too much to do already; or why it stopped.
        """
        if self._ended is not None:
            raise Refused(self._ended.reason, self._ended.message)
        if len(self._inbox) >= ROOM_INPUTS_MAX:
            raise Refused("busy", "The room has too much to do at the moment.")
        self._inbox.append(happened)
        self._news.set()
        if len(self._inbox) >= self._together:
            self._full.set()

    def submit(self, proposal: Proposal) -> Submission:
        """Give the room a proposal of a member homed here. Raises Refused like `put`."""
        loop = asyncio.get_running_loop()
        ticket, self._next_ticket = self._next_ticket, self._next_ticket + 1
        submission = Submission(kept=loop.create_future(), outcome=loop.create_future())
        self.put(Submitted(proposal=proposal, ticket=ticket))
        self._tickets[ticket] = submission
        return submission

    async def discard(self, key: str) -> Accepted:
        """Take back a proposal of ours that waits. Raises Refused."""
        loop = asyncio.get_running_loop()
        ticket, self._next_ticket = self._next_ticket, self._next_ticket + 1
        submission = Submission(kept=loop.create_future(), outcome=loop.create_future())
        self.put(Discarded(key=key, ticket=ticket))
        self._tickets[ticket] = submission
        return await submission.outcome

    async def until(self, predicate: Callable[[RoomState], bool]) -> None:
        """Wait until the room's state, as stored, satisfies `predicate`.

        Raises:
            Refused: the room stopped, so that it never will.
        """
        if self._ended is not None:
            raise Refused(self._ended.reason, self._ended.message)
        if not self._is_storing and predicate(self.machine.state):
            return
        wait: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (predicate, wait)
        self._waits.append(entry)
        try:
            await wait
        finally:
            self._waits.remove(entry)

    async def page(self, since_seq: int, limit: int) -> Sequence[Event]:
        """Events after `since_seq`, at most `limit` and BATCH_BYTES_MAX of them."""
        return await self._store.read(self.room_id, since_seq, limit, BATCH_BYTES_MAX)

    def to_json(self, event: Event) -> dict[str, Any]:
        """An event as clients see it."""
        return event_json(self.machine, event)

    # --- the loop --------------------------------------------------------------------------

    async def run(self) -> None:
        """Drive the room until cancelled."""
        self._next_row = 1 + max(
            (row.n for row in await self._store.outbox(self.room_id)), default=0
        )
        while True:
            await self._wait()
            await self._gather()
            now = self._clock.now()
            self._is_storing = True
            done = self._step_all(now)
            try:
                await self._persist(done, now)
            except (StorageFailed, Refused) as failure:
                await self._start_again(failure, done)
                continue
            finally:
                self._is_storing = False
            await self._speak(done)

    async def _wait(self) -> None:
        due = [at_s for at_s in (self.machine.deadline(), self._retry_at_s) if at_s is not None]
        timeout_s = max(0, min(due) - self._clock.now().mono_s) if due else None
        try:
            async with asyncio.timeout(timeout_s):
                await self._news.wait()
        except TimeoutError:
            pass
        self._retry_at_s = None

    async def _gather(self) -> None:
        """Wait a moment for those who were answered together, so that they share a commit again.

        Callers that keep several requests in flight come back in a burst. Who is alone never
        waits: the round before answered one, and one is here.
        """
        if not 0 < len(self._inbox) < self._together:
            return
        self._full.clear()
        try:
            async with asyncio.timeout(GATHER_S):
                await self._full.wait()
        except TimeoutError:
            return

    def _step_all(self, now: Now) -> Round:
        done = Round()
        for _ in range(min(len(self._inbox), GROUP_COMMIT_MAX)):
            happened = self._inbox.popleft()
            done.inputs.append(happened)
            try:
                effects = self.machine.step(happened, now)
            except PeerFault as fault:
                self.machine.copy.faulty = fault.reason
                self._log.warning(
                    "room.peer_fault", room_id=self.room_id, reason=fault.reason, why=str(fault)
                )
                continue
            for effect in effects:
                done.add(effect)
            if isinstance(happened, Submitted):
                done.tickets.append(happened.ticket)
        for effect in self.machine.step(RoundEnded(), now):
            done.add(effect)
        if not self._inbox:
            self._news.clear()
        return done

    async def _persist(self, done: Round, now: Now) -> None:
        if not done.changes:
            return
        rows = []
        for proposal in done.queued:
            rows.append(
                OutboxRow(
                    n=self._next_row,
                    proposal=proposal,
                    state="waiting",
                    reason="",
                    queued_at_ms=now.wall_ms,
                )
            )
            self._next_row += 1
        await self._store.apply(
            RoomChange(
                room_id=self.room_id,
                events=tuple(done.events),
                outbox_put=tuple(rows),
                outbox_drop=tuple(done.dropped),
                outbox_refuse=tuple(done.refused),
            )
        )
        self._feed.remember(done.events)

    async def _speak(self, done: Round) -> None:
        for send in done.sends:
            if isinstance(send, Stream):
                await self._stream(send)
            else:
                self._links.send(send.install_id, send.message)
        for show in done.shows:
            if isinstance(show, Deliver):
                self.subscriptions.show(show.event)
                for watcher in self._watchers:
                    watcher.on_event(self, show.event)
            else:
                self.subscriptions.tell(show.body)
        for ticket in done.tickets:
            submission = self._tickets.get(ticket)
            if submission is not None and not submission.kept.done():
                submission.kept.set_result(None)
        self._together = len(done.answers)
        for answer in done.answers:
            self._answer(answer)
        for predicate, wait in self._waits:
            if not wait.done() and predicate(self.machine.state):
                wait.set_result(None)

    def _answer(self, answer: Answer) -> None:
        submission = self._tickets.pop(answer.ticket, None)
        if submission is None:
            return
        if submission.outcome.done():
            return
        if isinstance(answer.outcome, MeshError):
            submission.outcome.set_exception(answer.outcome)
            submission.outcome.exception()  # who waits no longer has read its queued state
        else:
            submission.outcome.set_result(answer.outcome)

    async def _stream(self, wanted: Stream) -> None:
        try:
            upto_seq = await self._feed.stream(wanted, self.state.head)
        except (StorageFailed, Refused) as failure:
            # Nothing was lost: the copy is fed again from here in a round to come.
            self._log.warning("room.feed", room_id=self.room_id, reason=failure.reason)
            upto_seq = wanted.since_seq
            self._retry_at_s = self._clock.now().mono_s + _RETRY_S
        if upto_seq is not None:
            self.machine.replicas.sent(wanted.install_id, upto_seq)

    # --- when the disk refuses, or the room stops ------------------------------------------

    async def _start_again(self, failure: MeshError, done: Round) -> None:
        """Forget what the disk does not have, tell who waits, and read the truth again.

        Where the disk was only full, what others sent is taken again later: they were told
        nothing and will not repeat it as long as their link is open.
        """
        self._log.error("room.storage", room_id=self.room_id, reason=failure.reason)
        self._answer_all(failure)
        self._feed.forget()
        held = [
            put
            for put in (*done.inputs, *self._inbox)
            if failure.reason == "storage_full" and not isinstance(put, Submitted | Discarded)
        ]
        self._inbox.clear()
        self._news.clear()
        before = self.machine
        self.machine = await self._rebuild()
        self.machine.presence = before.presence
        self.machine.replicas.resume(before.replicas)
        if before.copy.link_up:
            self.put(LinkUp(install_id=before.authority_install_id))
        if held:
            self._inbox.extend(held)
            self._retry_at_s = self._clock.now().mono_s + _RETRY_S

    def end(self, why: MeshError) -> None:
        """The room has stopped for good: whoever waits for it, now or later, hears why."""
        self._ended = why
        self._inbox.clear()
        self._answer_all(why)
        for _, wait in self._waits:
            if not wait.done():
                wait.set_exception(Refused(why.reason, why.message))

    def _answer_all(self, why: MeshError) -> None:
        tickets, self._tickets = self._tickets, {}
        for submission in tickets.values():
            for future in (submission.kept, submission.outcome):
                if not future.done():
                    future.set_exception(why)
                    future.exception()
