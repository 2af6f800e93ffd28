"""What the drivers need from the world, stated by those who use it.

Each port is small and says what it guarantees. Concrete things meet them only in `node.py`.
What they need from the disk is in `stores`.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from mesh.core.inputs import Now
from mesh.core.link_messages import LinkMessage


class Clock(Protocol):
    """Where time comes from. `mono_s` counts suspended time too (CLOCK_BOOTTIME on Linux)."""

    def now(self) -> Now:
        """Read both clocks."""
        ...


class Entropy(Protocol):
    """Where randomness comes from."""

    def bytes(self, count: int) -> bytes:
        """That many unpredictable bytes."""
        ...

    def uniform(self, low: float, high: float) -> float:
        """A number between, for jitter."""
        ...


class Links(Protocol):
    """The links of this node. A message to our own install is delivered by a local loop."""

    def send(self, install_id: str, message: LinkMessage) -> bool:
        """Queue a message; False if there is no link or its queue is over its bound."""
        ...

    def is_up(self, install_id: str) -> bool:
        """True while a proved link to that install is open. Always true for ourselves."""
        ...

    def want(self, install_id: str, addresses: Sequence[str]) -> None:
        """Keep dialing that install until `unwant`. Addresses are hints, tried in order."""
        ...

    def unwant(self, install_id: str) -> None:
        """Stop dialing; an open link closes when idle."""
        ...


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
