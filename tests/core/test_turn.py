"""A turn's table, walked over every pair of states, and the drawing above it."""

from itertools import pairwise

import pytest

from mesh.core import turn as turn_module
from mesh.core.turn import EVENT_STATES, TRANSITIONS, Turn, TurnState, is_pass

S = TurnState
OPEN = {S.QUEUED, S.OFFLINE, S.DISPATCHED, S.RUNNING}
ENDS = set(S) - OPEN
LATE = {S.FAILED, S.CANCELLED, S.UNCERTAIN}


def at(state: TurnState) -> Turn:
    """A turn in a state."""
    return Turn(
        turn_id="t_" + "1" * 32,
        member_id="m_" + "1" * 32,
        root="e",
        trigger_seq=1,
        attempt=1,
        hop=1,
        state=state,
        since_ms=0,
    )


def legal(now: TurnState, to: TurnState) -> bool:
    """The rules in words: forward while open, and a finished answer may come late."""
    if now in {S.QUEUED, S.OFFLINE, S.DISPATCHED}:
        return to is not now
    if now is S.RUNNING:
        return to in ENDS
    return now in LATE and to is S.SETTLED


@pytest.mark.parametrize("now", S)
def test_every_step_is_legal_or_loud(now: TurnState) -> None:
    turn = at(now)
    for to in S:
        assert turn.may_move(to) == legal(now, to), to
        if legal(now, to):
            moved = turn.moved(to, 7, "why", "a sentence")
            assert (moved.state, moved.since_ms, moved.reason) == (to, 7, "why")
            assert (moved.turn_id, moved.root, moved.hop) == (turn.turn_id, turn.root, turn.hop)
        else:
            with pytest.raises(ValueError, match=f"{now} -> {to}"):
                turn.moved(to, 7)


def test_every_state_has_a_row_and_is_open_or_an_end() -> None:
    assert set(TRANSITIONS) == set(S)
    assert {s for s in S if at(s).open} == OPEN


def test_an_answer_is_the_last_word() -> None:
    """A finished answer is posted late, never dropped; nothing comes after it (situation 16)."""
    assert all(S.SETTLED in TRANSITIONS[s] for s in OPEN | LATE)
    assert not TRANSITIONS[S.SETTLED] and not TRANSITIONS[S.PASSED]
    assert all(S.QUEUED not in TRANSITIONS[s] for s in ENDS)


def test_the_drawing_shows_the_table() -> None:
    drawing = str(turn_module.__doc__)
    assert all(state in drawing for state in S)
    # The row of arrows: each step of the common road is a step of the table.
    road = next(line for line in drawing.splitlines() if "queued -> dispatched" in line)
    names = [part.strip() for part in road.split("->")]
    *steps, ends = names
    for now, to in pairwise(steps):
        assert S(to) in TRANSITIONS[S(now)], road
    for end in ends.split("|"):
        assert S(end.strip()) in TRANSITIONS[S(steps[-1])], road
    for late in ("cancelled", "failed", "uncertain"):
        assert f"`{late}`" in drawing and S.SETTLED in TRANSITIONS[S(late)]


def test_what_the_log_says_of_a_turn_is_a_state() -> None:
    assert set(EVENT_STATES.values()) == set(S) - {S.OFFLINE, S.DISPATCHED}


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "pass", "PASS.", " Pass! ", "(pass)", "NO_REPLY", "no_reply\n", "No reply.",
     "`NO_REPLY`", "no-reply", "*pass*", "[NO_REPLY]", '"pass"', "NOREPLY"],
)
def test_nothing_to_say(text: str) -> None:
    assert is_pass(text)


@pytest.mark.parametrize(
    "text", ["passed", "I pass.", "pass the salt", "no", "reply", "no reply needed", "0", "?"]
)
def test_something_to_say(text: str) -> None:
    assert not is_pass(text)
