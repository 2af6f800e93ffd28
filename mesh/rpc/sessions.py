"""`node.login_link`, `node.sessions`, `node.session_revoke`: who may use the page of this node.

A login link is made for programs only: a browser session that could make links could outlive its
own revocation. Secrets are never listed; a session is named by an id that opens nothing.
"""

from typing import Any

import msgspec

from mesh.rpc.caller import Caller
from mesh.rpc.registry import NoParams, method
from mesh.rpc.surface import Surface


class SessionRevoke(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Which session to end."""

    session_id: str


@method("node.login_link", program=True)
async def login_link(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
    """A one-time link to the page, good for ten minutes."""
    link, expires_at_ms = await surface.sessions.login_link()
    return {"link": link, "expires_at": expires_at_ms}


@method("node.sessions")
async def sessions(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
    """All browser sessions, newest use first."""
    rows = sorted(surface.sessions.rows(), key=lambda row: -row.last_seen_at_ms)
    return {
        "sessions": [
            {
                "session_id": row.session_id,
                "created_at": row.created_at_ms,
                "last_seen_at": row.last_seen_at_ms,
                "user_agent": row.user_agent,
                "current": row.session_id == caller.session_id,
            }
            for row in rows
        ]
    }


@method("node.session_revoke", params=SessionRevoke)
async def session_revoke(surface: Surface, caller: Caller, params: SessionRevoke) -> dict[str, Any]:
    """End a browser session; its open pages are cut too."""
    return {"revoked": await surface.sessions.revoke(params.session_id)}
