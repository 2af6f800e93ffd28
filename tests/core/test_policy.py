"""A room's policy: bounded, and changed field by field."""

import pytest

from mesh.core.errors import Malformed
from mesh.core.limits import BUDGET_MAX
from mesh.core.policy import Policy, parse_policy


def test_what_is_not_named_stays() -> None:
    changed = parse_policy({"budget": 3}, Policy(invite="owner"))
    assert changed == Policy(budget=3, invite="owner")
    assert parse_policy(changed.to_json(), Policy()) == changed
    assert parse_policy({}, changed) == changed


@pytest.mark.parametrize(
    "value",
    [
        {"budget": 0}, {"budget": BUDGET_MAX + 1}, {"budget": True}, {"budget": "8"},
        {"turns": "random"}, {"turns": ["mention"]}, {"invite": "all"}, {"invite": {}},
        {"role": "owner"}, None, [], "mention",
    ],
    ids=str,
)
def test_what_is_not_a_policy_is_malformed(value: object) -> None:
    with pytest.raises(Malformed):
        parse_policy(value, Policy())
