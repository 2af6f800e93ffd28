"""Who may add what: one rule per kind of event, judged twice.

The authority judges a proposal before it appends; every copy judges the event again before it
stores it, at the state before that event and at the authority's time of admission. So an
authority cannot slip in what the room's own rules forbid, and a member cannot gain a role by
what a text or a payload says (situation 47).
"""

from collections.abc import Callable
from typing import Any, Final

from mesh.core import ids
from mesh.core.errors import Malformed, MeshError, Refused
from mesh.core.event import KINDS, SYSTEM_KINDS, Proposal
from mesh.core.identity import verify
from mesh.core.invitation import check_terms
from mesh.core.limits import (
    INVITATION_TTL_MAX_S,
    MEMBERS_PER_ROOM_MAX,
    TEXT_BYTES_MAX,
)
from mesh.core.member import Member, parse_seat
from mesh.core.policy import Policy, parse_policy
from mesh.core.room import RoomState
from mesh.core.system_events import (
    check_digest,
    check_fields,
    check_number,
    check_short,
    check_system,
)
from mesh.core.turn import TurnState

Payload = dict[str, Any]


def judge(state: RoomState, proposal: Proposal, at_ms: int) -> MeshError | None:
    """Why this proposal may not be added to that state at that time, or None if it may.

    The author's signature is judged by `authentic`; idempotency by the caller.
    """
    # What is still running when a room closes ends by system events, hence after the closing.
    if state.disbanded_at_ms is not None and proposal.kind not in SYSTEM_KINDS:
        return Refused("disbanded", "The room was closed by its owner.")
    try:
        if proposal.kind in SYSTEM_KINDS:
            check_system(state, proposal)
        else:
            _RULES[proposal.kind](state, proposal, at_ms)
    except MeshError as refusal:
        return refusal
    return None


def author_key(state: RoomState, proposal: Proposal) -> bytes | None:
    """The key that must have signed this proposal, by what the *log* says; None if nobody may."""
    if proposal.kind in SYSTEM_KINDS:
        return state.authority_key if proposal.member_id == state.authority_install_id else None
    if proposal.kind in {"room.created", "member.joined"}:
        try:
            return parse_seat(proposal.payload.get(_SEAT[proposal.kind])).public_key
        except Malformed:
            return None
    member = state.members.get(proposal.member_id)
    return member.public_key if member else None


def authentic(state: RoomState, proposal: Proposal) -> bool:
    """True if the install that is entitled to speak for the author signed exactly these bytes."""
    key = author_key(state, proposal)
    return key is not None and verify(key, "proposal", proposal.raw, proposal.signature)


_SEAT: Final = {"room.created": "founder", "member.joined": "member"}


def _author(state: RoomState, proposal: Proposal) -> Member:
    member = state.member(proposal.member_id)
    if member is None:
        raise Refused("forbidden", "The author is not a member of this room.")
    return member


def _owner(state: RoomState, proposal: Proposal) -> Member:
    member = _author(state, proposal)
    if member.role != "owner" or member.is_agent:
        raise Refused("forbidden", "Only the room's owner may do this.")
    return member


def _text(payload: Payload) -> None:
    text = payload["text"]
    if not isinstance(text, str) or not text.strip():
        raise Malformed("invalid_params", "The text is empty.", field="text")
    if len(text.encode()) > TEXT_BYTES_MAX:
        raise Malformed("too_large", f"A text has at most {TEXT_BYTES_MAX} bytes.")


def _created(state: RoomState, proposal: Proposal, _at_ms: int) -> None:
    payload = proposal.payload
    check_fields(
        payload, {"name", "authority_gateway_id", "founder", "voters", "lease_ms", "policy"}
    )
    if state.head.seq != 0:
        raise Refused("conflict", "The room exists already.")
    founder = parse_seat(payload["founder"])
    _named(payload, "name")
    parse_policy(payload["policy"], Policy())
    if founder.install_id != payload["authority_gateway_id"] or founder.role != "owner":
        raise Refused("forbidden", "A room is hosted by the install of its founder.")
    if proposal.member_id != founder.member_id or founder.is_agent:
        raise Refused("forbidden", "A room is founded by a person.")
    _own_key(founder)
    voters = payload["voters"]
    if not isinstance(voters, list) or [str(v).partition("#")[0] for v in voters] != [
        founder.install_id
    ]:
        raise Malformed("invalid_params", "A new room has one voter: its host.", field="voters")
    check_number(payload, "lease_ms", 100, 60_000)


def _named(payload: Payload, field: str) -> None:
    if ids.clean_name(payload[field], field) != payload[field]:
        raise Malformed("invalid_params", f"{field} has characters that are not shown.")


def _own_key(member: Member) -> None:
    # Until keys can be rotated, the key that signs is the key that names the install.
    if ids.install_id(member.public_key) != member.install_id:
        raise Refused("peer_identity_mismatch", "The key does not belong to that install.")


def _renamed(state: RoomState, proposal: Proposal, _at_ms: int) -> None:
    check_fields(proposal.payload, {"name"})
    _owner(state, proposal)
    _named(proposal.payload, "name")


def _disbanded(state: RoomState, proposal: Proposal, _at_ms: int) -> None:
    check_fields(proposal.payload, set())
    _owner(state, proposal)


def _joined(state: RoomState, proposal: Proposal, at_ms: int) -> None:
    payload = proposal.payload
    check_fields(payload, {"member"}, frozenset({"invitation_id"}))
    member = parse_seat(payload["member"])
    _own_key(member)
    if proposal.member_id != member.member_id or member.member_id in state.members:
        raise Refused("conflict", "That member is seated already, or was.")
    if len(state.members) >= MEMBERS_PER_ROOM_MAX:
        raise Refused("too_large", f"A room has at most {MEMBERS_PER_ROOM_MAX} members.")
    if member.is_agent:
        person = state.person_of(member.install_id)
        if person is None or person.role == "listener" or member.role != "member":
            raise Refused("forbidden", "Agents are seated by a member of the room, as members.")
        if "invitation_id" in payload:
            raise Refused("forbidden", "An invitation seats a person.")
        return
    invitation = state.invitations.get(str(payload.get("invitation_id")))
    if invitation is None:
        raise Refused("forbidden", "A person joins by an invitation.")
    invitation.check_open(at_ms)
    if member.role != invitation.role:
        raise Refused("forbidden", "The invitation is for another role.")
    if state.person_of(member.install_id) is not None:
        raise Refused("conflict", "This install has a person in the room already.")


def _left(state: RoomState, proposal: Proposal, _at_ms: int) -> None:
    check_fields(proposal.payload, {"member_id", "reason"})
    author = _author(state, proposal)
    gone = state.member(str(proposal.payload["member_id"]))
    if gone is None:
        raise Refused("not_found", "That member is not in the room.")
    own = gone.install_id == author.install_id
    if proposal.payload["reason"] not in (("left", "removed") if own else ("removed",)):
        raise Malformed("invalid_params", "reason is left or removed.", field="reason")
    if not own:
        _owner(state, proposal)
    if gone.role == "owner":
        raise Refused("forbidden", "The owner stays; disband the room to end it.")


def _muted(state: RoomState, proposal: Proposal, _at_ms: int) -> None:
    check_fields(proposal.payload, {"member_id", "muted"})
    _owner(state, proposal)
    if state.member(str(proposal.payload["member_id"])) is None:
        raise Refused("not_found", "That member is not in the room.")
    if type(proposal.payload["muted"]) is not bool:
        raise Malformed("invalid_params", "muted is true or false.", field="muted")


def _message_user(state: RoomState, proposal: Proposal, _at_ms: int) -> None:
    check_fields(proposal.payload, {"text"}, frozenset({"thread_id"}))
    author = _author(state, proposal)
    if author.is_agent or proposal.cause is not None:
        raise Refused("forbidden", "Agents answer by turns.")
    _may_send(author)
    _text(proposal.payload)
    if "thread_id" in proposal.payload:
        ids.check(ids.OPAQUE, proposal.payload["thread_id"], "thread_id")


def _message_member(state: RoomState, proposal: Proposal, _at_ms: int) -> None:
    check_fields(proposal.payload, {"text", "turn_id"})
    author = _author(state, proposal)
    _may_send(author)
    _text(proposal.payload)
    turn, cause = state.turns.get(str(proposal.payload["turn_id"])), proposal.cause
    if turn is None or turn.member_id != author.member_id:
        raise Refused("forbidden", "An agent's message answers a turn of its own.")
    if cause is None or (cause.root, cause.hop, cause.turn_id) != (
        turn.root,
        turn.hop,
        turn.turn_id,
    ):
        raise Refused("forbidden", "The message names another cause than its turn.")
    if not turn.may_move(TurnState.SETTLED):
        raise Refused("conflict", f"The turn has its answer already: {turn.state}.")


def _may_send(author: Member) -> None:
    if author.muted:
        raise Refused("muted", "The room's owner has muted this member.")
    if not author.may_send():
        raise Refused("forbidden", "Listeners read and hear; they do not send.")


def _turn_cancelled(state: RoomState, proposal: Proposal, _at_ms: int) -> None:
    check_fields(proposal.payload, {"turn_id", "member_id"}, frozenset({"reason"}))
    check_short(proposal.payload, "reason")
    author = _author(state, proposal)
    turn = state.turns.get(str(proposal.payload["turn_id"]))
    if turn is None or turn.member_id != proposal.payload["member_id"]:
        raise Refused("not_found", "There is no such turn.")
    if not turn.open:
        raise Refused("conflict", f"The turn has ended: {turn.state}.")
    if author.is_agent and author.member_id != turn.member_id:
        raise Refused("forbidden", "An agent stops only itself.")
    if author.role == "listener":
        raise Refused("forbidden", "Listeners do not stop turns.")


def _issued(state: RoomState, proposal: Proposal, at_ms: int) -> None:
    payload = proposal.payload
    check_fields(
        payload,
        {"invitation_id", "secret_sha256", "role", "uses", "expires_at", "issuer_member_id"},
    )
    author = _author(state, proposal)
    by_policy = state.policy.invite == "members" and author.role == "member"
    if author.is_agent or not (author.role == "owner" or by_policy):
        raise Refused("forbidden", "This room's policy does not let you invite.")
    check_terms(payload["uses"], payload["role"])
    invitation_id = ids.check(ids.INVITATION, payload["invitation_id"], "invitation_id")
    if invitation_id in state.invitations or payload["issuer_member_id"] != author.member_id:
        raise Refused("conflict", "That invitation exists, or is somebody else's.")
    check_digest(payload, "secret_sha256")
    check_number(payload, "expires_at", at_ms + 1, at_ms + (INVITATION_TTL_MAX_S + 60) * 1000)


def _invitation_revoked(state: RoomState, proposal: Proposal, _at_ms: int) -> None:
    check_fields(proposal.payload, {"invitation_id"})
    author = _author(state, proposal)
    invitation = state.invitations.get(str(proposal.payload["invitation_id"]))
    if invitation is None:
        raise Refused("not_found", "There is no such invitation.")
    if author.role != "owner" and author.member_id != invitation.issuer_member_id:
        raise Refused("forbidden", "Only its issuer or the owner may revoke an invitation.")


def _grant_revoked(state: RoomState, proposal: Proposal, _at_ms: int) -> None:
    check_fields(proposal.payload, {"member_id", "reason"}, frozenset({"grant_ids"}))
    check_short(proposal.payload, "reason")
    grant_ids = proposal.payload.get("grant_ids", [])
    if not isinstance(grant_ids, list) or not all(isinstance(i, str) for i in grant_ids):
        raise Malformed("invalid_params", "grant_ids is a list of ids.", field="grant_ids")
    author = _author(state, proposal)
    if not author.is_agent or proposal.payload["member_id"] != author.member_id:
        raise Refused("forbidden", "A loan is withdrawn by the install that lends.")


def _policy_changed(state: RoomState, proposal: Proposal, _at_ms: int) -> None:
    check_fields(proposal.payload, {"policy"})
    _owner(state, proposal)
    parse_policy(proposal.payload["policy"], state.policy)


_RULES: Final[dict[str, Callable[[RoomState, Proposal, int], None]]] = {
    "room.created": _created,
    "room.renamed": _renamed,
    "room.disbanded": _disbanded,
    "member.joined": _joined,
    "member.left": _left,
    "member.muted": _muted,
    "message.user": _message_user,
    "message.member": _message_member,
    "turn.cancelled": _turn_cancelled,
    "invitation.issued": _issued,
    "invitation.revoked": _invitation_revoked,
    "grant.revoked": _grant_revoked,
    "policy.changed": _policy_changed,
}

assert _RULES.keys() | SYSTEM_KINDS == KINDS, "every kind has a rule"
