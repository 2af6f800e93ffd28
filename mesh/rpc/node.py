"""`node.*`: this node itself (its browser sessions are in `sessions`)."""

from typing import Any

import msgspec

from mesh.rpc.caller import Caller
from mesh.rpc.registry import NoParams, method
from mesh.rpc.surface import Surface


class SetLan(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Whether other machines may connect."""

    enabled: bool


@method("node.info")
async def info(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
    """Who this node is, and where."""
    made: dict[str, Any] = surface.node.info()
    return made


@method("node.status")
async def status(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
    """How it stands: links, profiles, storage, warnings."""
    made: dict[str, Any] = surface.node.status()
    return made


@method("node.set_lan", params=SetLan)
async def set_lan(surface: Surface, caller: Caller, params: SetLan) -> dict[str, Any]:
    """Let other machines connect, or not; applied live and saved."""
    made: dict[str, Any] = await surface.node.set_lan(params.enabled)
    return made


@method("node.subscribe", live=True)
async def subscribe(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
    """Be told when rooms, links, profiles or invitations change."""
    surface.followers.follow(caller.connection)
    return {}
