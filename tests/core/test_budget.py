"""Budgets: one purse per root, two bounds, and a memory that ends."""

from mesh.core.budget import Budgets


def test_a_root_has_one_purse() -> None:
    budgets = Budgets()
    for spent in range(3):
        assert budgets.spent("a") == spent and budgets.may_spend("a", 1, 3)
        budgets.spend("a")
    assert not budgets.may_spend("a", 1, 3)
    assert budgets.may_spend("b", 1, 3), "another root has its own"


def test_depth_is_a_bound_of_its_own() -> None:
    budgets = Budgets()
    assert budgets.may_spend("a", 8, 8)
    assert not budgets.may_spend("a", 9, 8)


def test_what_was_spent_last_is_forgotten_last() -> None:
    budgets = Budgets()
    budgets.spend("kept")
    for n in range(4_095):
        budgets.spend(str(n))
    budgets.spend("kept")
    budgets.spend("one more")
    assert budgets.spent("kept") == 2
    assert budgets.spent("0") == 0
