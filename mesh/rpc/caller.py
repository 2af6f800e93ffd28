"""Who asks, and the live connection the answer may grow on.

Methods see this and nothing of HTTP: no header, no cookie, no token (attack 56). `connection` is
there only on a WebSocket; a method that must push later refuses callers without one.
"""

from dataclasses import dataclass
from typing import Literal

from mesh.ports import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A program with the home's token, or a browser session. Both act for the operator."""

    kind: Literal["program", "browser"]
    session_id: str | None = None
    connection: Connection | None = None
