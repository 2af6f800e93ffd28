"""Rooms, members and events in the form that clients see (docs/surface.md)."""

from typing import Any, Final

from mesh.core.event import Event
from mesh.core.limits import STAMP_AHEAD_MS
from mesh.core.member import Member
from mesh.core.room_machine import RoomMachine

_SYSTEM: Final = "system"


def room_json(machine: RoomMachine) -> dict[str, Any]:
    """The room itself."""
    state = machine.state
    me = state.person_of(machine.me)
    return {
        "room_id": state.room_id,
        "name": state.name,
        "members": sum(1 for _ in state.present()),
        "authority_gateway_id": machine.authority_install_id,
        "authority_epoch": state.head.epoch,
        "revision": state.revision,
        "created_at": state.created_at_ms,
        "updated_at": state.updated_at_ms,
        "latest_seq": state.head.seq,
        "protected_seq": 0,
        "disbanded_at": state.disbanded_at_ms,
        "copy": not machine.is_authority,
        "me": me.member_id if me else None,
        "role": me.role if me else None,
    }


def member_json(machine: RoomMachine, member: Member) -> dict[str, Any]:
    """One member, with presence and its current turn."""
    presence, since_ms, reason = machine.present_as(member)
    turns = machine.state.open_turns(member.member_id)
    mine = member.install_id == machine.me
    lent = member.lent
    return {
        "member_id": member.member_id,
        "handle": member.handle,
        "display_name": member.display_name,
        "kind": member.kind,
        "role": member.role,
        "install_id": member.install_id,
        "install_name": member.install_name,
        "profile": member.profile,
        "muted": member.muted,
        "me": mine and not member.is_agent,
        "mine": mine,
        "joined_at": member.joined_at_ms,
        "presence": presence,
        "presence_since": since_ms,
        "reason": reason,
        "lent": {"permissions": list(lent.permissions), "until": lent.until_ms} if lent else None,
        "turn": machine.live.to_json(turns[0]) if turns else None,
    }


def state_json(machine: RoomMachine) -> dict[str, Any]:
    """The answer of `groups.state`."""
    state = machine.state
    link = "local" if machine.is_authority else "up" if machine.host_up else "down"
    return {
        "room": room_json(machine),
        "members": [member_json(machine, m) for m in state.members.values()],
        "authority": {
            "gateway_id": machine.authority_install_id,
            "epoch": state.head.epoch,
            "mode": "single",
            "link": link,
            "reason": machine.copy.faulty,
            "latest_seq": max(state.head.seq, machine.copy.latest_seq),
        },
        "voters": list(state.voters),
        "latest_seq": state.head.seq,
        "protected_seq": 0,
        "turns": [machine.live.to_json(t) for t in state.turns.values()],
        "policy": state.policy.to_json(),
        "branches": [],
        "outbox": [],
    }


def event_json(machine: RoomMachine, event: Event) -> dict[str, Any]:
    """One event. Who wrote it comes from the log's own seats, never from its text.

    Order is the authority's; the author's stamp is for display, and flagged where it lies in the
    future of the admission (situation 31).
    """
    proposal = event.proposal
    ahead_ms = proposal.created_at_ms - event.admitted_at_ms
    return {
        "room_id": event.room_id,
        "seq": event.seq,
        "event_id": proposal.event_id,
        "kind": event.kind,
        "actor": _actor(machine, event),
        "authority_epoch": event.epoch,
        "payload": proposal.payload,
        "cause": proposal.cause.to_json() if proposal.cause else None,
        "created_at": proposal.created_at_ms,
        "admitted_at": event.admitted_at_ms,
        "clock_ahead_ms": ahead_ms if ahead_ms > STAMP_AHEAD_MS else 0,
        "prev_hash": event.prev_hash,
        "hash": event.hash,
        "level": "local",
    }


def _actor(machine: RoomMachine, event: Event) -> dict[str, Any]:
    member = machine.state.members.get(event.proposal.member_id)
    if member is None:
        return {
            "kind": _SYSTEM,
            "id": event.proposal.member_id,
            "display_name": "",
            "handle": "",
            "install_id": machine.authority_install_id,
        }
    return {
        "kind": member.kind,
        "id": member.member_id,
        "display_name": member.display_name,
        "handle": member.handle,
        "install_id": member.install_id,
    }
