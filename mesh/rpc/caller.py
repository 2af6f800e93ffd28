"""Who asks, and the live connection the answer may grow on.

Methods see this and nothing of HTTP: no header, no cookie, no token (attack 56). `connection` is
there only on a WebSocket; a method that must push later refuses callers without one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol


class Connection(Protocol):
    """One open WebSocket of a client, as methods and subscriptions see it."""

    @property
    def closed(self) -> bool:
        """True from the moment it was lost or cut."""
        ...

    def notify(self, message: bytes) -> None:
        """Queue one encoded JSON text; never waits. A full queue cuts the reader (4008).

        After the end it does nothing: a subscription need not know which came first.
        """
        ...

    async def drain(self) -> None:
        """Wait until the queue is at most half full, or the connection has ended.

        A subscription that catches up calls this between pages, so that a reader who does read
        is not cut for being behind.
        """
        ...

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call that once when the connection ends; at once if it has ended."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A program with the home's token, or a browser session. Both act for the operator."""

    kind: Literal["program", "browser"]
    session_id: str | None = None
    connection: Connection | None = None
