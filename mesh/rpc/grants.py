"""`grants.*`: what is lent, by whom, and taking it back."""

from typing import Any

import msgspec

from mesh.rpc.caller import Caller
from mesh.rpc.registry import method
from mesh.rpc.surface import Surface


class List(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Of one room, or of all."""

    room_id: str | None = None


class GrantOf(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One grant."""

    grant_id: str


class Revoke(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A grant, or the loan of a member."""

    grant_id: str | None = None
    room_id: str | None = None
    member_id: str | None = None


@method("grants.list", params=List)
async def list_grants(surface: Surface, caller: Caller, params: List) -> dict[str, Any]:
    """Grants issued and held."""
    made: dict[str, Any] = surface.grants.list(params.room_id)
    return made


@method("grants.show", params=GrantOf)
async def show(surface: Surface, caller: Caller, params: GrantOf) -> dict[str, Any]:
    """One grant."""
    made: dict[str, Any] = surface.grants.show(params.grant_id)
    return made


@method("grants.revoke", params=Revoke)
async def revoke(surface: Surface, caller: Caller, params: Revoke) -> dict[str, Any]:
    """Withdraw what this install lends, now."""
    made: dict[str, Any] = await surface.grants.revoke(
        params.grant_id, params.room_id, params.member_id
    )
    return made
