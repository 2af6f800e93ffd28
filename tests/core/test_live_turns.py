"""What is seen of a turn and not stored: where it is, and the answer being written."""

import pytest

from mesh.core.limits import TEXT_BYTES_MAX
from mesh.core.live_turns import LiveTurns
from mesh.core.room import RoomState
from mesh.core.turn import TurnState
from tests.core.test_turn import at

TURN = at(TurnState.QUEUED)


def overlay(state: TurnState = TurnState.QUEUED) -> LiveTurns:
    """An overlay over one turn."""
    room = RoomState("r_" + "1" * 32)
    room.turns[TURN.turn_id] = at(state)
    return LiveTurns(room)


def test_what_is_seen_lies_over_what_is_stored() -> None:
    live = overlay()
    assert live.seen(TURN) == TURN
    assert live.move(TURN.turn_id, "offline", "peer_offline", 5)
    seen = live.seen(TURN)
    assert (seen.state, seen.reason, seen.since_ms) == (TurnState.OFFLINE, "peer_offline", 5)
    assert live.move(TURN.turn_id, "dispatched", "", 6)
    assert live.seen(TURN).state is TurnState.DISPATCHED
    assert live.seen(at(TurnState.RUNNING)).state is TurnState.RUNNING, "the log knows better"


def test_the_same_again_is_no_news() -> None:
    live = overlay()
    assert live.move(TURN.turn_id, "offline", "a", 5)
    assert not live.move(TURN.turn_id, "offline", "a", 6)
    assert live.move(TURN.turn_id, "offline", "b", 7)


@pytest.mark.parametrize("state", ["running", "settled", "queued", "nonsense", ""])
def test_only_the_volatile_states_are_moved_to(state: str) -> None:
    assert not overlay().move(TURN.turn_id, state, "", 5)


@pytest.mark.parametrize("state", [s for s in TurnState if s is not TurnState.QUEUED])
def test_a_turn_that_has_started_or_ended_is_not_moved(state: TurnState) -> None:
    assert not overlay(state).move(TURN.turn_id, "offline", "", 5)
    assert not overlay().move("t_" + "9" * 32, "offline", "", 5)


def test_an_answer_grows_by_pieces_and_repetitions_are_skipped() -> None:
    live = overlay(TurnState.RUNNING)
    assert live.write(TURN.turn_id, 0, "Hel")
    assert live.write(TURN.turn_id, 1, "lo")
    assert not live.write(TURN.turn_id, 1, "lo") and not live.write(TURN.turn_id, 0, "Hel")
    assert live.write(TURN.turn_id, 3, "!"), "a piece that was lost is not waited for"
    assert live.draft(TURN.turn_id) == ("Hello!", 4)


def test_a_draft_is_bounded_and_ends_with_the_turn() -> None:
    live = overlay(TurnState.RUNNING)
    for n in range(3):
        live.write(TURN.turn_id, n, "x" * (TEXT_BYTES_MAX // 2))
    assert len(live.draft(TURN.turn_id)[0]) == TEXT_BYTES_MAX
    live.ended(TURN.turn_id)
    assert live.draft(TURN.turn_id) == ("", 0)
    assert not overlay(TurnState.SETTLED).write(TURN.turn_id, 0, "late")


def test_a_turn_as_clients_see_it() -> None:
    live = overlay()
    live.move(TURN.turn_id, "dispatched", "", 5)
    live.write(TURN.turn_id, 0, "x")
    shown = live.to_json(TURN)
    assert (shown["state"], shown["since"], shown["draft"], shown["pieces"]) == (
        "dispatched", 5, "x", 1,
    )
    assert live.to_json(at(TurnState.FAILED))["draft"] == ""
