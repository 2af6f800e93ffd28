"""What the operator does in rooms: create, say, rename, seat, stop, read.

Each change is a signed proposal that travels to the authority and comes back as an event; the
answer tells which of the two has happened by the time the caller wished to wait.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from mesh.core import ids
from mesh.core.effects import Accepted
from mesh.core.errors import Malformed, Refused
from mesh.core.event import Proposal
from mesh.core.limits import BATCH_BYTES_MAX, LOG_PAGE_MAX, SEND_WAIT_MS, SEND_WAIT_MS_MAX
from mesh.core.member import Member
from mesh.core.policy import Policy, parse_policy
from mesh.ports import Connection
from mesh.service.open_rooms import OpenRooms
from mesh.service.operator import Operator
from mesh.service.room_runner import RoomRunner
from mesh.service.room_view import room_json, state_json
from mesh.stores import EventStore, OutboxRow

_LEASE_MS: Final = 3_000
_PREVIEW_CHARS: Final = 200


class Lends(Protocol):
    """What this module needs of `lending`: the loan must be durable before the seat is asked."""

    async def seat(self, room_id: str, member: Member) -> None:
        """Remember that this profile is lent to that seat."""
        ...

    def agent(self, profile: str, handle: str | None) -> Member:
        """A fresh seat for a profile. Raises Refused `not_found` without such a profile."""
        ...


class Conversation:
    """The operator's hands and eyes in all rooms of this install."""

    def __init__(
        self,
        *,
        rooms: OpenRooms,
        store: EventStore,
        operator: Operator,
        lends: Lends,
        incarnation: str,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """`spawn` runs a reader's catch-up in the node's task group."""
        self._rooms = rooms
        self._store = store
        self.operator = operator
        self._lends = lends
        self._incarnation = incarnation
        self._spawn = spawn

    # --- rooms -----------------------------------------------------------------------------

    async def create(
        self, name: str, room_id: str | None, seats: list[dict[str, Any]], policy: object
    ) -> dict[str, Any]:
        """Found a room here and seat this node's own profiles in it."""
        room_id = ids.check(ids.ROOM, room_id or self.operator.new_id("r"), "room_id")
        agents = [self._lends.agent(seat["profile"], seat.get("handle")) for seat in seats]
        founder = self.operator.person("owner")
        founding = self.operator.propose(
            room_id,
            "room.created",
            founder.member_id,
            {
                "name": ids.clean_name(name),
                "authority_gateway_id": self.operator.install_id,
                "founder": founder.to_seat(),
                "voters": [f"{self.operator.install_id}#{self._incarnation}"],
                "lease_ms": _LEASE_MS,
                "policy": parse_policy(policy or {}, Policy()).to_json(),
            },
        )
        runner = await self._rooms.found(founding)
        for agent in agents:
            await self._seat(runner, agent)
        return {"room": room_json(runner.machine)}

    def list(self) -> dict[str, Any]:
        """All rooms, the newest activity first."""
        runners = sorted(self._rooms.all(), key=lambda r: -r.state.updated_at_ms)
        return {"rooms": [room_json(r.machine) for r in runners if r.state.head.seq]}

    async def state(self, room_id: str) -> dict[str, Any]:
        """Everything a client shows of a room beside its messages."""
        runner = self._rooms.get(room_id)
        rows = await self._store.outbox(room_id)
        # Nothing may come between this and the answer: a signal that was told before it would be
        # undone by an older state.
        made = state_json(runner.machine)
        sent = runner.machine.copy.sent_keys()
        made["outbox"] = [_queued_json(row, row.proposal.key in sent) for row in rows]
        return made

    async def log(self, room_id: str, since_seq: int, limit: int) -> dict[str, Any]:
        """A page of events after a cursor."""
        runner = self._rooms.get(room_id)
        if since_seq < 0 or not 1 <= limit <= LOG_PAGE_MAX:
            raise Malformed("invalid_params", f"limit is 1 to {LOG_PAGE_MAX}.", field="limit")
        events = await self._store.read(room_id, since_seq, limit, 2 * BATCH_BYTES_MAX)
        latest = runner.subscriptions.shown_seq
        cursor = events[-1].seq if events else min(since_seq, latest)
        return {
            "events": [runner.to_json(event) for event in events],
            "cursor": cursor,
            "latest_seq": latest,
            "protected_seq": 0,
            "has_more": cursor < latest,
            "authority": _authority_json(runner),
        }

    async def subscribe(
        self, room_id: str, since_seq: int, connection: Connection
    ) -> dict[str, Any]:
        """Follow a room from a cursor. A cursor that is ahead gets a gap notice and a snapshot."""
        runner = self._rooms.get(room_id)
        shown = runner.subscriptions.shown_seq
        if since_seq < 0:
            raise Malformed("invalid_params", "since_seq is 0 or more.", field="since_seq")
        if since_seq > shown:
            state = await self.state(room_id)
            runner.subscriptions.gap(connection, since_seq, state)
            since_seq = runner.subscriptions.shown_seq
        reader = runner.subscriptions.add(connection, since_seq)
        self._spawn(runner.subscriptions.catch_up(reader))
        return {"latest_seq": shown, "protected_seq": 0, "authority": _authority_json(runner)}

    def unsubscribe(self, room_id: str, connection: Connection) -> dict[str, Any]:
        """Stop following."""
        self._rooms.get(room_id).subscriptions.remove(connection)
        return {}

    # --- saying ----------------------------------------------------------------------------

    async def send(
        self,
        room_id: str,
        event_id: str,
        payload: dict[str, Any],
        member_id: str | None,
        wait_ms: int | None,
    ) -> dict[str, Any]:
        """Say something. The same id and content is said once, however often it is sent."""
        runner = self._rooms.get(room_id)
        me = self.operator.me(runner.state)
        if member_id not in {None, me.member_id}:
            raise Refused("forbidden", "You speak only as yourself.")
        ids.check(ids.OPAQUE, event_id, "event_id")
        return await self._submit(
            runner,
            self.operator.propose(
                room_id, "message.user", me.member_id, payload, event_id=event_id
            ),
            wait_ms,
        )

    async def control(
        self, room_id: str, kind: str, payload: dict[str, Any], wait_ms: int | None = None
    ) -> dict[str, Any]:
        """A control call: any kind of event that the operator's person may propose."""
        runner = self._rooms.get(room_id)
        me = self.operator.me(runner.state)
        proposal = self.operator.propose(room_id, kind, me.member_id, payload)
        return await self._submit(runner, proposal, wait_ms)

    async def rename(self, room_id: str, name: str) -> dict[str, Any]:
        """Give a room another name, cleaned as the first one was (situation 86)."""
        return await self.control(room_id, "room.renamed", {"name": ids.clean_name(name)})

    async def leave(self, room_id: str) -> dict[str, Any]:
        """The operator's person leaves, and with it the agents homed here."""
        me = self.operator.me(self._rooms.get(room_id).state)
        payload = {"member_id": me.member_id, "reason": "left"}
        return await self.control(room_id, "member.left", payload)

    async def remove(self, room_id: str, member_id: str) -> dict[str, Any]:
        """Remove a member: the owner anyone, everybody their own agents."""
        state = self._rooms.get(room_id).state
        gone = state.member(member_id)
        if gone is None:
            raise Refused("not_found", "That member is not in the room.")
        payload = {"member_id": member_id, "reason": "removed"}
        return await self.control(room_id, "member.left", payload)

    async def add(self, room_id: str, profile: str, handle: str | None) -> dict[str, Any]:
        """Seat a profile of this node."""
        runner = self._rooms.get(room_id)
        self.operator.me(runner.state)
        return await self._seat(runner, self._lends.agent(profile, handle))

    async def stop(self, room_id: str, turn_id: str | None) -> dict[str, Any]:
        """Stop one open turn, or all of them."""
        runner = self._rooms.get(room_id)
        turns = [t for t in runner.state.open_turns() if turn_id in {None, t.turn_id}]
        if turn_id is not None and not turns:
            raise Refused("not_found", "There is no such open turn.")
        for turn in turns:
            payload = {"turn_id": turn.turn_id, "member_id": turn.member_id}
            try:
                await self.control(room_id, "turn.cancelled", payload)
            except Refused as refusal:
                if refusal.reason != "conflict":  # it ended by itself in the meantime
                    raise
        return {"stopping": [t.turn_id for t in turns]}

    async def discard(self, room_id: str, event_id: str) -> dict[str, Any]:
        """Take back a message that waits for the room's host."""
        runner = self._rooms.get(room_id)
        me = self.operator.me(runner.state)
        key = ids.event_key(me.member_id, event_id)
        await runner.discard(key)
        return {"discarded": True}

    # --- submitting ------------------------------------------------------------------------

    async def _seat(self, runner: RoomRunner, agent: Member) -> dict[str, Any]:
        await self._lends.seat(runner.room_id, agent)
        proposal = self.operator.propose(
            runner.room_id, "member.joined", agent.member_id, {"member": agent.to_seat()}
        )
        made = await self._submit(runner, proposal, None)
        return {**made, "member_id": agent.member_id}

    async def _submit(
        self, runner: RoomRunner, proposal: Proposal, wait_ms: int | None
    ) -> dict[str, Any]:
        wait_s = min(SEND_WAIT_MS if wait_ms is None else wait_ms, SEND_WAIT_MS_MAX) / 1_000
        submission = runner.submit(proposal)
        try:
            if runner.machine.is_authority:
                accepted = await submission.outcome
            else:
                await submission.kept
                async with asyncio.timeout(max(0.0, wait_s)):
                    accepted = await asyncio.shield(submission.outcome)
        except TimeoutError:
            state = "sent" if runner.machine.host_up else "waiting"
            return {
                "accepted": False,
                "queued": True,
                "state": state,
                "event_id": proposal.event_id,
            }
        return await self._accepted(runner, proposal, accepted)

    async def _accepted(
        self, runner: RoomRunner, proposal: Proposal, accepted: Accepted
    ) -> dict[str, Any]:
        event = accepted.event
        if event is None:
            event = await self._store.by_key(runner.room_id, accepted.key)
            assert event is not None, "the machine knows it, so the disk has it"
        stored = event.proposal
        if (stored.kind, stored.payload) != (proposal.kind, proposal.payload):
            raise Refused("conflict", "This id was used for other content.", seq=event.seq)
        return {
            "event": runner.to_json(event),
            "accepted": True,
            "protected": False,
            "level": "local",
            "idempotent": accepted.idempotent,
        }


def _authority_json(runner: RoomRunner) -> dict[str, Any]:
    return {
        "gateway_id": runner.machine.authority_install_id,
        "epoch": runner.state.head.epoch,
    }


def _queued_json(row: OutboxRow, sent: bool) -> dict[str, Any]:
    text = row.proposal.payload.get("text", "")
    return {
        "event_id": row.proposal.event_id,
        "kind": row.proposal.kind,
        "text": text[:_PREVIEW_CHARS] if isinstance(text, str) else "",
        "queued_at": row.queued_at_ms,
        "state": "sent" if sent and row.state == "waiting" else row.state,
        "reason": row.reason,
    }
