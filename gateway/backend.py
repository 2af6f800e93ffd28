"""The seam between a mount and whoever answers: the protocol, and what a backend is given.

Why: a mount knows what a backend promises and nothing of how it keeps the promise; a backend
knows its surroundings and nothing of mounts. Constructors receive all they use, so a test can
hand in its own clock and its own chance, and no backend reaches for the process around it.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from gateway.exchange import TurnRequest, Update
from gateway.profile import Catalog, Policy, ProfileConfig


class Backend(Protocol):
    """Whoever answers for one profile. Entering it takes local resources only, at once.

    What it raises besides `GatewayError` counts as its own breakdown and is held by the mount.
    """

    @property
    def catalog(self) -> Catalog:
        """What the profile offers."""

    @property
    def policy(self) -> Policy:
        """What may change how it behaves."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    async def probe(self) -> str:
        """Ask whether a turn could run now; returns a sentence about what was found.

        Raises BackendError when it could not.
        """

    def run(self, request: TurnRequest) -> AsyncGenerator[Update, None]:
        """Answer `request`. Closing the generator, or cancelling it, stops the work at once.

        Raises BackendError instead of yielding `Failed`, as it prefers.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """`clock` gives wall milliseconds; `fence` a fresh text that nobody can guess."""

    folder: Path
    environ: Mapping[str, str]
    clock: Callable[[], int]
    fence: Callable[[], str]

    @property
    def state(self) -> Path:
        """Where the backend may keep what it remembers; made by whoever first writes there."""
        return self.folder / "state"


Construct = Callable[[ProfileConfig, Surroundings], Backend]
"""Builds a backend for a profile. Raises ProfileInvalid; opens nothing."""
