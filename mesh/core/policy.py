"""A room's policy: who speaks next, how long a chain may be, who may invite."""

from dataclasses import dataclass
from typing import Any, Final

from mesh.core.errors import Malformed
from mesh.core.limits import BUDGET_MAX, BUDGET_PER_ROOT

TURN_MODES: Final = ("mention",)
INVITERS: Final = ("owner", "members")
_FIELDS: Final = frozenset({"turns", "budget", "invite"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the owner decided; `budget` is agent messages per root event."""

    turns: str = "mention"
    budget: int = BUDGET_PER_ROOT
    invite: str = "members"

    def to_json(self) -> dict[str, Any]:
        """The form inside events."""
        return {"turns": self.turns, "budget": self.budget, "invite": self.invite}


def parse_policy(value: object, base: Policy) -> Policy:
    """`base` with the named fields changed. Raises Malformed."""
    if not isinstance(value, dict) or not value.keys() <= _FIELDS:
        raise Malformed("invalid_params", "The policy has unknown fields.", field="policy")
    turns = value.get("turns", base.turns)
    budget = value.get("budget", base.budget)
    invite = value.get("invite", base.invite)
    if turns not in TURN_MODES:
        raise Malformed("invalid_params", f"turns is one of {TURN_MODES}.", field="turns")
    if type(budget) is not int or not 1 <= budget <= BUDGET_MAX:
        raise Malformed("invalid_params", f"budget is 1 to {BUDGET_MAX}.", field="budget")
    if invite not in INVITERS:
        raise Malformed("invalid_params", f"invite is one of {INVITERS}.", field="invite")
    return Policy(turns=turns, budget=budget, invite=invite)
