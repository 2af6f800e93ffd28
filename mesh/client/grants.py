"""`grants.*`: what is lent, in both directions. Shapes are those of docs/surface.md."""

from collections.abc import Sequence
from typing import Any

from mesh.client.request import Request, given


class Grants:
    """Grants that this install issued or holds."""

    def __init__(self, request: Request) -> None:
        """Made by the connection."""
        self._request = request

    async def list(self, room_id: str | None = None) -> Sequence[dict[str, Any]]:
        """All grants, or those of a room."""
        answer = await self._request("grants.list", given(room_id=room_id))
        grants: Sequence[dict[str, Any]] = answer["grants"]
        return grants

    async def show(self, grant_id: str) -> dict[str, Any]:
        """One grant. The grant itself is never shown, only what it allows."""
        return await self._request("grants.show", {"grant_id": grant_id})

    async def revoke(self, grant_id: str) -> Sequence[str]:
        """Withdraw what a grant lends; returns the grants that ended."""
        answer = await self._request("grants.revoke", {"grant_id": grant_id})
        revoked: Sequence[str] = answer["revoked"]
        return revoked

    async def withdraw(self, room_id: str, member_id: str) -> Sequence[str]:
        """Withdraw an agent of ours from a room; returns the grants that ended."""
        answer = await self._request("grants.revoke", {"room_id": room_id, "member_id": member_id})
        revoked: Sequence[str] = answer["revoked"]
        return revoked
