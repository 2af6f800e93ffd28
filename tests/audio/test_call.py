"""Who is in a call."""

from itertools import product

import pytest

from audio.call import STEPS, Call, CallStep, Presence, next_presence
from audio.errors import CallRefused, IllegalStep


@pytest.mark.parametrize(("presence", "step"), list(product(Presence, CallStep)))
def test_every_pair_is_in_the_table_or_illegal(presence: Presence, step: CallStep) -> None:
    if (presence, step) in STEPS:
        assert next_presence(presence, step) is STEPS[presence, step]
        return
    with pytest.raises(IllegalStep):
        next_presence(presence, step)


def refusal(function: object, *args: object, **named: object) -> str:
    assert callable(function)
    with pytest.raises(CallRefused) as caught:
        function(*args, **named)
    return caught.value.reason


def test_the_same_participant_again_replaces_himself_and_stays_muted() -> None:
    call = Call("room-1")
    call.join("tab-1", "anna")
    call.mute("tab-1", is_muted=True)
    again, gone = call.join("tab-1", "anna")
    assert again.is_muted and again.presence is Presence.JOINING
    assert gone is not None and gone.presence is Presence.GONE
    assert len(call.participants) == 1


def test_a_second_tab_of_the_same_member_joins_muted() -> None:
    call = Call("room-1")
    assert not call.join("tab-1", "anna")[0].is_muted
    assert call.join("tab-2", "anna")[0].is_muted
    assert not call.join("tab-3", "ben")[0].is_muted


def test_nobody_takes_anothers_place() -> None:
    call = Call("room-1")
    call.join("tab-1", "anna")
    assert refusal(call.join, "tab-1", "mallory") == "conflict"


def test_a_full_call_refuses_and_a_rejoin_is_no_newcomer() -> None:
    call = Call("room-1", participants_max=1)
    call.join("tab-1", "anna")
    assert refusal(call.join, "tab-2", "ben") == "busy"
    call.join("tab-1", "anna")
    call.step("tab-1", CallStep.LEFT)
    call.join("tab-2", "ben")


def test_a_listener_is_inaudible_and_cannot_change_that() -> None:
    call = Call("room-1")
    assert not call.join("tab-1", "anna", may_speak=False)[0].is_audible
    assert refusal(call.mute, "tab-1", is_muted=False) == "forbidden"


def test_the_muted_are_inaudible() -> None:
    call = Call("room-1")
    call.join("tab-1", "anna")
    assert call.mute("tab-1", is_muted=False).is_audible
    assert not call.mute("tab-1", is_muted=True).is_audible


def test_who_is_gone_is_unknown() -> None:
    call = Call("room-1")
    call.join("tab-1", "anna")
    assert call.step("tab-1", CallStep.REMOVED).presence is Presence.GONE
    assert call.participants == ()
    assert refusal(call.step, "tab-1", CallStep.HEARD) == "not_found"
    assert refusal(call.mute, "tab-1", is_muted=True) == "not_found"


@pytest.mark.parametrize("bad", ["", "x" * 129, "a\nb"])
def test_ids_are_short_and_printable(bad: str) -> None:
    assert refusal(Call, bad) == "invalid_params"
    assert refusal(Call("room-1").join, bad, "anna") == "invalid_params"
    assert refusal(Call("room-1").join, "tab-1", bad) == "invalid_params"
