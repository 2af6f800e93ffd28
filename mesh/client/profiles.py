"""`profiles.*`: this node's own agents. Shapes are those of docs/surface.md."""

from collections.abc import Sequence
from typing import Any, Final

from mesh.client.request import Request

TEST_S: Final = 60.0


class Profiles:
    """Agents behind this node."""

    def __init__(self, request: Request) -> None:
        """Made by the connection."""
        self._request = request

    async def list(self) -> Sequence[dict[str, Any]]:
        """All profiles and their state."""
        profiles: Sequence[dict[str, Any]] = (await self._request("profiles.list"))["profiles"]
        return profiles

    async def show(self, profile: str) -> dict[str, Any]:
        """One profile with its catalog."""
        return await self._request("profiles.show", {"profile": profile})

    async def add(self, config: dict[str, Any]) -> dict[str, Any]:
        """A new one: `{name, backend, display_name?, description?, options?}`."""
        return await self._request("profiles.add", {"config": config}, deadline_s=TEST_S)

    async def test(self, profile: str) -> dict[str, Any]:
        """Ask its backend something small: `{ok, reason, message, next, latency_ms}`."""
        return await self._request("profiles.test", {"profile": profile}, deadline_s=TEST_S)

    async def remove(self, profile: str) -> bool:
        """Take it away; False if it was not there."""
        return bool((await self._request("profiles.remove", {"profile": profile}))["removed"])
