"""An invitation of the fake node: previewed after a moment, then used."""

import io
import itertools
from typing import TYPE_CHECKING, Any

import segno

from tests.web.script import now_ms

if TYPE_CHECKING:
    from tests.web.fake_node import FakeNode

NUMBERS = itertools.count(1)


async def created(node: "FakeNode", params: dict[str, Any]) -> dict[str, Any]:
    """The answer of `invitations.create`."""
    room = node.room(params)
    invitation_id = f"i_{next(NUMBERS):032x}"
    base = "https://192.0.2.7:7420" if node.lan else "http://127.0.0.1:7420"
    link = f"{base}/i#" + ("eyJ2IjoxLCJyb29tX2lkIjoi" * 12)[:260]
    picture = io.BytesIO()
    segno.make(link, error="l").save(picture, kind="svg", scale=4, border=4, xmldecl=False)
    expires_at = now_ms() + params["ttl_seconds"] * 1000
    node.invitations[invitation_id] = {
        "invitation_id": invitation_id,
        "room_id": room.room_id,
        "room_name": room.name,
        "role": params["role"],
        "uses": params["uses"],
        "used": 0,
        "state": "open",
        "created_at": now_ms(),
        "expires_at": expires_at,
        "issuer": {"member_id": room.me, "display_name": "Ada"},
        "previewed_at": None,
        "redeemed_by": [],
    }
    return {
        "invitation_id": invitation_id,
        "link": link,
        "reach": "lan" if node.lan else "this_machine",
        "expires_at": expires_at,
        "qr_svg": picture.getvalue().decode(),
    }
