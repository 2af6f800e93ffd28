"""The target's side of turns: what this install was asked to run, run once, and answered once.

    dispatch -> grant verified -> inbox row (durable) -> queue of that member -> run -> answer

The row comes before the run, the answer is a proposal in the outbox before anything is reported,
and both carry the turn's id, so a dispatch that comes twice finds what the first one did. A turn
that was running when the process died is `uncertain`, unless its answer is found (situation 19):
it is never run a second time silently.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any, Final

from gateway.exchange import Activity, Delta, Failed, Line, RoomMember, TurnRequest
from gateway.exchange import Final as FinalText
from gateway.mount import MountTable
from mesh.core import ids
from mesh.core.authority import answer_cause
from mesh.core.errors import MeshError, Refused
from mesh.core.event import MESSAGE_KINDS, Event
from mesh.core.inputs import SignalMade
from mesh.core.limits import (
    BATCH_BYTES_MAX,
    DISPATCHES_AWAITED_MAX,
    HISTORY_LINES_MAX,
    LOG_PAGE_MAX,
    TURN_DEADLINE_MS,
)
from mesh.core.link_messages import TurnDispatch, TurnReport
from mesh.core.member import Member
from mesh.core.turn import Turn, is_pass
from mesh.ports import Clock, Links
from mesh.service.lending import Lending
from mesh.service.open_rooms import OpenRooms
from mesh.service.operator import Operator
from mesh.service.room_runner import RoomRunner
from mesh.stores import EventStore, InboxRow, TurnInbox
from mesh.telemetry import Log

_ENDS: Final = frozenset(
    {"turn.settled", "turn.passed", "turn.failed", "turn.cancelled", "turn.uncertain"}
)
_STOPS: Final = frozenset({"turn.cancelled", "turn.failed"})

Spawn = Callable[[Coroutine[Any, Any, None]], None]


class TurnDesk:
    """Runs the turns of the agents homed on this install: strictly in order for each member."""

    def __init__(
        self,
        *,
        inbox: TurnInbox,
        events: EventStore,
        rooms: OpenRooms,
        links: Links,
        mounts: MountTable,
        lending: Lending,
        operator: Operator,
        clock: Clock,
        spawn: Spawn,
        log: Log,
    ) -> None:
        self._inbox = inbox
        self._events = events
        self._rooms = rooms
        self._links = links
        self._mounts = mounts
        self._lending = lending
        self._operator = operator
        self._clock = clock
        self._spawn = spawn
        self._log = log
        self._open: dict[str, InboxRow] = {}
        self._awaited: set[str] = set()
        self._orders: dict[str, asyncio.Lock] = {}
        self._running: dict[str, asyncio.Task[Any]] = {}
        self._stopped: set[str] = set()
        lending.on_withdrawn.append(self._withdrawn)

    # --- start -----------------------------------------------------------------------------

    async def load(self) -> None:
        """Settle what the last process left: queued rows run, running ones are uncertain."""
        for row in await self._inbox.open_rows():
            if row.room_id in self._rooms.broken:
                continue  # the row waits for a start at which its room opens
            runner = self._rooms.find(row.room_id)
            if runner is None:
                await self._inbox.close(row.turn_id)
                continue
            if row.state == "running":
                row = await self._after_crash(runner, row)
            self._open[row.turn_id] = row
            if row.state == "queued":
                self._enqueue(row)
            turn = runner.state.turns.get(row.turn_id)
            if turn is None or not turn.open:
                await self._close(row.turn_id)
            else:
                self._report(row)

    async def _after_crash(self, runner: RoomRunner, row: InboxRow) -> InboxRow:
        key = ids.event_key(row.member_id, row.turn_id)
        waiting = {p.key for p in runner.machine.copy.waiting()}
        if runner.state.known(key) is not None or key in waiting:
            return await self._move(row, "settled")
        said = "The node stopped while the agent was at work."
        return await self._move(row, "uncertain", "interrupted", said)

    # --- dispatches and facts --------------------------------------------------------------

    def on_dispatch(self, install_id: str, asked: TurnDispatch) -> None:
        """The room's home asks for a turn."""
        self._spawn(self._accept(install_id, asked))

    async def _accept(self, install_id: str, asked: TurnDispatch) -> None:
        known = self._open.get(asked.turn_id) or await self._inbox.get(asked.turn_id)
        if known is not None:
            self._report(known)
            return
        runner = self._rooms.find(asked.room_id)
        if runner is None or runner.machine.authority_install_id != install_id:
            self._log.warning("turns.stray_dispatch", install_id=install_id)
            return
        if asked.turn_id in self._awaited or len(self._awaited) >= DISPATCHES_AWAITED_MAX:
            return  # it is waited for already, or the home sends it again on its next link
        self._awaited.add(asked.turn_id)
        try:
            # Our copy may be far behind the dispatch; the log is what we act on.
            await runner.until(lambda state: asked.turn_id in state.turns)
        finally:
            self._awaited.discard(asked.turn_id)
        row = self._row(runner.state.turns.get(asked.turn_id), asked)
        if row is None:
            self._log.info("turns.not_taken", install_id=install_id)
            return
        try:
            self._lending.admit(runner, install_id, asked)
        except MeshError as refusal:
            if refusal.reason == "grant_expired":
                # Not the turn's fault: the home dispatches it anew under the grant it gets now.
                self._lending.renew(row.room_id, row.member_id)
            else:
                said = refusal.message
                self._report(replace(row, state="failed", reason=refusal.reason, message=said))
            return
        if await self._inbox.put(row):
            self._open[row.turn_id] = row
            self._report(row)
            self._enqueue(row)
        await self._lending.used(asked.grant)

    def _row(self, turn: Turn | None, asked: TurnDispatch) -> InboxRow | None:
        """The row of a dispatch, by what the log says of the turn; None where that differs."""
        if turn is None or not turn.open or turn.member_id != asked.member_id:
            return None
        return InboxRow(
            turn_id=turn.turn_id,
            room_id=asked.room_id,
            member_id=turn.member_id,
            trigger_seq=turn.trigger_seq,
            root=turn.root,
            hop=turn.hop,
            attempt=turn.attempt,
            deadline_ms=min(max(asked.deadline_ms, 1_000), TURN_DEADLINE_MS),
            grant_id="",
            state="queued",
            reason="",
            message="",
            created_at_ms=self._clock.now().wall_ms,
        )

    def on_event(self, runner: RoomRunner, event: Event) -> None:
        """The log shows the end of a turn: stop what still runs, and owe no report any more."""
        if event.kind in _ENDS and event.payload["turn_id"] in self._open:
            turn_id = event.payload["turn_id"]
            if event.kind in _STOPS:
                self._cancel(turn_id)
            self._spawn(self._close(turn_id))

    def on_link_up(self, install_id: str) -> None:
        """The home is there again: say what became of what it asked for."""
        for row in self._open.values():
            runner = self._rooms.find(row.room_id)
            if runner is not None and runner.machine.authority_install_id == install_id:
                self._report(row)

    def _withdrawn(self, room_id: str, member_id: str) -> None:
        for row in tuple(self._open.values()):
            if (row.room_id, row.member_id) == (room_id, member_id):
                self._cancel(row.turn_id)

    def _cancel(self, turn_id: str) -> None:
        task = self._running.get(turn_id)
        if task is not None:
            self._stopped.add(turn_id)
            task.cancel()
        row = self._open.get(turn_id)
        if row is not None and row.state == "queued":
            self._open[turn_id] = replace(row, state="cancelled")

    # --- running ---------------------------------------------------------------------------

    def _enqueue(self, row: InboxRow) -> None:
        """Run it after the turns of its member that came before (situation 46).

        Each turn is a job of its own: a fault in one costs the next ones nothing.
        """
        self._spawn(self._in_order(row, self._orders.setdefault(row.member_id, asyncio.Lock())))

    async def _in_order(self, row: InboxRow, order: asyncio.Lock) -> None:
        async with order:  # first come, first served
            current = self._open.get(row.turn_id)
            if current is None or current.state != "queued":
                return
            task = asyncio.current_task()
            assert task is not None
            self._running[row.turn_id] = task
            try:
                await self._guarded(current)
            finally:
                del self._running[row.turn_id]

    async def _guarded(self, row: InboxRow) -> None:
        """Run one turn; being stopped is an end of its own, not an error.

        A turn that is cut off because the node stops keeps its row: the next start finds it.
        """
        said = "The node made a mistake while the agent was at work; see its log."
        end: tuple[str, str, str] | None = ("failed", "internal", said)
        try:
            await self._run(row)
            end = None
        except asyncio.CancelledError:
            end = None
            if row.turn_id in self._stopped:
                self._stopped.discard(row.turn_id)
                await self._move(row, "cancelled", "withdrawn")
            raise
        except MeshError as error:
            end = ("failed", error.reason, error.message)
        finally:
            if end is not None:
                self._report(await self._move(row, *end))

    async def _run(self, row: InboxRow) -> None:
        runner = self._rooms.get(row.room_id)
        member = runner.state.member(row.member_id)
        if member is None or member.withdrawn:
            await self._move(row, "cancelled", "withdrawn")
            return
        request = await self._request(runner, member, row)
        row = await self._move(row, "running")
        self._report(row)
        await self._inbox.set_context_seq(row.room_id, row.member_id, row.trigger_seq)
        pieces = 0
        async with aclosing(self._mounts.run(request)) as updates:
            async for update in updates:
                match update:
                    case Delta():
                        self._signal(runner, row, "turn.delta", n=pieces, text=update.text)
                        pieces += 1
                    case Activity():
                        self._signal(
                            runner,
                            row,
                            "turn.activity",
                            tool=update.tool[:64],
                            text=update.text[:500],
                            state=update.state,
                        )
                    case FinalText():
                        await self._answer(runner, row, update.text)
                    case Failed():
                        said = f"{update.message} {update.next}".strip()
                        self._report(await self._move(row, "failed", update.reason, said))

    async def _answer(self, runner: RoomRunner, row: InboxRow, text: str) -> None:
        if is_pass(text):
            self._report(await self._move(row, "passed"))
            return
        turn = runner.state.turns[row.turn_id]
        submission = runner.submit(
            self._operator.propose(
                row.room_id,
                "message.member",
                row.member_id,
                {"text": text, "turn_id": row.turn_id},
                event_id=row.turn_id,
                cause=answer_cause(turn),
            )
        )
        await submission.kept
        await self._move(row, "settled")
        self._spawn(self._refused(row, submission.outcome))

    async def _refused(self, row: InboxRow, outcome: asyncio.Future[Any]) -> None:
        """An answer that the room refuses ends its turn with the reason."""
        try:
            await outcome
        except MeshError as refusal:
            self._report(await self._move(row, "failed", refusal.reason, refusal.message))

    async def _request(self, runner: RoomRunner, member: Member, row: InboxRow) -> TurnRequest:
        """What the agent is given: the trigger, and what it has not been given before."""
        since = await self._inbox.context_seq(row.room_id, row.member_id)
        since = max(since, row.trigger_seq - LOG_PAGE_MAX)
        lines: list[Line] = []
        while since < row.trigger_seq:
            page = await self._events.read(row.room_id, since, LOG_PAGE_MAX, BATCH_BYTES_MAX)
            lines += [
                _line(runner, event)
                for event in page
                if event.kind in MESSAGE_KINDS and event.seq <= row.trigger_seq
            ]
            since = page[-1].seq if page else row.trigger_seq
        if not lines or lines[-1].seq != row.trigger_seq:
            raise Refused("not_found", "The message to answer is not in the log.")
        assert member.profile is not None
        return TurnRequest(
            turn_id=row.turn_id,
            room_id=row.room_id,
            room_name=runner.state.name,
            profile=member.profile,
            member_id=member.member_id,
            handle=member.handle,
            trigger=lines[-1],
            history=tuple(lines[-1 - HISTORY_LINES_MAX : -1]),
            members=tuple(
                RoomMember(
                    member_id=m.member_id,
                    handle=m.handle,
                    display_name=m.display_name,
                    kind="agent" if m.is_agent else "person",
                    presence=runner.machine.present_as(m)[0],
                )
                for m in runner.state.present()
            ),
            hop=row.hop,
            deadline_s=row.deadline_ms / 1_000,
        )

    # --- saying ----------------------------------------------------------------------------

    def _signal(self, runner: RoomRunner, row: InboxRow, kind: str, **more: Any) -> None:
        body = {"kind": kind, "turn_id": row.turn_id, "member_id": row.member_id, **more}
        with suppress(Refused):  # a signal that finds no room is one nobody waits for
            runner.put(SignalMade(body=body))

    def _report(self, row: InboxRow) -> None:
        runner = self._rooms.find(row.room_id)
        if runner is None or row.state == "settled":
            return  # the answer itself ends the turn
        self._links.send(
            runner.machine.authority_install_id,
            TurnReport(
                room_id=row.room_id,
                turn_id=row.turn_id,
                member_id=row.member_id,
                state=row.state,
                reason=row.reason,
                message=row.message[:1_000],
            ),
        )

    async def _move(
        self, row: InboxRow, state: str, reason: str = "", message: str = ""
    ) -> InboxRow:
        moved = replace(row, state=state, reason=reason, message=message[:1_000])
        await self._inbox.set_state(row.turn_id, state, reason, moved.message)
        if row.turn_id in self._open:
            self._open[row.turn_id] = moved
        return moved

    async def _close(self, turn_id: str) -> None:
        self._open.pop(turn_id, None)
        await self._inbox.close(turn_id)


def _line(runner: RoomRunner, event: Event) -> Line:
    author = runner.state.members[event.proposal.member_id]
    return Line(
        seq=event.seq,
        event_id=event.proposal.event_id,
        author_handle=author.handle,
        author_kind="agent" if author.is_agent else "person",
        author_member_id=author.member_id,
        author_install_id=author.install_id,
        text=event.payload["text"],
        created_at_ms=event.admitted_at_ms,
    )
