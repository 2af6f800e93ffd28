"""What an authority writes by itself: of one form, about members and turns the log knows."""

from typing import Any

import pytest

from mesh.core.event import SYSTEM_KINDS
from tests.core.machines import Install
from tests.core.one_of_each import HOST, room


@pytest.mark.parametrize("kind", sorted(SYSTEM_KINDS))
def test_each_kind_needs_all_its_fields(kind: str) -> None:
    right = room().valid(kind, HOST)
    assert room().verdict(HOST, kind, right) == "ok"
    optional, named = {"reason", "message", "grant_id"}, {"target_install_id", "profile"}
    for field in right.keys() - optional:
        missing = {k: v for k, v in right.items() if k != field}
        assert room().verdict(HOST, kind, missing) == "invalid_params"
    wrong: tuple[object, ...] = (None, {}, True, ["x"])
    for value in wrong:
        for field in right:
            verdict = room().verdict(HOST, kind, right | {field: value})
            assert verdict == ("wrong_profile" if field in named else "invalid_params"), field


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("turn.admitted", {"turn_id": room().turn.turn_id}, "conflict"),
    ("turn.admitted", {"member_id": room().gone.member_id}, "not_found"),
    ("turn.admitted", {"trigger_seq": 0}, "invalid_params"),
    ("turn.admitted", {"trigger_seq": 10_000}, "invalid_params"),
    ("turn.admitted", {"hop": 0}, "invalid_params"),
    ("turn.admitted", {"hop": 1_001}, "invalid_params"),
    ("turn.started", {"member_id": room().gone.member_id}, "not_found"),
    ("turn.failed", {"member_id": "m_" + "0" * 32}, "not_found"),
    ("turn.failed", {"reason": "x" * 65}, "invalid_params"),
    ("turn.failed", {"message": "x" * 1_001}, "invalid_params"),
    ("turn.passed", {"reason": ["x"]}, "invalid_params"),
    ("route.registered", {"profile": "other"}, "wrong_profile"),
    (
        "route.registered",
        {"target_install_id": Install(name="desktop").install_id},
        "wrong_profile",
    ),
    ("route.registered", {"member_id": room().gone.member_id}, "not_found"),
    ("route.registered", {"permissions": ["root"]}, "invalid_params"),
    ("route.revoked", {"member_id": "m_" + "0" * 32}, "not_found"),
]


@pytest.mark.parametrize(("kind", "change", "verdict"), WRONG, ids=str)
def test_what_the_log_does_not_know_is_refused(
    kind: str, change: dict[str, Any], verdict: str
) -> None:
    assert room().verdict(HOST, kind, room().valid(kind, HOST) | change) == verdict


def test_a_turn_that_was_refused_fails_without_having_been() -> None:
    payload = {"turn_id": "t_" + "7" * 32, "member_id": room().agent.member_id,
               "reason": "budget_spent", "message": "Stopped: loop."}
    assert room().verdict(HOST, "turn.failed", payload) == "ok"
