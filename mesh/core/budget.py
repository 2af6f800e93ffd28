"""Budgets along the causal chain: when agents that answer each other must stop.

Each event that agents wrote carries `cause` = (root event id, hop). The budget belongs to the
root: it counts the turns admitted for it, wherever the agents live, so a triangle over three
machines spends the same purse as a pair (situations 35, 36). A person's message is a new root.
"""

from collections import OrderedDict
from typing import Final

_ROOTS_KEPT: Final = 4_096


class Budgets:
    """How many agent answers each root has spent. Derived from the log, hence never stored."""

    def __init__(self) -> None:
        self._spent: OrderedDict[str, int] = OrderedDict()

    def spent(self, root: str) -> int:
        """Answers admitted for this root so far."""
        return self._spent.get(root, 0)

    def spend(self, root: str) -> None:
        """Count one admitted answer. The oldest roots are forgotten; their chains have ended."""
        self._spent[root] = self._spent.get(root, 0) + 1
        self._spent.move_to_end(root)
        if len(self._spent) > _ROOTS_KEPT:
            self._spent.popitem(last=False)

    def may_spend(self, root: str, hop: int, budget: int) -> bool:
        """True if another answer fits: by count, and by depth as a second, independent bound."""
        assert budget >= 1
        return self.spent(root) < budget and hop <= budget
