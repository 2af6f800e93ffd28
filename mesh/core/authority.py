"""The authority of a room: judges proposals, gives them a seq, signs, and draws consequences.

    proposal -> known? -> authentic? -> judged? -> append -> consequences (system events)
                  |            |           |
                  +- same      +-----------+--> a refusal with its reason, nothing stored
                  +- other: conflict

One message may admit turns; a settled answer ends its turn and may address others. Each
consequence is a system event with an id derived from what caused it, so it happens once.
Epochs beyond the founder's come with succession; here the epoch is FOUNDER_EPOCH.
"""

from collections.abc import Iterator
from typing import Any, Final

from mesh.core import ids
from mesh.core.admission import authentic, judge
from mesh.core.discussion import addressed
from mesh.core.effects import Accepted, Answer, Deliver, Effect, Send, StoreEvent, Tell
from mesh.core.errors import Malformed, MeshError, Refused
from mesh.core.event import MESSAGE_KINDS, Cause, Event, Proposal, admit, propose
from mesh.core.identity import SigningKey
from mesh.core.inputs import (
    Now,
    Proposed,
    Redeemed,
    RouteOffered,
    Submitted,
    TurnProgressed,
    TurnReported,
)
from mesh.core.limits import (
    MEMBERS_PER_ROOM_MAX,
    TURN_OFFLINE_WAIT_MS,
    TURNS_PER_MEMBER_QUEUED_MAX,
)
from mesh.core.link_messages import RedeemResult, Verdict
from mesh.core.live_turns import LiveTurns
from mesh.core.member import Member, parse_seat
from mesh.core.room import RoomState
from mesh.core.turn import EVENT_STATES, Turn, TurnState

FOUNDER_EPOCH: Final = 1
_REPORTS: Final = {
    "running": "turn.started",
    "passed": "turn.passed",
    "failed": "turn.failed",
    "uncertain": "turn.uncertain",
}


class Authority:
    """Orders one room's events. Pure: what it appends is in the effects it returns."""

    def __init__(self, state: RoomState, live: LiveTurns, me: str, key: SigningKey) -> None:
        self._state = state
        self._live = live
        self._me = me
        self._key = key

    # --- inputs ----------------------------------------------------------------------------

    def submitted(self, put: Submitted, now: Now) -> Iterator[Effect]:
        """A proposal of our own member, whose signature this install has just made.

        A known id is answered as known: the driver compares the content with what is stored,
        since a retry is signed at another time.
        """
        known = self._state.known(put.proposal.key)
        outcome: Accepted | MeshError
        effects: list[Effect] = []
        if known is not None:
            outcome = Accepted(key=put.proposal.key, seq=known[0], event=None, idempotent=True)
        else:
            outcome, effects = self._take(put.proposal, now)
        yield from effects
        yield Answer(ticket=put.ticket, outcome=outcome)

    def proposed(self, put: Proposed, now: Now) -> Iterator[Effect]:
        """A proposal that another install forwarded; it gets a verdict of its own."""
        proposal = put.proposal
        outcome: Accepted | MeshError
        effects: list[Effect] = []
        if not self._speaks_for(put.install_id, proposal):
            outcome = Refused("forbidden", "That install does not speak for this member.")
        elif self._state.known(proposal.key) is None and not authentic(self._state, proposal):
            outcome = Refused("bad_signature", "The proposal's signature does not hold.")
        else:
            outcome, effects = self._take(proposal, now)
        yield from effects
        yield Send(install_id=put.install_id, message=self._verdict(proposal.key, outcome))

    def redeemed(self, put: Redeemed, now: Now) -> Iterator[Effect]:
        """Seat a guest and what it lends: all of it or nothing, judged at this instant."""
        refusal = self._refuse_redemption(put, now)
        if refusal is None:
            for proposal in put.proposals:
                outcome, effects = self._take(proposal, now)
                assert isinstance(outcome, Accepted), "judged before"
                yield from effects
        yield Send(
            install_id=put.install_id,
            message=RedeemResult(
                request_id=put.request_id,
                room_id=self._state.room_id,
                state="rejected" if refusal else "applied",
                reason=refusal.reason if refusal else "",
                message=refusal.message if refusal else "",
                authority_install_id=self._me,
                relayed_for=put.relayed_for,
            ),
        )

    def route_offered(self, put: RouteOffered, now: Now) -> Iterator[Effect]:
        """A verified grant becomes the member's route."""
        member = self._state.member(put.member_id)
        if member is None or not member.is_agent or self._state.disbanded_at_ms is not None:
            return
        assert member.profile is not None
        yield from self._system(
            "route.registered",
            put.grant_id,
            {
                "member_id": member.member_id,
                "target_install_id": member.install_id,
                "profile": member.profile,
                "catalog_digest": put.catalog_digest,
                "grant_sha256": put.grant_sha256,
                "permissions": list(put.permissions),
                "expires_at": put.expires_at_ms,
            },
            now,
        )

    def turn_reported(self, put: TurnReported, now: Now) -> Iterator[Effect]:
        """A target's word on a turn; repeated words change nothing."""
        turn, member = self._state.turns.get(put.turn_id), self._state.members.get(put.member_id)
        if turn is None or member is None or turn.member_id != member.member_id:
            return
        if member.install_id != put.install_id:
            return  # nobody reports on another install's agent (situation 41)
        if put.state == "queued":
            yield from self.turn_progressed(
                TurnProgressed(turn_id=put.turn_id, state="dispatched", reason=""), now
            )
        kind = _REPORTS.get(put.state)
        if kind is not None:
            yield from self._end(turn, kind, put.reason, put.message, now)

    def turn_progressed(self, put: TurnProgressed, now: Now) -> Iterator[Effect]:
        """Something volatile is seen of a turn; copies are told by a signal."""
        if self._live.move(put.turn_id, put.state, put.reason, now.wall_ms):
            turn = self._state.turns[put.turn_id]
            yield Tell(body={"kind": "turn.state", "turn": self._live.to_json(turn)})

    def expired(self, now: Now) -> Iterator[Effect]:
        """Turns whose target stayed away too long end, visibly."""
        for turn in self._state.open_turns():
            seen = self._live.seen(turn)
            waited_ms = now.wall_ms - turn.since_ms
            if seen.state is TurnState.OFFLINE and waited_ms > TURN_OFFLINE_WAIT_MS:
                yield from self._end(
                    turn, "turn.failed", "peer_offline", "Its machine did not come back.", now
                )

    # --- judging ---------------------------------------------------------------------------

    def _take(self, proposal: Proposal, now: Now) -> tuple[Accepted | MeshError, list[Effect]]:
        known = self._state.known(proposal.key)
        if known is not None:
            seq, digest = known
            if digest != proposal.digest:
                return Refused("conflict", "This id was used for other content.", seq=seq), []
            return Accepted(key=proposal.key, seq=seq, event=None, idempotent=True), []
        refusal = judge(self._state, proposal, self._at_ms(now))
        if refusal is not None:
            return refusal, []
        effects = list(self._append(proposal, now))
        first = effects[0]
        assert isinstance(first, StoreEvent)
        return (
            Accepted(key=proposal.key, seq=first.event.seq, event=first.event, idempotent=False),
            effects,
        )

    def _speaks_for(self, install_id: str, proposal: Proposal) -> bool:
        if proposal.kind == "member.joined":
            try:
                seat = parse_seat(proposal.payload.get("member"))
            except Malformed:
                return False
            # A person comes in only by redeeming, which shows the secret.
            return seat.is_agent and seat.install_id == install_id
        member = self._state.members.get(proposal.member_id)
        return member is not None and member.install_id == install_id

    def _verdict(self, key: str, outcome: Accepted | MeshError) -> Verdict:
        if isinstance(outcome, Accepted):
            return Verdict(room_id=self._state.room_id, key=key, state="applied", seq=outcome.seq)
        return Verdict(
            room_id=self._state.room_id,
            key=key,
            state="rejected",
            reason=outcome.reason,
            message=outcome.message,
        )

    def _refuse_redemption(self, put: Redeemed, now: Now) -> MeshError | None:
        invitation = self._state.invitations.get(put.invitation_id)
        if invitation is None or not invitation.opens_with(put.secret):
            return Refused("not_found", "There is no such invitation.")
        guest = put.relayed_for or put.install_id
        try:
            seats = [parse_seat(p.payload.get("member")) for p in put.proposals]
        except MeshError as error:
            return error
        if not seats or any(p.kind != "member.joined" for p in put.proposals):
            return Malformed("invalid_params", "A redemption seats a person first.")
        person, agents = seats[0], seats[1:]
        if person.is_agent or any(not a.is_agent for a in agents):
            return Malformed("invalid_params", "A redemption seats one person and its agents.")
        if any(s.install_id != guest for s in seats):
            return Refused("forbidden", "An install seats only its own members.")
        if not all(authentic(self._state, p) for p in put.proposals):
            return Refused("bad_signature", "A seat is not signed by its install.")
        known = [self._state.known(p.key) for p in put.proposals]
        if all(
            k is not None and k[1] == p.digest for k, p in zip(known, put.proposals, strict=True)
        ):
            return None  # the same redemption again: its answer was lost
        return self._refuse_seats(put, person, agents, now)

    def _refuse_seats(
        self, put: Redeemed, person: Member, agents: list[Member], now: Now
    ) -> MeshError | None:
        refusal = judge(self._state, put.proposals[0], self._at_ms(now))
        if refusal is not None:
            return refusal
        if put.proposals[0].payload.get("invitation_id") != put.invitation_id:
            return Refused("forbidden", "The seat names another invitation.")
        if agents and person.role == "listener":
            return Refused("forbidden", "Listeners do not lend agents.")
        fresh = {a.member_id for a in agents} | {person.member_id}
        if len(fresh) != len(agents) + 1 or fresh & self._state.members.keys():
            return Refused("conflict", "A member is seated already, or named twice.")
        if any(a.role != "member" or a.public_key != person.public_key for a in agents):
            return Refused("forbidden", "Lent agents sit as members, under their install's key.")
        # What `judge` would find only once the person sits, and the invitation is burnt.
        if len(self._state.members) + len(fresh) > MEMBERS_PER_ROOM_MAX:
            return Refused("too_large", f"A room has at most {MEMBERS_PER_ROOM_MAX} members.")
        for agent, proposal in zip(agents, put.proposals[1:], strict=True):
            if proposal.payload.keys() != {"member"} or proposal.member_id != agent.member_id:
                return Malformed("invalid_params", "A lent agent's seat has wrong fields.")
        return None

    # --- appending -------------------------------------------------------------------------

    def _at_ms(self, now: Now) -> int:
        """When an event is admitted now. It is judged at that instant too, as copies will.

        The log's time never goes back, also when this machine's clock does (attack 70).
        """
        return max(now.wall_ms, self._state.updated_at_ms)

    def _append(self, proposal: Proposal, now: Now) -> Iterator[Effect]:
        head = self._state.head
        event = admit(
            self._key,
            proposal,
            epoch=0 if head.seq == 0 else FOUNDER_EPOCH,
            seq=head.seq + 1,
            prev_hash=head.hash,
            admitted_at_ms=self._at_ms(now),
        )
        self._state.fold(event)
        yield StoreEvent(event=event)
        yield Deliver(event=event)
        yield from self._consequences(event, now)

    def _system(self, kind: str, about: str, payload: dict[str, Any], now: Now) -> Iterator[Effect]:
        proposal = propose(
            self._key,
            room_id=self._state.room_id,
            event_id=f"{kind}:{about}",
            kind=kind,
            member_id=self._me,
            payload=payload,
            cause=None,
            created_at_ms=now.wall_ms,
        )
        if self._state.known(proposal.key) is None:
            refusal = judge(self._state, proposal, self._at_ms(now))
            assert refusal is None, f"copies would refuse our own event: {refusal}"
            yield from self._append(proposal, now)

    def _consequences(self, event: Event, now: Now) -> Iterator[Effect]:
        proposal = event.proposal
        if proposal.kind in MESSAGE_KINDS:
            if proposal.kind == "message.member":
                turn = self._state.turns[proposal.payload["turn_id"]]
                yield from self._end(turn, "turn.settled", "", "", now)
            yield from self._admit_turns(event, now)
        elif proposal.kind in {"member.left", "grant.revoked", "route.revoked"}:
            for turn in self._state.open_turns():
                member = self._state.members[turn.member_id]
                if not member.present or member.withdrawn:
                    reason = "withdrawn" if member.withdrawn else "not_found"
                    yield from self._end(
                        turn, "turn.failed", reason, f"{member.handle} is not here any more.", now
                    )
        elif proposal.kind == "room.disbanded":
            for turn in self._state.open_turns():
                yield from self._end(turn, "turn.failed", "disbanded", "The room closed.", now)
        elif proposal.kind.startswith("turn."):
            moved = self._state.turns.get(proposal.payload["turn_id"])
            if moved is not None and not moved.open:
                self._live.ended(moved.turn_id)

    def _admit_turns(self, event: Event, now: Now) -> Iterator[Effect]:
        proposal = event.proposal
        root, depth = self._state.hop_of(proposal)
        members = tuple(self._state.present())
        for member in addressed(proposal.payload["text"], members, proposal.member_id):
            turn_id = ids.turn_id(self._state.room_id, root, proposal.key, member.member_id, 1)
            refusal = self._refuse_turn(member, root, depth + 1)
            payload: dict[str, Any] = {"turn_id": turn_id, "member_id": member.member_id}
            if refusal is None:
                payload |= {
                    "root": root,
                    "trigger_event_id": proposal.event_id,
                    "trigger_seq": event.seq,
                    "attempt": 1,
                    "hop": depth + 1,
                }
                yield from self._system("turn.admitted", turn_id, payload, now)
            else:
                payload |= {"reason": refusal.reason, "message": refusal.message}
                yield from self._system("turn.failed", turn_id, payload, now)

    def _refuse_turn(self, member: Member, root: str, hop: int) -> MeshError | None:
        budget = self._state.policy.budget
        if not self._state.budgets.may_spend(root, hop, budget):
            return Refused(
                "budget_spent",
                f"Stopped: loop. {budget} agent answers to one message are enough.",
            )
        if member.withdrawn:
            return Refused("withdrawn", f"{member.handle} was withdrawn by its owner.")
        if member.muted:
            return Refused("muted", f"{member.handle} is muted.")
        if len(self._state.open_turns(member.member_id)) >= TURNS_PER_MEMBER_QUEUED_MAX:
            return Refused("busy", f"{member.handle} has too much to answer already.")
        return None

    def _end(self, turn: Turn, kind: str, reason: str, message: str, now: Now) -> Iterator[Effect]:
        current = self._state.turns.get(turn.turn_id, turn)
        if not current.may_move(EVENT_STATES[kind]):
            return
        payload: dict[str, Any] = {"turn_id": turn.turn_id, "member_id": turn.member_id}
        if reason:
            payload |= {"reason": reason[:64], "message": message[:1_000]}
        yield from self._system(kind, turn.turn_id, payload, now)


def answer_cause(turn: Turn) -> Cause:
    """The cause that an answer to this turn carries."""
    return Cause(root=turn.root, hop=turn.hop, turn_id=turn.turn_id)
