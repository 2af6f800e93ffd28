"""Seeded runs: every law holds, and a seed is one run for ever."""

import os
import subprocess
import sys
from pathlib import Path

from tests.sim.simulation import DUTIES, RoomSim

ROOT = Path(__file__).resolve().parents[2]


def test_a_seed_holds(seed: int) -> None:
    """Again, step by step: python -m tests.sim --seeds SEED:SEED+1 --transcript."""
    sim = RoomSim(seed)
    sim.run()
    assert sim.laws.entries > 0


def test_faults_happen_and_much_is_checked() -> None:
    """The runs are worth something: kills before every duty, cuts, losses, forged events."""
    seen: set[str] = set()
    entries = 0
    for number in range(6):
        sim = RoomSim(number)
        sim.run()
        seen |= sim.count.keys()
        entries += sim.laws.entries
    wanted = {f"kill_before_{duty}" for duty in DUTIES}
    wanted |= {"crash", "pause", "curious", "lost", "cut", "applied", "rejected"}
    assert wanted <= seen and entries > 500


def test_a_seed_is_one_run() -> None:
    one, two = (RoomSim(7, 30, is_recorded=True) for _ in range(2))
    one.run()
    two.run()
    assert one.transcript and one.transcript == two.transcript
    other = RoomSim(8, 30, is_recorded=True)
    other.run()
    assert other.transcript != one.transcript


def test_a_seed_is_one_run_in_every_process() -> None:
    """The order of sets differs from process to process; nothing may hang on it."""
    command = [sys.executable, "-m", "tests.sim", "--seeds", "7:8", "--span", "20", "--transcript"]
    said = [
        subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert said[0] == said[1] and b"entries checked" in said[0]
