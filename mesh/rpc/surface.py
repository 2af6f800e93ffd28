"""What the methods may call: the node as seen from its own clients.

The composition root fills one `Surface`; tests fill it with fakes. Each attribute is a small
protocol owned by the methods that use it, so a method file can be read with this file alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mesh.stores import SessionRow


class BrowserSessions(Protocol):
    """Browser sessions and login links, for `rpc/sessions.py`."""

    async def login_link(self) -> tuple[str, int]:
        """A new one-time link to this node's page, and when it expires (wall ms)."""
        ...

    def rows(self) -> Sequence[SessionRow]:
        """All sessions that are still good."""
        ...

    async def revoke(self, session_id: str) -> bool:
        """End one, and cut its open pages; False if it was not there."""
        ...


@dataclass(kw_only=True)
class Surface:
    """Everything a method may call."""

    rooms: Any
    invitations: Any
    joining: Any
    peers: Any
    grants: Any
    profiles: Any
    node: Any
    followers: Any
    sessions: BrowserSessions
