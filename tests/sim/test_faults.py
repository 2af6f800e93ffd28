"""Planted faults are found, and it is shown that they ran: the laws have teeth."""

import pytest

from tests.sim.faults import PLANTED, Ran
from tests.sim.simulation import RoomSim, Violation

SEEDS = 30


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    plant, laws = PLANTED[name]
    ran = Ran()
    found = None
    with plant(ran):
        for seed in range(SEEDS):
            try:
                RoomSim(seed).run()
            except Violation as violation:
                found = str(violation)
                break
    assert ran.times > 0, "the patched line never made a difference"
    assert found is not None, f"missed in {SEEDS} seeds, though it ran {ran.times} times"
    assert any(law in found for law in laws), found


def test_nothing_stays_planted() -> None:
    """The patches of the tests above are gone: the seeds that found faults hold again."""
    RoomSim(0).run()
