"""The barrier: holds faults, tells them without secrets, lets cancellation through."""

import asyncio
import logging

import pytest

from gateway.barrier import FaultBarrier
from gateway.errors import MountBusy


def test_our_errors_are_told_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    barrier = FaultBarrier("echo")
    with barrier:
        raise MountBusy(8)
    assert barrier.failed is not None
    assert barrier.failed.reason == "busy"
    assert not caplog.records, "an expected refusal is no breakdown"


def test_a_breakdown_is_logged_and_told_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    barrier = FaultBarrier("echo")
    with caplog.at_level(logging.ERROR), barrier:
        raise ValueError("header holds sk-canary")
    assert barrier.failed is not None
    assert barrier.failed.reason == "backend_failed"
    assert "ValueError" in barrier.failed.message
    assert "canary" not in barrier.failed.message + barrier.failed.next
    assert [record.levelname for record in caplog.records] == ["ERROR"]


@pytest.mark.parametrize("passing", [asyncio.CancelledError, GeneratorExit, KeyboardInterrupt])
def test_the_end_of_the_world_passes_through(passing: type[BaseException]) -> None:
    barrier = FaultBarrier("echo")
    with pytest.raises(passing), barrier:
        raise passing
    assert barrier.failed is None


def test_nothing_happened() -> None:
    with FaultBarrier("echo") as barrier:
        pass
    assert barrier.failed is None
