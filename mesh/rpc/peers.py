"""`peers.*`: the other installs."""

from typing import Any

import msgspec

from mesh.rpc.caller import Caller
from mesh.rpc.registry import NoParams, method
from mesh.rpc.surface import Surface


class PeerOf(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One install."""

    install_id: str


@method("peers.list")
async def list_peers(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
    """Every install we have met."""
    return {"peers": surface.peers.list()}


@method("peers.show", params=PeerOf)
async def show(surface: Surface, caller: Caller, params: PeerOf) -> dict[str, Any]:
    """One install."""
    made: dict[str, Any] = surface.peers.show(params.install_id)
    return made


@method("peers.ping", params=PeerOf)
async def ping(surface: Surface, caller: Caller, params: PeerOf) -> dict[str, Any]:
    """The round trip of its link, as the link measures it."""
    return {"rtt_us": surface.peers.rtt_us(params.install_id)}
