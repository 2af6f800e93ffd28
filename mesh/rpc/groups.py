"""`groups.*`: rooms. Each method turns typed parameters into one call of `service.conversation`."""

from typing import Any

import msgspec

from mesh.core import limits
from mesh.core.event import KINDS
from mesh.rpc.caller import Caller
from mesh.rpc.registry import NoParams, method
from mesh.rpc.surface import Surface


class RoomOnly(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A room."""

    room_id: str


class SeatWish(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A profile of this node, and the handle it should have."""

    profile: str
    handle: str | None = None


class Create(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A new room."""

    name: str
    room_id: str | None = None
    members: list[SeatWish] = []
    policy: dict[str, Any] | None = None


class Send(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A message. `payload` is judged by the room's rules."""

    room_id: str
    event_id: str
    payload: dict[str, Any]
    member_id: str | None = None
    wait_ms: int | None = None


class Log(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A page of a log."""

    room_id: str
    since_seq: int = 0
    limit: int = 100


class Subscribe(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A cursor to follow from."""

    room_id: str
    since_seq: int


class Rename(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A new name."""

    room_id: str
    name: str


class Stop(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """All open turns of a room, or one."""

    room_id: str
    turn_id: str | None = None


class EventOf(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One event id of the operator's."""

    room_id: str
    event_id: str


class MemberAdd(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A profile to seat."""

    room_id: str
    profile: str
    handle: str | None = None


class MemberOf(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One member."""

    room_id: str
    member_id: str


class MemberMute(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A member to mute, or not."""

    room_id: str
    member_id: str
    muted: bool


class PolicySet(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Fields of the policy to change."""

    room_id: str
    policy: dict[str, Any]


@method("groups.capabilities")
async def capabilities(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
    """What this node's rooms know."""
    return {
        "version": 1,
        "kinds": sorted(KINDS),
        "limits": {
            "event_bytes": limits.EVENT_BYTES_MAX,
            "text_bytes": limits.TEXT_BYTES_MAX,
            "log_page": limits.LOG_PAGE_MAX,
            "members": limits.MEMBERS_PER_ROOM_MAX,
            "name_chars": limits.NAME_CHARS_MAX,
        },
    }


@method("groups.create", params=Create)
async def create(surface: Surface, caller: Caller, params: Create) -> dict[str, Any]:
    """Found a room that this install hosts."""
    seats = [{"profile": s.profile, "handle": s.handle} for s in params.members]
    made: dict[str, Any] = await surface.rooms.create(
        params.name, params.room_id, seats, params.policy
    )
    return made


@method("groups.list")
async def list_rooms(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
    """All rooms of this install."""
    made: dict[str, Any] = surface.rooms.list()
    return made


@method("groups.state", params=RoomOnly)
async def state(surface: Surface, caller: Caller, params: RoomOnly) -> dict[str, Any]:
    """A room with its members, turns and outbox."""
    made: dict[str, Any] = await surface.rooms.state(params.room_id)
    return made


@method("groups.send", params=Send)
async def send(surface: Surface, caller: Caller, params: Send) -> dict[str, Any]:
    """Say something, once."""
    made: dict[str, Any] = await surface.rooms.send(
        params.room_id, params.event_id, params.payload, params.member_id, params.wait_ms
    )
    return made


@method("groups.log", params=Log)
async def log(surface: Surface, caller: Caller, params: Log) -> dict[str, Any]:
    """A page of events."""
    made: dict[str, Any] = await surface.rooms.log(params.room_id, params.since_seq, params.limit)
    return made


@method("groups.subscribe", params=Subscribe, live=True)
async def subscribe(surface: Surface, caller: Caller, params: Subscribe) -> dict[str, Any]:
    """Follow a room from a cursor, without a gap."""
    made: dict[str, Any] = await surface.rooms.subscribe(
        params.room_id, params.since_seq, caller.connection
    )
    return made


@method("groups.unsubscribe", params=RoomOnly, live=True)
async def unsubscribe(surface: Surface, caller: Caller, params: RoomOnly) -> dict[str, Any]:
    """Stop following."""
    made: dict[str, Any] = surface.rooms.unsubscribe(params.room_id, caller.connection)
    return made


@method("groups.rename", params=Rename)
async def rename(surface: Surface, caller: Caller, params: Rename) -> dict[str, Any]:
    """Give a room another name."""
    made: dict[str, Any] = await surface.rooms.rename(params.room_id, params.name)
    return made


@method("groups.leave", params=RoomOnly)
async def leave(surface: Surface, caller: Caller, params: RoomOnly) -> dict[str, Any]:
    """Leave, with the agents of this install."""
    made: dict[str, Any] = await surface.rooms.leave(params.room_id)
    return made


@method("groups.disband", params=RoomOnly)
async def disband(surface: Surface, caller: Caller, params: RoomOnly) -> dict[str, Any]:
    """Close a room for good; its log stays readable."""
    made: dict[str, Any] = await surface.rooms.control(params.room_id, "room.disbanded", {})
    return made


@method("groups.stop", params=Stop)
async def stop(surface: Surface, caller: Caller, params: Stop) -> dict[str, Any]:
    """Stop turns."""
    made: dict[str, Any] = await surface.rooms.stop(params.room_id, params.turn_id)
    return made


@method("groups.discard", params=EventOf)
async def discard(surface: Surface, caller: Caller, params: EventOf) -> dict[str, Any]:
    """Take back a message that waits for the room's host."""
    made: dict[str, Any] = await surface.rooms.discard(params.room_id, params.event_id)
    return made


@method("groups.member.add", params=MemberAdd)
async def member_add(surface: Surface, caller: Caller, params: MemberAdd) -> dict[str, Any]:
    """Seat a profile of this node."""
    made: dict[str, Any] = await surface.rooms.add(params.room_id, params.profile, params.handle)
    return made


@method("groups.member.remove", params=MemberOf)
async def member_remove(surface: Surface, caller: Caller, params: MemberOf) -> dict[str, Any]:
    """Remove a member."""
    made: dict[str, Any] = await surface.rooms.remove(params.room_id, params.member_id)
    return made


@method("groups.member.mute", params=MemberMute)
async def member_mute(surface: Surface, caller: Caller, params: MemberMute) -> dict[str, Any]:
    """Mute a member, or let it speak again."""
    made: dict[str, Any] = await surface.rooms.control(
        params.room_id,
        "member.muted",
        {"member_id": params.member_id, "muted": params.muted},
    )
    return made


@method("groups.policy.set", params=PolicySet)
async def policy_set(surface: Surface, caller: Caller, params: PolicySet) -> dict[str, Any]:
    """Change the room's policy."""
    made: dict[str, Any] = await surface.rooms.control(
        params.room_id, "policy.changed", {"policy": params.policy}
    )
    return made
