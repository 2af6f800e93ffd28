"""Rows of a bench: what was measured, the goal beside it, and whether it was met."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure. `goal` is in the same unit; `at_most` says on which side it must be."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    at_most: bool = True
    note: str = ""

    @property
    def verdict(self) -> str:
        """met, missed, or missed by more than twice."""
        if self.goal is None:
            return ""
        ratio = self.value / self.goal if self.at_most else self.goal / max(self.value, 1e-9)
        return "met" if ratio <= 1 else "missed" if ratio <= 2 else "MISSED BY MORE THAN TWICE"

    def line(self) -> str:
        """The row as text."""
        goal = ""
        if self.goal is not None:
            goal = f"{'<=' if self.at_most else '>='} {self.goal:,.3g} {self.unit}"
        shown = f"{self.value:,.3f}" if self.value < 100 else f"{self.value:,.0f}"
        return f"{self.name:<46} {shown:>10} {self.unit:<10} {goal:<22} {self.verdict} {self.note}"


@dataclass(slots=True)
class Report:
    """All rows of one run."""

    rows: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """Print a row as soon as it is known."""
        self.rows.append(row)
        print(row.line(), flush=True)

    def missed_by_far(self) -> int:
        """How many goals were missed by more than twice."""
        return sum(row.verdict.startswith("MISSED") for row in self.rows)
