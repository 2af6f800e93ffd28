"""The form of what an authority writes by itself: turns, routes, voided proposals.

The authority makes these payloads; a copy reads them from outside. What is not of this form is
refused before it is folded, so that a broken authority is named as such and the copy stays whole
(attack 36). Whether the events are wise is the authority's affair; whether they can be folded,
and speak of members and turns that the log knows, is everybody's.
"""

from collections.abc import Callable
from typing import Any, Final

from mesh.core import ids
from mesh.core.errors import Malformed, Refused
from mesh.core.event import SYSTEM_KINDS, Proposal
from mesh.core.limits import JSON_INT_MAX
from mesh.core.member import Member, parse_permissions
from mesh.core.room import RoomState

REASON_CHARS_MAX: Final = 64
MESSAGE_CHARS_MAX: Final = 1_000
_HOP_MAX: Final = 1_000

Payload = dict[str, Any]


def check_system(state: RoomState, proposal: Proposal) -> None:
    """Return if the authority may write this event at that state.

    Raises:
        Malformed, Refused: another author, or a payload that cannot be what it claims to be.
    """
    assert proposal.kind in SYSTEM_KINDS, proposal.kind
    if proposal.member_id != state.authority_install_id:
        raise Refused("forbidden", "Only the room's authority writes this kind of event.")
    _RULES.get(proposal.kind, _turn_moved)(state, proposal.payload)


def check_fields(
    payload: Payload, needed: set[str], optional: frozenset[str] = frozenset()
) -> None:
    """Raises Malformed unless the payload has the needed fields, and no unknown ones."""
    if not needed <= payload.keys() <= needed | optional:
        raise Malformed("invalid_params", "The payload has wrong fields.", field="payload")


def check_short(payload: Payload, field: str, chars_max: int = REASON_CHARS_MAX) -> None:
    """Raises Malformed if the field is there and is not a short text."""
    value = payload.get(field, "")
    if not isinstance(value, str) or len(value) > chars_max:
        raise Malformed("invalid_params", f"{field} is not a short text.", field=field)


def check_number(payload: Payload, field: str, least: int, most: int) -> None:
    """Raises Malformed unless the field is an integer from `least` to `most`."""
    value = payload[field]
    if type(value) is not int or not least <= value <= most:
        raise Malformed("invalid_params", f"{field} is out of range.", field=field)


def check_digest(payload: Payload, field: str) -> None:
    """Raises Malformed unless the field is a SHA-256 in hex."""
    ids.check(ids.DIGEST, payload[field], field)


def _turn_admitted(state: RoomState, payload: Payload) -> None:
    needed = {"turn_id", "member_id", "root", "trigger_event_id", "trigger_seq", "attempt", "hop"}
    check_fields(payload, needed)
    turn_id = ids.check(ids.TURN, payload["turn_id"], "turn_id")
    _agent(state, payload)
    ids.check(ids.OPAQUE, payload["root"], "root")
    ids.check(ids.OPAQUE, payload["trigger_event_id"], "trigger_event_id")
    check_number(payload, "trigger_seq", 1, state.head.seq)
    check_number(payload, "attempt", 1, JSON_INT_MAX)
    check_number(payload, "hop", 1, _HOP_MAX)
    if turn_id in state.turns:
        raise Refused("conflict", "That turn was admitted before.")


def _turn_moved(state: RoomState, payload: Payload) -> None:
    check_fields(payload, {"turn_id", "member_id"}, frozenset({"reason", "message"}))
    turn = state.turns.get(ids.check(ids.TURN, payload["turn_id"], "turn_id"))
    member_id = ids.check(ids.MEMBER, payload["member_id"], "member_id")
    # A turn that was refused was never admitted; its member is known all the same.
    if member_id not in state.members or (turn is not None and turn.member_id != member_id):
        raise Refused("not_found", "There is no such turn of that member.")
    check_short(payload, "reason")
    check_short(payload, "message", MESSAGE_CHARS_MAX)


def _route_registered(state: RoomState, payload: Payload) -> None:
    check_fields(
        payload,
        {
            "member_id",
            "target_install_id",
            "profile",
            "catalog_digest",
            "grant_sha256",
            "permissions",
            "expires_at",
        },
    )
    member = _agent(state, payload)
    if payload["target_install_id"] != member.install_id or payload["profile"] != member.profile:
        # Never another install or profile than the one that was seated (situation 41).
        raise Refused("wrong_profile", "A route leads to the member's own install and profile.")
    check_digest(payload, "catalog_digest")
    check_digest(payload, "grant_sha256")
    parse_permissions(payload["permissions"])
    check_number(payload, "expires_at", 0, JSON_INT_MAX)


def _route_revoked(state: RoomState, payload: Payload) -> None:
    check_fields(payload, {"member_id"}, frozenset({"grant_id", "reason"}))
    if ids.check(ids.MEMBER, payload["member_id"], "member_id") not in state.members:
        raise Refused("not_found", "There is no such member.")
    check_short(payload, "reason")
    check_short(payload, "grant_id")


def _voided(_state: RoomState, payload: Payload) -> None:
    check_fields(payload, {"event_id", "member_id"})
    ids.check(ids.OPAQUE, payload["event_id"], "event_id")
    ids.check(ids.MEMBER, payload["member_id"], "member_id")


def _agent(state: RoomState, payload: Payload) -> Member:
    member = state.member(ids.check(ids.MEMBER, payload["member_id"], "member_id"))
    if member is None or not member.is_agent:
        raise Refused("not_found", "There is no such agent in the room.")
    return member


_RULES: Final[dict[str, Callable[[RoomState, Payload], None]]] = {
    "turn.admitted": _turn_admitted,
    "route.registered": _route_registered,
    "route.revoked": _route_revoked,
    "proposal.voided": _voided,
}
