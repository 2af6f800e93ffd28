"""RoomState: what a room's log says, folded one event at a time.

Folding is a function of the log alone, so every install that has the same log has the same
state: handles made unique here are the same everywhere. Events that are folded were judged
before (`admission`); folding asserts and never refuses.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from mesh.core import ids
from mesh.core.budget import Budgets
from mesh.core.event import Event, Proposal
from mesh.core.invitation import Invitation, Redemption
from mesh.core.log import Head
from mesh.core.member import Member, parse_seat
from mesh.core.policy import Policy, parse_policy
from mesh.core.turn import EVENT_STATES, Turn, TurnState

_CLOSED_TURNS_KEPT: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Which install answers for an agent, under which grant. Held by the room's home."""

    member_id: str
    target_install_id: str
    profile: str
    catalog_digest: str
    grant_sha256: str
    permissions: tuple[str, ...]
    expires_at_ms: int


class RoomState:
    """A room at a seq. Mutable, because a fold per event must cost microseconds."""

    def __init__(self, room_id: str) -> None:
        self.room_id = room_id
        self.name = ""
        self.head = Head()
        self.revision = 0
        self.created_at_ms = 0
        self.updated_at_ms = 0
        self.disbanded_at_ms: int | None = None
        self.authority_install_id = ""
        self.authority_key = b""
        self.voters: tuple[str, ...] = ()
        self.lease_ms = 0
        self.policy = Policy()
        self.members: dict[str, Member] = {}
        self.invitations: dict[str, Invitation] = {}
        self.routes: dict[str, Route] = {}
        self.turns: dict[str, Turn] = {}
        self.budgets = Budgets()
        self._closed: OrderedDict[str, None] = OrderedDict()
        # event key -> (seq, digest), both as bytes: what makes an event id count once
        self._known: dict[bytes, tuple[int, bytes]] = {}

    # --- what others ask -------------------------------------------------------------------

    def present(self) -> Iterator[Member]:
        """Members who have not left."""
        return (m for m in self.members.values() if m.present)

    def member(self, member_id: str) -> Member | None:
        """A present member, or None."""
        found = self.members.get(member_id)
        return found if found and found.present else None

    def installs(self) -> frozenset[str]:
        """Installs that have a present member: who keeps a copy."""
        return frozenset(m.install_id for m in self.present())

    def person_of(self, install_id: str) -> Member | None:
        """The person of an install who is present, if any."""
        return next(
            (m for m in self.present() if m.install_id == install_id and not m.is_agent), None
        )

    def key_of(self, install_id: str) -> bytes | None:
        """The public key the log names for an install, members who left included."""
        if install_id == self.authority_install_id:
            return self.authority_key
        return next(
            (m.public_key for m in self.members.values() if m.install_id == install_id), None
        )

    def known(self, key: str) -> tuple[int, str] | None:
        """(seq, digest) of the event with this key, if the log has it."""
        found = self._known.get(bytes.fromhex(key))
        return (found[0], found[1].hex()) if found else None

    def handles(self) -> frozenset[str]:
        """Folded handles that are taken, by present members."""
        return frozenset(ids.fold_handle(m.handle) for m in self.present())

    def open_turns(self, member_id: str | None = None) -> tuple[Turn, ...]:
        """Turns without an end, oldest first."""
        return tuple(t for t in self.turns.values() if t.open and member_id in {None, t.member_id})

    def hop_of(self, proposal: Proposal) -> tuple[str, int]:
        """(root event id, depth) of the chain an event belongs to."""
        cause = proposal.cause
        return (cause.root, cause.hop) if cause else (proposal.event_id, 0)

    # --- folding ---------------------------------------------------------------------------

    def fold(self, event: Event) -> None:
        """Take in the next event of the log.

        Raises:
            PeerFault: it does not continue the log (see `log`).
        """
        self.head = self.head.follow(event)
        proposal = event.proposal
        key = bytes.fromhex(proposal.key)
        assert key not in self._known, "an event id occurs at most once"
        self._known[key] = (event.seq, bytes.fromhex(proposal.digest))
        self.updated_at_ms = event.admitted_at_ms
        fold = _FOLDS.get(proposal.kind)
        if fold is not None:
            fold(self, event, proposal.payload)
            self.revision = event.seq

    def _created(self, event: Event, payload: dict[str, Any]) -> None:
        founder = parse_seat(payload["founder"])
        self.name = payload["name"]
        self.created_at_ms = event.admitted_at_ms
        self.authority_install_id = payload["authority_gateway_id"]
        self.authority_key = founder.public_key
        self.voters = tuple(payload["voters"])
        self.lease_ms = payload["lease_ms"]
        self.policy = parse_policy(payload["policy"], Policy())
        self._seat(event, founder)

    def _renamed(self, _event: Event, payload: dict[str, Any]) -> None:
        self.name = payload["name"]

    def _disbanded(self, event: Event, _payload: dict[str, Any]) -> None:
        self.disbanded_at_ms = event.admitted_at_ms

    def _joined(self, event: Event, payload: dict[str, Any]) -> None:
        member = parse_seat(payload["member"])
        self._seat(event, member)
        invitation_id = payload.get("invitation_id")
        if invitation_id is not None:
            used = Redemption(
                member_id=member.member_id,
                display_name=member.display_name,
                at_ms=event.admitted_at_ms,
            )
            invitation = self.invitations[invitation_id]
            self.invitations[invitation_id] = invitation.used_by(used)

    def _seat(self, event: Event, member: Member) -> None:
        handle = ids.unique_handle(member.handle, member.install_name, self.handles())
        self.members[member.member_id] = replace(
            member, handle=handle, joined_seq=event.seq, joined_at_ms=event.admitted_at_ms
        )

    def _left(self, event: Event, payload: dict[str, Any]) -> None:
        gone = self.members[payload["member_id"]]
        leaving = [gone]
        if not gone.is_agent:  # an install without a person keeps no agents in the room
            leaving += [m for m in self.present() if m.is_agent and m.install_id == gone.install_id]
        for member in leaving:
            self.routes.pop(member.member_id, None)
            self.members[member.member_id] = replace(
                member, left_seq=event.seq, left_reason=payload["reason"]
            )

    def _muted(self, _event: Event, payload: dict[str, Any]) -> None:
        member = self.members[payload["member_id"]]
        self.members[member.member_id] = replace(member, muted=payload["muted"])

    def _policy_changed(self, _event: Event, payload: dict[str, Any]) -> None:
        self.policy = parse_policy(payload["policy"], self.policy)

    def _issued(self, event: Event, payload: dict[str, Any]) -> None:
        self.invitations[payload["invitation_id"]] = Invitation(
            invitation_id=payload["invitation_id"],
            room_id=self.room_id,
            secret_sha256=payload["secret_sha256"],
            role=payload["role"],
            uses=payload["uses"],
            expires_at_ms=payload["expires_at"],
            issuer_member_id=payload["issuer_member_id"],
            created_at_ms=event.admitted_at_ms,
        )

    def _invitation_revoked(self, _event: Event, payload: dict[str, Any]) -> None:
        invitation = self.invitations[payload["invitation_id"]]
        self.invitations[invitation.invitation_id] = replace(invitation, revoked=True)

    def _route_registered(self, _event: Event, payload: dict[str, Any]) -> None:
        member = self.members[payload["member_id"]]
        self.members[member.member_id] = replace(member, withdrawn=False)
        self.routes[member.member_id] = Route(
            member_id=member.member_id,
            target_install_id=payload["target_install_id"],
            profile=payload["profile"],
            catalog_digest=payload["catalog_digest"],
            grant_sha256=payload["grant_sha256"],
            permissions=tuple(payload["permissions"]),
            expires_at_ms=payload["expires_at"],
        )

    def _withdrawn(self, _event: Event, payload: dict[str, Any]) -> None:
        member = self.members[payload["member_id"]]
        self.members[member.member_id] = replace(member, withdrawn=True)
        self.routes.pop(member.member_id, None)

    def _turn_admitted(self, event: Event, payload: dict[str, Any]) -> None:
        turn = Turn(
            turn_id=payload["turn_id"],
            member_id=payload["member_id"],
            root=payload["root"],
            trigger_seq=payload["trigger_seq"],
            attempt=payload["attempt"],
            hop=payload["hop"],
            state=TurnState.QUEUED,
            since_ms=event.admitted_at_ms,
        )
        self.turns[turn.turn_id] = turn
        self.budgets.spend(turn.root)

    def _turn_moved(self, event: Event, payload: dict[str, Any]) -> None:
        turn = self.turns.get(payload["turn_id"])
        state = EVENT_STATES[event.kind]
        if turn is None or not turn.may_move(state):
            return  # a refused chain has no turn to move; a second end says nothing new
        reason, message = payload.get("reason", ""), payload.get("message", "")
        self.turns[turn.turn_id] = turn.moved(state, event.admitted_at_ms, reason, message)
        if not self.turns[turn.turn_id].open:
            self._closed[turn.turn_id] = None
            self._closed.move_to_end(turn.turn_id)
            if len(self._closed) > _CLOSED_TURNS_KEPT:
                self.turns.pop(self._closed.popitem(last=False)[0])


_FOLDS: Final[dict[str, Callable[[RoomState, Event, dict[str, Any]], None]]] = {
    "room.created": RoomState._created,
    "room.renamed": RoomState._renamed,
    "room.disbanded": RoomState._disbanded,
    "member.joined": RoomState._joined,
    "member.left": RoomState._left,
    "member.muted": RoomState._muted,
    "policy.changed": RoomState._policy_changed,
    "invitation.issued": RoomState._issued,
    "invitation.revoked": RoomState._invitation_revoked,
    "route.registered": RoomState._route_registered,
    "route.revoked": RoomState._withdrawn,
    "grant.revoked": RoomState._withdrawn,
    "turn.admitted": RoomState._turn_admitted,
    "turn.started": RoomState._turn_moved,
    "turn.settled": RoomState._turn_moved,
    "turn.passed": RoomState._turn_moved,
    "turn.failed": RoomState._turn_moved,
    "turn.cancelled": RoomState._turn_moved,
    "turn.uncertain": RoomState._turn_moved,
}
