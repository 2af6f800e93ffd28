"""`node.*`: the node itself. Shapes are those of docs/surface.md."""

from collections.abc import Sequence
from typing import Any

from mesh.client.request import Request


class Node:
    """The node this connection leads to."""

    def __init__(self, request: Request) -> None:
        """Made by the connection."""
        self._request = request

    async def info(self) -> dict[str, Any]:
        """Who it is and where it listens."""
        return await self._request("node.info")

    async def status(self) -> dict[str, Any]:
        """How it is: rooms, links, profiles, sightings, warnings."""
        return await self._request("node.status")

    async def set_lan(self, enabled: bool) -> dict[str, Any]:
        """Let other machines connect, or not: `{lan, lan_urls, fingerprint}`."""
        return await self._request("node.set_lan", {"enabled": enabled})

    async def login_link(self) -> dict[str, Any]:
        """A one-time link to the page: `{link, expires_at}`."""
        return await self._request("node.login_link")

    async def sessions(self) -> Sequence[dict[str, Any]]:
        """The browsers that are logged in."""
        found: Sequence[dict[str, Any]] = (await self._request("node.sessions"))["sessions"]
        return found

    async def revoke_session(self, session_id: str) -> bool:
        """Log a browser out; False if it was not there."""
        answer = await self._request("node.session_revoke", {"session_id": session_id})
        return bool(answer["revoked"])
