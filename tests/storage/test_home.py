"""The home: private, one node at a time, and found by local programs while it runs."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mesh.core.errors import MeshError
from mesh.storage import home as homes

HOLD = """
import sys, pathlib
from mesh.storage import home
with home.lock_home(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_new_home_is_private_and_an_old_one_is_taken_as_it_is(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        home = homes.open_home(tmp_path / "deep" / "home")
    finally:
        os.umask(before)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    (home / "kept").touch()
    assert homes.open_home(home) == home
    assert (home / "kept").exists()


def test_a_home_open_to_others_is_refused_and_not_mended(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    with pytest.raises(MeshError) as caught:
        homes.open_home(home)
    assert (caught.value.reason, f"chmod 700 {home}" in caught.value.message) == (
        "key_unsafe",
        True,
    )
    assert stat.S_IMODE(home.stat().st_mode) == 0o755


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    with pytest.raises(MeshError, match="not a directory"):
        homes.open_home(tmp_path / "home")
    with pytest.raises(MeshError, match="choose another --home"):
        homes.open_home(tmp_path / "home" / "below")


@pytest.mark.parametrize("name", ["Dropbox", "OneDrive - Example", "Nextcloud"])
def test_a_home_on_a_synced_folder_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(MeshError, match="copied to other machines"):
        homes.open_home(tmp_path / name / "home")


@pytest.mark.parametrize("mark", [".stfolder", ".dropbox"])
def test_a_home_on_a_synced_folder_is_refused_by_its_mark(tmp_path: Path, mark: str) -> None:
    (tmp_path / mark).mkdir()
    with pytest.raises(MeshError, match="copied to other machines"):
        homes.open_home(tmp_path / "a" / "home")


def test_a_second_start_is_told_the_pid_and_the_lock_dies_with_its_holder(tmp_path: Path) -> None:
    home = homes.open_home(tmp_path / "home")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(MeshError) as caught, homes.lock_home(home):
            pass
        assert caught.value.reason == "home_locked"
        assert caught.value.fields == {"pid": holder.pid}
        assert str(holder.pid) in caught.value.message
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with homes.lock_home(home):
        assert (home / homes.LOCK).read_text() == f"{os.getpid()}\n"


def test_the_lock_is_given_back_and_not_taken_through_a_link(tmp_path: Path) -> None:
    home = homes.open_home(tmp_path / "home")
    with homes.lock_home(home), pytest.raises(MeshError, match="Another node"):
        with homes.lock_home(home):
            pass
    (home / homes.LOCK).unlink()
    (home / homes.LOCK).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MeshError, match="cannot be opened"), homes.lock_home(home):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_control_is_private_and_gone_at_the_end(tmp_path: Path) -> None:
    home = homes.open_home(tmp_path / "home")
    with pytest.raises(MeshError) as caught:
        homes.read_control(home)
    assert caught.value.reason == "unreachable"
    fields: dict[str, str | int] = {"url": "http://127.0.0.1:7420", "token": "t", "pid": 5}
    homes.write_control(home, fields)
    homes.write_control(home, fields | {"pid": 6})
    assert homes.read_control(home) == fields | {"pid": 6}
    assert stat.S_IMODE((home / homes.CONTROL).stat().st_mode) == 0o600
    homes.remove_control(home)
    homes.remove_control(home)
    assert list(home.iterdir()) == []


def test_a_control_file_planted_as_a_link_or_left_open_is_not_used(tmp_path: Path) -> None:
    home = homes.open_home(tmp_path / "home")
    target = tmp_path / "elsewhere"
    target.write_text("untouched")
    (home / homes.CONTROL).symlink_to(target)
    with pytest.raises(MeshError, match="symbolic link"):
        homes.read_control(home)
    homes.write_control(home, {"token": "t"})
    assert target.read_text() == "untouched"
    (home / homes.CONTROL).chmod(0o644)
    with pytest.raises(MeshError, match="other users"):
        homes.read_control(home)


def test_a_damaged_control_file_means_that_no_node_runs(tmp_path: Path) -> None:
    home = homes.open_home(tmp_path / "home")
    (home / homes.CONTROL).touch(mode=0o600)
    (home / homes.CONTROL).write_bytes(b'{"url": ')
    with pytest.raises(MeshError, match="unreachable"):
        homes.read_control(home)
