"""`profiles.*`: the agents behind this node."""

from typing import Any

import msgspec

from mesh.rpc.caller import Caller
from mesh.rpc.registry import NoParams, method
from mesh.rpc.surface import Surface


class ProfileOf(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One profile."""

    profile: str


class Add(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A profile's configuration, as in its profile.toml."""

    config: dict[str, Any]


@method("profiles.list")
async def list_profiles(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
    """Every profile with its state."""
    made: dict[str, Any] = surface.profiles.list()
    return made


@method("profiles.show", params=ProfileOf)
async def show(surface: Surface, caller: Caller, params: ProfileOf) -> dict[str, Any]:
    """One profile with what it offers."""
    made: dict[str, Any] = surface.profiles.show(params.profile)
    return made


@method("profiles.add", params=Add)
async def add(surface: Surface, caller: Caller, params: Add) -> dict[str, Any]:
    """Mount a new profile."""
    made: dict[str, Any] = await surface.profiles.add(params.config)
    return made


@method("profiles.test", params=ProfileOf)
async def test(surface: Surface, caller: Caller, params: ProfileOf) -> dict[str, Any]:
    """Ask the agent whether it could answer now."""
    made: dict[str, Any] = await surface.profiles.test(params.profile)
    return made


@method("profiles.remove", params=ProfileOf)
async def remove(surface: Surface, caller: Caller, params: ProfileOf) -> dict[str, Any]:
    """Unmount and forget a profile."""
    made: dict[str, Any] = await surface.profiles.remove(params.profile)
    return made
