"""The model is the yardstick: it is the one that was handed over, and it runs."""

import hashlib
import subprocess
import sys

import pytest

from tests.sim.models import FOLDER

HANDED_OVER = {
    "mutants.sh": "ed58378346e727270208cf9361aec17dab065ee14490b8ca6392ce68c22a72a2",
    "room_explore.py": "cf95c7e52f943b7282a29aa6650f4c2d6baa5fbb08674c99030088e2b0bc175a",
    "room_scenarios.py": "51da682bd24ece455cb5f445e7433b3f4fa26a035df1bb478125b2eac771a36b",
    "room_sim.py": "cd81fb4715e012b01a548546531628ce32a1d5ad20b3711d7c34e3d0b3621d1a",
    "room_spec.py": "8676e09c554e39e841b224e3bc2d3594d766cdd01c05b150c9e2c6a9b4d331ec",
}


def test_the_model_is_as_it_was_handed_over() -> None:
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in FOLDER.iterdir()
        if path.is_file()
    }
    assert found == HANDED_OVER


@pytest.mark.parametrize("options", [["--voters", "1"], ["--voters", "3"]], ids="-".join)
def test_the_model_itself_holds(options: list[str]) -> None:
    """Its own nodes under its own checker, in a process that has not met ours."""
    command = [sys.executable, "-B", "room_sim.py", "--seeds", "0:3", *options]
    ran = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "violations=0" in ran.stdout, ran.stdout
