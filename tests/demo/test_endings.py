"""However the demo ends, none of its processes and nothing on the disk is left."""

import signal
from pathlib import Path

import pytest

from tests.demo.played_demo import PlayedDemo

pytestmark = pytest.mark.timeout(60)


def folder_of(demo: PlayedDemo) -> Path:
    """The temporary folder, once all three nodes run in it."""
    values = [demo.value("started") for _ in range(3)]
    folder = Path(values[0]["home"]).parent
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == [
        "desktop", "friend", "laptop"
    ]
    assert folder.stat().st_mode & 0o777 == 0o700
    # The demo, the keeper of the folder, and the nodes.
    assert len(demo.alive()) == 5
    return folder


def test_ctrl_c() -> None:
    with PlayedDemo("--json", "demo", "--port", "0", on_terminal=True) as demo:
        folder = folder_of(demo)
        demo.value("room_made")
        demo.press("\x03")
        assert demo.ended() == 130
        demo.nothing_left(folder)


def test_kill_9() -> None:
    with PlayedDemo("--json", "demo", "--port", "0") as demo:
        folder = folder_of(demo)
        demo.process.kill()
        assert demo.ended() == -signal.SIGKILL
        demo.nothing_left(folder)


def test_sigterm_after_somebody_killed_the_keeper_of_the_folder() -> None:
    with PlayedDemo("--json", "demo", "--port", "0") as demo:
        folder = folder_of(demo)
        (keeper,) = demo.alive("demo_folder")
        demo.kill(keeper)
        demo.process.send_signal(signal.SIGTERM)
        assert demo.ended() == 130
        demo.nothing_left(folder)
