"""Private files: made whole, refused when somebody else could have read or written them."""

import os
import stat
from pathlib import Path

import pytest

from mesh.core.errors import MeshError
from mesh.storage import private_file


def refusal(path: Path, size_bytes_max: int = 100) -> str:
    """The sentence with which reading `path` is refused."""
    with pytest.raises(MeshError) as caught:
        private_file.read(path, size_bytes_max)
    assert caught.value.reason == "key_unsafe"
    return caught.value.message


def test_a_created_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        private_file.create(tmp_path / "k", b"abc")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "k").stat().st_mode) == 0o600
    assert private_file.read(tmp_path / "k", 3) == b"abc"
    assert [entry.name for entry in tmp_path.iterdir()] == ["k"]


def test_create_never_replaces(tmp_path: Path) -> None:
    private_file.create(tmp_path / "k", b"first")
    with pytest.raises(FileExistsError):
        private_file.create(tmp_path / "k", b"second")
    assert private_file.read(tmp_path / "k", 100) == b"first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["k"]


def test_create_does_not_follow_a_planted_link(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    (tmp_path / "k").symlink_to(target)
    with pytest.raises(FileExistsError):
        private_file.create(tmp_path / "k", b"secret")
    assert not target.exists()


def test_replace_replaces_a_planted_link_and_not_its_target(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("untouched")
    (tmp_path / "k").symlink_to(target)
    private_file.replace(tmp_path / "k", b"secret")
    assert target.read_text() == "untouched"
    assert private_file.read(tmp_path / "k", 100) == b"secret"


def test_what_a_killed_start_left_is_swept_away(tmp_path: Path) -> None:
    (tmp_path / ".k.new").write_bytes(b"half")
    private_file.create(tmp_path / "k", b"whole")
    assert [entry.name for entry in tmp_path.iterdir()] == ["k"]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
def test_a_file_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "k"
    private_file.create(path, b"abc")
    path.chmod(mode)
    assert f"chmod 600 {path}" in refusal(path)


def test_a_link_a_pipe_an_empty_and_a_large_file_are_refused(tmp_path: Path) -> None:
    private_file.create(tmp_path / "k", b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "k")
    assert "symbolic link" in refusal(tmp_path / "link")
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "not a regular file" in refusal(tmp_path / "pipe")
    private_file.create(tmp_path / "empty", b"")
    assert "empty" in refusal(tmp_path / "empty")
    assert "larger" in refusal(tmp_path / "k", size_bytes_max=2)


def test_another_users_file_is_refused(tmp_path: Path) -> None:
    path = Path("/etc/hostname")
    if os.geteuid() == 0:
        path = tmp_path / "k"
        private_file.create(path, b"abc")
        os.chown(path, 65534, 65534)
    assert "run as its owner" in refusal(path)


@pytest.mark.unprivileged
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    private_file.create(tmp_path / "k", b"abc")
    (tmp_path / "k").chmod(0)
    assert "cannot be opened" in refusal(tmp_path / "k")


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o707])
def test_a_directory_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    with pytest.raises(MeshError, match=f"chmod 700 {home}"):
        private_file.check_directory(home)
    home.chmod(0o700)
    private_file.check_directory(home)


def test_another_users_directory_is_refused(tmp_path: Path) -> None:
    path = Path("/")
    if os.geteuid() == 0:
        path = tmp_path / "home"
        path.mkdir(mode=0o700)
        os.chown(path, 65534, 65534)
    with pytest.raises(MeshError, match="run as its owner"):
        private_file.check_directory(path)
