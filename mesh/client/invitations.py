"""`invitations.*`: inviting and joining. Shapes are those of docs/surface.md."""

import secrets
from collections.abc import Sequence
from typing import Any, Final

from mesh.client.request import Request, given

ACCEPT_S: Final = 60.0


def new_request_id() -> str:
    """An id for `accept`: keep it before you call, for it finds the receipt again."""
    return "q_" + secrets.token_hex(16)


class Invitations:
    """Invitations that this node issued, and links of others."""

    def __init__(self, request: Request) -> None:
        """Made by the connection."""
        self._request = request

    async def create(
        self,
        room_id: str,
        *,
        ttl_seconds: int | None = None,
        uses: int | None = None,
        role: str | None = None,
    ) -> dict[str, Any]:
        """A new link, shown once: `{invitation_id, link, reach, expires_at, qr_svg}`."""
        return await self._request(
            "invitations.create",
            given(room_id=room_id, ttl_seconds=ttl_seconds, uses=uses, role=role),
        )

    async def list(self, room_id: str | None = None) -> Sequence[dict[str, Any]]:
        """All invitations, or those of a room. Links are not in it."""
        answer = await self._request("invitations.list", given(room_id=room_id))
        found: Sequence[dict[str, Any]] = answer["invitations"]
        return found

    async def show(self, invitation_id: str) -> dict[str, Any]:
        """One invitation: its state and who redeemed it."""
        return await self._request("invitations.show", {"invitation_id": invitation_id})

    async def revoke(self, invitation_id: str) -> dict[str, Any]:
        """End it early."""
        return await self._request("invitations.revoke", {"invitation_id": invitation_id})

    async def preview(self, link: str) -> dict[str, Any]:
        """Who invites to what. Spends nothing."""
        return await self._request("invitations.preview", {"link": link})

    async def accept(
        self,
        link: str,
        *,
        request_id: str,
        display_name: str | None = None,
        lend: Sequence[dict[str, Any]] = (),
    ) -> dict[str, Any]:
        """Join; returns the receipt. `lend` is `{profile, handle?, permissions, until}` each.

        After `OutcomeUnknown` ask `operation(request_id)`; do not make a new request id.
        """
        params = given(
            link=link,
            request_id=request_id,
            display_name=display_name,
            lend=list(lend) or None,
        )
        return await self._request("invitations.accept", params, deadline_s=ACCEPT_S)

    async def operation(self, request_id: str) -> dict[str, Any]:
        """The receipt of an `accept`. Executes nothing.

        Raises:
            ReceiptNotFound: the request never arrived.
        """
        return await self._request("invitations.operation", {"request_id": request_id})
