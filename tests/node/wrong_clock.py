"""A node's world, where it may differ from the real one: a wrong clock, a short patience."""

from typing import Final

from mesh.core.inputs import Now
from mesh.system import SystemClock, SystemEntropy

_REDIAL_S: Final = 0.03


class WrongClock:
    """This machine's clocks, with a wall clock that may be wrong."""

    def __init__(self) -> None:
        self.ahead_ms = 0
        self._stopped_at_ms: int | None = None
        self._real = SystemClock()

    def stops_at(self, wall_ms: int) -> None:
        """Show that instant from now on."""
        self._stopped_at_ms = wall_ms

    def now(self) -> Now:
        """Read both clocks; only the wall clock is wrong."""
        real = self._real.now()
        shown_ms = self._stopped_at_ms or real.wall_ms + self.ahead_ms
        return Now(wall_ms=shown_ms, mono_s=real.mono_s)


class ImpatientEntropy(SystemEntropy):
    """Real randomness, but whoever draws a pause draws a short one."""

    def uniform(self, low: float, high: float) -> float:
        """A number between, and small."""
        return max(low, min(_REDIAL_S, super().uniform(low, high)))
