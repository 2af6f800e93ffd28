"""Grants and loans in words: what this install lends, what it was lent, and taking it back."""

from typing import Any

from mesh.core.errors import Malformed, Refused
from mesh.ports import Clock
from mesh.service.lending import Lending
from mesh.service.open_rooms import OpenRooms
from mesh.service.routing import Routing
from mesh.stores import GrantRow


class Loans:
    """What the operator sees and does about grants."""

    def __init__(
        self, *, lending: Lending, routing: Routing, rooms: OpenRooms, clock: Clock
    ) -> None:
        self._lending = lending
        self._routing = routing
        self._rooms = rooms
        self._clock = clock

    def list(self, room_id: str | None) -> dict[str, Any]:
        """Grants issued and held, the newest first."""
        rows = [*self._lending.issued(room_id), *self._routing.held()]
        shown = {row.grant_id: row for row in rows if room_id in {None, row.room_id}}
        newest = sorted(shown.values(), key=lambda row: -row.issued_at_ms)
        return {"grants": [self._json(row) for row in newest]}

    def show(self, grant_id: str) -> dict[str, Any]:
        """One grant. Raises Refused `not_found`."""
        return self._json(self._find(grant_id))

    async def revoke(
        self, grant_id: str | None, room_id: str | None, member_id: str | None
    ) -> dict[str, Any]:
        """Withdraw what this install lends. A grant is withdrawn with its whole loan."""
        if grant_id is not None:
            row = self._find(grant_id)
            if row.direction != "issued":
                raise Refused("forbidden", "Only the install that lends can revoke a grant.")
            room_id, member_id = row.room_id, row.member_id
        if room_id is None or member_id is None:
            raise Malformed("invalid_params", "Name a grant, or a room and a member.")
        return {"revoked": list(await self._lending.withdraw(room_id, member_id))}

    def _find(self, grant_id: str) -> GrantRow:
        for row in (*self._lending.issued(), *self._routing.held()):
            if row.grant_id == grant_id:
                return row
        raise Refused("not_found", "There is no such grant.")

    def _json(self, row: GrantRow) -> dict[str, Any]:
        runner = self._rooms.find(row.room_id)
        member = runner.state.members.get(row.member_id) if runner else None
        loan = self._lending.loan(row.room_id, row.member_id)
        revoked = row.revoked_at_ms is not None or (member is not None and member.withdrawn)
        expired = self._clock.now().wall_ms >= row.expires_at_ms
        return {
            "grant_id": row.grant_id,
            "direction": row.direction,
            "room_id": row.room_id,
            "room_name": runner.state.name if runner else "",
            "member_id": row.member_id,
            "handle": member.handle if member else "",
            "profile": row.profile,
            "permissions": list(row.permissions),
            "home_install_id": row.home_install_id,
            "target_install_id": row.target_install_id,
            "issued_at": row.issued_at_ms,
            "expires_at": row.expires_at_ms,
            "until": loan.until_ms if loan and row.direction == "issued" else row.expires_at_ms,
            "state": "revoked" if revoked else "expired" if expired else "active",
            "last_used_at": row.last_used_at_ms,
        }
