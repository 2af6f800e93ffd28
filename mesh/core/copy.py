"""A copy of a room: takes in the authority's log, and forwards what its own members say.

Every event is checked here as if nobody had checked it before: chain, epoch, the authority's
signature, the author's signature, the room's rules. A proposal waits in the outbox until the
event comes back by the log, or a verdict refuses it; one refusal never blocks what is behind it
(situation 28).
"""

from collections import OrderedDict
from collections.abc import Iterator

from mesh.core.admission import authentic, judge
from mesh.core.authority import FOUNDER_EPOCH
from mesh.core.effects import (
    Accepted,
    Answer,
    Deliver,
    DropProposal,
    Effect,
    QueueProposal,
    RefuseProposal,
    Send,
    StoreEvent,
    Tell,
)
from mesh.core.errors import REASONS, MeshError, PeerFault, Refused
from mesh.core.event import Event, Proposal
from mesh.core.inputs import Appended, Discarded, Judged, Submitted
from mesh.core.limits import (
    BATCH_BYTES_MAX,
    OUTBOX_ROWS_MAX,
    OUTBOX_WINDOW,
    OUTBOX_WINDOW_BYTES,
)
from mesh.core.link_messages import CatchUp, Propose, Stored, WireProposal
from mesh.core.live_turns import LiveTurns
from mesh.core.room import RoomState


class Copy:
    """One room on an install that is not its authority."""

    def __init__(
        self,
        state: RoomState,
        live: LiveTurns,
        authority_install_id: str,
        waiting: tuple[Proposal, ...],
    ) -> None:
        self._state = state
        self._live = live
        self.authority_install_id = authority_install_id
        self._waiting: OrderedDict[str, Proposal] = OrderedDict((p.key, p) for p in waiting)
        self._sent: dict[str, int] = {}  # bytes of each key on the present link
        self._tickets: dict[str, list[int]] = {}
        self.link_up = False
        self.faulty = ""
        self.latest_seq = state.head.seq
        self._asked_seq = -1
        self._acked_seq = state.head.seq

    def waiting(self) -> tuple[Proposal, ...]:
        """Proposals of ours that are not known to be in the log, in order."""
        return tuple(self._waiting.values())

    def sent_keys(self) -> frozenset[str]:
        """Keys of waiting proposals that were sent on the present link."""
        return frozenset(self._sent)

    # --- our own members -------------------------------------------------------------------

    def submitted(self, put: Submitted) -> Iterator[Effect]:
        """Keep a proposal, forward it, and answer when the log has it."""
        proposal = put.proposal
        known = self._state.known(proposal.key)
        earlier = self._waiting.get(proposal.key)
        if known is not None:
            yield Answer(ticket=put.ticket, outcome=self._same(known, proposal))
        elif earlier is not None:
            if earlier.kind != proposal.kind or earlier.payload != proposal.payload:
                refusal = Refused("conflict", "This id was used for other content.")
                yield Answer(ticket=put.ticket, outcome=refusal)
            else:
                self._tickets.setdefault(proposal.key, []).append(put.ticket)
        elif len(self._waiting) >= OUTBOX_ROWS_MAX:
            refusal = Refused("busy", "Too much is waiting for the room's host already.")
            yield Answer(ticket=put.ticket, outcome=refusal)
        else:
            self._waiting[proposal.key] = proposal
            self._tickets[proposal.key] = [put.ticket]
            yield QueueProposal(proposal=proposal)
            yield self._outbox_signal(proposal, "waiting", "")

    def forward(self) -> Iterator[Effect]:
        """What may be forwarded now: in order, within the window, nothing twice on one link."""
        if not self.link_up or self.faulty:
            return
        batch: list[WireProposal] = []
        batch_bytes, sent_bytes = 0, sum(self._sent.values())
        for key, proposal in self._waiting.items():
            if key in self._sent:
                continue
            size_bytes = len(proposal.raw)
            if len(self._sent) >= OUTBOX_WINDOW or (
                self._sent and sent_bytes + size_bytes > OUTBOX_WINDOW_BYTES
            ):
                break
            if batch and batch_bytes + size_bytes > BATCH_BYTES_MAX:
                yield self._propose(batch)
                batch, batch_bytes = [], 0
            self._sent[key] = size_bytes
            sent_bytes += size_bytes
            batch.append(WireProposal(proposal.raw, proposal.signature))
            batch_bytes += size_bytes
        if batch:
            yield self._propose(batch)

    def discarded(self, put: Discarded) -> Iterator[Effect]:
        """Take back what the authority cannot have seen yet."""
        outcome: Accepted | MeshError
        proposal = self._waiting.get(put.key)
        if proposal is None and self._state.known(put.key) is not None:
            outcome = Refused("conflict", "It is in the log already.")
        elif proposal is None:  # refused before: only its row is left
            yield DropProposal(key=put.key)
            outcome = Accepted(key=put.key, seq=0, event=None, idempotent=True)
        elif put.key in self._sent:
            outcome = Refused("uncertain", "It was sent already; the host's answer is awaited.")
        else:
            del self._waiting[put.key]
            yield DropProposal(key=put.key)
            yield self._outbox_signal(proposal, "refused", "discarded")
            outcome = Accepted(key=put.key, seq=0, event=None, idempotent=False)
            gone = Refused("conflict", "Its author took it back.")
            for ticket in self._tickets.pop(put.key, []):
                yield Answer(ticket=ticket, outcome=gone)
        yield Answer(ticket=put.ticket, outcome=outcome)

    # --- the authority ---------------------------------------------------------------------

    def linked(self) -> Iterator[Effect]:
        """A link to the authority is up: say what we have, then forward what waits."""
        self.link_up = True
        self._sent.clear()
        self._asked_seq = self._acked_seq = self._state.head.seq
        yield self._catch_up()
        yield from self.forward()

    def unlinked(self) -> None:
        """The link is gone; what was sent is sent again on the next one."""
        self.link_up = False
        self._sent.clear()

    def appended(self, put: Appended) -> Iterator[Effect]:
        """Take in the next event. One we have is skipped; a gap asks again, once.

        Raises:
            PeerFault: the authority sent what no honest authority sends.
        """
        if put.install_id != self.authority_install_id:
            return  # nobody else feeds this copy, nor can make its authority look faulty
        self.latest_seq = max(self.latest_seq, put.latest_seq)
        event, have = put.event, self._state.head.seq
        if event.seq <= have:
            return
        if event.seq > have + 1:
            if self._asked_seq != have:
                self._asked_seq = have
                yield self._catch_up()
            return
        self._check(event)
        self._state.fold(event)
        yield StoreEvent(event=event)
        yield Deliver(event=event)
        yield from self._settle(event)

    def stored(self) -> Iterator[Effect]:
        """Acknowledge what this round has put on the disk."""
        if self.link_up and self._state.head.seq > self._acked_seq:
            self._acked_seq = self._state.head.seq
            yield Send(
                install_id=self.authority_install_id,
                message=Stored(room_id=self._state.room_id, seq=self._acked_seq),
            )

    def judged(self, put: Judged) -> Iterator[Effect]:
        """A verdict. `applied` waits for the event itself; `rejected` is kept as refused."""
        proposal = self._waiting.get(put.key)
        if proposal is None or put.install_id != self.authority_install_id:
            return
        if put.state != "rejected":
            return
        del self._waiting[put.key]
        self._sent.pop(put.key, None)
        yield RefuseProposal(key=put.key, reason=put.reason)
        yield self._outbox_signal(proposal, "refused", put.reason)
        refusal = _refusal(put)
        for ticket in self._tickets.pop(put.key, []):
            yield Answer(ticket=ticket, outcome=refusal)
        yield from self.forward()

    def _propose(self, batch: list[WireProposal]) -> Send:
        return Send(
            install_id=self.authority_install_id,
            message=Propose(room_id=self._state.room_id, proposals=tuple(batch)),
        )

    def _catch_up(self) -> Send:
        head = self._state.head
        return Send(
            install_id=self.authority_install_id,
            message=CatchUp(room_id=self._state.room_id, have_seq=head.seq, have_hash=head.hash),
        )

    def _check(self, event: Event) -> None:
        state, proposal = self._state, event.proposal
        if event.room_id != state.room_id:
            raise PeerFault("wrong_room", "An event of another room was sent.")
        state.head.follow(event)
        if event.epoch != (0 if event.seq == 1 else FOUNDER_EPOCH):
            # A bare number is never adopted (invariant I13); certificates come with succession.
            raise PeerFault("unknown_epoch", "An event names an epoch that was not proved.")
        if state.known(proposal.key) is not None:
            raise PeerFault("conflict", "An event id occurs twice in the log.")
        if event.seq == 1:
            founder = proposal.payload.get("authority_gateway_id")
            if proposal.kind != "room.created" or founder != self.authority_install_id:
                raise PeerFault("fork", "The log does not begin with this room's creation.")
        refusal = judge(state, proposal, event.admitted_at_ms)
        if refusal is not None:
            raise PeerFault(refusal.reason, f"The authority admitted what it may not: {refusal}")
        if not authentic(state, proposal):
            raise PeerFault("bad_signature", "An author's signature does not hold.", seq=event.seq)
        key = state.authority_key if event.seq > 1 else _founder_key(proposal)
        if not event.signed_by(key):
            raise PeerFault("bad_signature", "The authority's signature does not hold.")

    def _settle(self, event: Event) -> Iterator[Effect]:
        key = event.proposal.key
        if event.kind.startswith("turn."):
            turn = self._state.turns.get(event.payload["turn_id"])
            if turn is not None and not turn.open:
                self._live.ended(turn.turn_id)
        self._sent.pop(key, None)
        if self._waiting.pop(key, None) is None:
            return
        yield DropProposal(key=key)
        done = Accepted(key=key, seq=event.seq, event=event, idempotent=False)
        for ticket in self._tickets.pop(key, []):
            yield Answer(ticket=ticket, outcome=done)

    def _same(self, known: tuple[int, str], proposal: Proposal) -> Accepted:
        # The driver compares kind and payload with the stored event: the time of a retry differs.
        return Accepted(key=proposal.key, seq=known[0], event=None, idempotent=True)

    def _outbox_signal(self, proposal: Proposal, state: str, reason: str) -> Tell:
        return Tell(
            body={
                "kind": "outbox",
                "event_id": proposal.event_id,
                "state": state,
                "reason": reason,
            }
        )


def _founder_key(proposal: Proposal) -> bytes:
    return bytes.fromhex(proposal.payload["founder"]["public_key"])


def _refusal(put: Judged) -> MeshError:
    reason = put.reason if put.reason in REASONS else "forbidden"
    return Refused(reason, put.message[:500] or "The room's host refused it.")
