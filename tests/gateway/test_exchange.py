"""The alphabet: its own invariants, and values that nobody can change."""

from dataclasses import FrozenInstanceError

import pytest

from gateway.errors import RateLimited
from gateway.exchange import Delta, Failed
from tests.gateway.a_room import line, request


def test_history_is_oldest_first() -> None:
    with pytest.raises(AssertionError, match="oldest first"):
        request("hello", history=[line(2, "b"), line(1, "a")])


def test_a_turn_has_time() -> None:
    with pytest.raises(AssertionError, match="time"):
        request("hello", deadline_s=0.0)


def test_a_log_counts_from_one() -> None:
    with pytest.raises(AssertionError, match="from 1"):
        line(0, "nothing before the first")


def test_values_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Delta(text="a").text = "b"  # type: ignore[misc]


def test_a_failure_tells_what_the_error_says() -> None:
    error = RateLimited(30)
    told = Failed.because(error)
    assert (told.reason, told.message, told.next) == ("rate_limited", str(error), error.next)
