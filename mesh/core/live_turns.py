"""What is seen of turns but not stored: dispatched or offline, and the answer being written.

The log knows that a turn was admitted, started and ended. In between, this overlay knows more;
it is rebuilt from signals and dispatch, and losing it loses nothing.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from mesh.core.limits import TEXT_BYTES_MAX
from mesh.core.room import RoomState
from mesh.core.turn import Turn, TurnState

VOLATILE: Final = frozenset({TurnState.OFFLINE, TurnState.DISPATCHED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The unstored part of one open turn. `draft` is what was written so far, `pieces` of it."""

    state: TurnState | None = None
    reason: str = ""
    since_ms: int = 0
    draft: str = ""
    pieces: int = 0


class LiveTurns:
    """The overlay over one room's turns."""

    def __init__(self, state: RoomState) -> None:
        self._state = state
        self._live: dict[str, Live] = {}

    def move(self, turn_id: str, state: str, reason: str, at_ms: int) -> bool:
        """Note a volatile state; True if it is news about an open turn that has not started."""
        turn = self._state.turns.get(turn_id)
        to = next((v for v in VOLATILE if v.value == state), None)
        if turn is None or turn.state is not TurnState.QUEUED or to is None:
            return False
        live = self._live.get(turn_id, Live())
        if live.state is to and live.reason == reason:
            return False
        self._live[turn_id] = replace(live, state=to, reason=reason, since_ms=at_ms)
        return True

    def write(self, turn_id: str, n: int, text: str) -> bool:
        """Note piece `n` of an answer; False if it is a repetition or has no open turn."""
        turn = self._state.turns.get(turn_id)
        live = self._live.get(turn_id, Live())
        if turn is None or not turn.open or n < live.pieces:
            return False
        draft = (live.draft + text)[:TEXT_BYTES_MAX]
        self._live[turn_id] = replace(live, draft=draft, pieces=n + 1)
        return True

    def ended(self, turn_id: str) -> None:
        """The log shows the end: forget the overlay."""
        self._live.pop(turn_id, None)

    def seen(self, turn: Turn) -> Turn:
        """The turn as a person should see it now."""
        live = self._live.get(turn.turn_id)
        if live is None or live.state is None or turn.state is not TurnState.QUEUED:
            return turn
        return replace(turn, state=live.state, since_ms=live.since_ms, reason=live.reason)

    def draft(self, turn_id: str) -> tuple[str, int]:
        """What was written so far, and in how many pieces."""
        live = self._live.get(turn_id, Live())
        return live.draft, live.pieces

    def to_json(self, turn: Turn) -> dict[str, Any]:
        """A turn in the form of docs/surface.md."""
        seen = self.seen(turn)
        draft, pieces = self.draft(turn.turn_id) if turn.open else ("", 0)
        return {
            "turn_id": seen.turn_id,
            "member_id": seen.member_id,
            "root": seen.root,
            "trigger_seq": seen.trigger_seq,
            "attempt": seen.attempt,
            "hop": seen.hop,
            "state": str(seen.state),
            "since": seen.since_ms,
            "reason": seen.reason,
            "message": seen.message,
            "draft": draft,
            "pieces": pieces,
        }
