"""A turn: one agent's answer to one event, as a table.

                        +-> offline --+ (the target's link is down)
                        |             v
    queued -> dispatched -> running -> settled | passed | failed
       |          |            |
       +----------+------------+----> cancelled | uncertain

`queued`, `dispatched` and `offline` are what the authority can see by itself; `running` and the
ends come from the target. Ends are events of the log. A settled message may still follow
`cancelled`, `failed` or `uncertain`: a finished answer is posted late, never dropped (situation
16). Everything else that comes after an end is ignored, so a report may arrive twice.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final


class TurnState(StrEnum):
    """Where a turn stands."""

    QUEUED = "queued"
    OFFLINE = "offline"
    DISPATCHED = "dispatched"
    RUNNING = "running"
    SETTLED = "settled"
    PASSED = "passed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNCERTAIN = "uncertain"


_OPEN: Final = frozenset(
    {TurnState.QUEUED, TurnState.OFFLINE, TurnState.DISPATCHED, TurnState.RUNNING}
)
_ENDS: Final = frozenset(TurnState) - _OPEN

TRANSITIONS: Final[dict[TurnState, frozenset[TurnState]]] = {
    TurnState.QUEUED: frozenset(TurnState) - {TurnState.QUEUED},
    TurnState.OFFLINE: frozenset(TurnState) - {TurnState.OFFLINE},
    TurnState.DISPATCHED: frozenset(TurnState) - {TurnState.DISPATCHED},
    TurnState.RUNNING: _ENDS,
    TurnState.SETTLED: frozenset(),
    TurnState.PASSED: frozenset(),
    TurnState.FAILED: frozenset({TurnState.SETTLED}),
    TurnState.CANCELLED: frozenset({TurnState.SETTLED}),
    TurnState.UNCERTAIN: frozenset({TurnState.SETTLED}),
}

EVENT_STATES: Final[dict[str, TurnState]] = {
    "turn.admitted": TurnState.QUEUED,
    "turn.started": TurnState.RUNNING,
    "turn.settled": TurnState.SETTLED,
    "turn.passed": TurnState.PASSED,
    "turn.failed": TurnState.FAILED,
    "turn.cancelled": TurnState.CANCELLED,
    "turn.uncertain": TurnState.UNCERTAIN,
}

_PASS_WORDS: Final = frozenset({"", "pass", "no_reply", "noreply", "no reply", "no-reply"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn as the room sees it. `since_ms` is wall time of the last change."""

    turn_id: str
    member_id: str
    root: str
    trigger_seq: int
    attempt: int
    hop: int
    state: TurnState
    since_ms: int
    reason: str = ""
    message: str = ""

    @property
    def open(self) -> bool:
        """True until the turn has an end."""
        return self.state in _OPEN

    def moved(self, state: TurnState, at_ms: int, reason: str = "", message: str = "") -> "Turn":
        """The turn in its next state.

        Raises:
            ValueError: the table has no such step; ask `may_move` first.
        """
        if not self.may_move(state):
            raise ValueError(f"turn {self.turn_id}: {self.state} -> {state} is not a step")
        return replace(self, state=state, since_ms=at_ms, reason=reason, message=message)

    def may_move(self, state: TurnState) -> bool:
        """True if the table has this step."""
        return state in TRANSITIONS[self.state]


def is_pass(text: str) -> bool:
    """True if an agent's answer means *I have nothing to say*: a state, never a message.

    Empty, only white space, or a no-reply word in any case with a final stop (situation 38).
    """
    word = text.strip().strip(".!*`\"'[]()").strip().casefold()
    return word in _PASS_WORDS
