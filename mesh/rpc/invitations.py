"""`invitations.*`: issued by this install, and given to it."""

from typing import Any

import msgspec

from mesh.rpc.caller import Caller
from mesh.rpc.registry import method
from mesh.rpc.surface import Surface


class Create(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A new invitation."""

    room_id: str
    ttl_seconds: int = 86_400
    uses: int = 1
    role: str = "member"


class List(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Of one room, or of all."""

    room_id: str | None = None


class InvitationOf(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One invitation."""

    invitation_id: str


class LinkOf(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """An invitation link. It is a secret: it is never logged or echoed."""

    link: str


class Lend(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A profile to lend, with what is allowed and until when (0: until it is withdrawn)."""

    profile: str
    handle: str | None = None
    permissions: tuple[str, ...] = ("dispatch", "stop")
    until: int = 0


class Accept(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A link to accept."""

    link: str
    request_id: str
    display_name: str | None = None
    lend: list[Lend] = []


class RequestOf(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One receipt."""

    request_id: str


@method("invitations.create", params=Create)
async def create(surface: Surface, caller: Caller, params: Create) -> dict[str, Any]:
    """Issue an invitation; its link is shown once."""
    made: dict[str, Any] = await surface.invitations.create(
        params.room_id, params.ttl_seconds, params.uses, params.role
    )
    return made


@method("invitations.list", params=List)
async def list_invitations(surface: Surface, caller: Caller, params: List) -> dict[str, Any]:
    """Invitations with their life."""
    made: dict[str, Any] = surface.invitations.list(params.room_id)
    return made


@method("invitations.show", params=InvitationOf)
async def show(surface: Surface, caller: Caller, params: InvitationOf) -> dict[str, Any]:
    """One invitation."""
    made: dict[str, Any] = surface.invitations.show(params.invitation_id)
    return made


@method("invitations.revoke", params=InvitationOf)
async def revoke(surface: Surface, caller: Caller, params: InvitationOf) -> dict[str, Any]:
    """End an invitation early."""
    made: dict[str, Any] = await surface.invitations.revoke(params.invitation_id)
    return made


@method("invitations.preview", params=LinkOf)
async def preview(surface: Surface, caller: Caller, params: LinkOf) -> dict[str, Any]:
    """Who invites to what."""
    made: dict[str, Any] = await surface.joining.preview(params.link)
    return made


@method("invitations.accept", params=Accept)
async def accept(surface: Surface, caller: Caller, params: Accept) -> dict[str, Any]:
    """Join, and lend what is named."""
    lend = [msgspec.to_builtins(wish) for wish in params.lend]
    made: dict[str, Any] = await surface.joining.accept(
        params.link, params.request_id, params.display_name, lend
    )
    return made


@method("invitations.operation", params=RequestOf)
async def operation(surface: Surface, caller: Caller, params: RequestOf) -> dict[str, Any]:
    """The receipt of an acceptance; never executes anything."""
    made: dict[str, Any] = await surface.joining.operation(params.request_id)
    return made
