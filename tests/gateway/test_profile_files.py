"""The profiles directory: whole files, private, and nothing deleted that is not ours."""

import stat
from pathlib import Path

import pytest

from gateway.errors import ProfileInvalid, ProfileMissing, ProfileUnwritable
from gateway.limits import PROFILE_FILE_BYTES_MAX
from gateway.profile import ProfileConfig
from gateway.profile_files import ProfileFiles

CONFIG = ProfileConfig.parse({"name": "echo", "backend": "builtin", "options": {"agent": "echo"}})


@pytest.fixture
def files(tmp_path: Path) -> ProfileFiles:
    return ProfileFiles(tmp_path / "profiles")


def by_hand(files: ProfileFiles, name: str, content: bytes) -> None:
    """An operator writes a profile's file."""
    files.folder(name).mkdir(parents=True)
    (files.folder(name) / "profile.toml").write_bytes(content)


def test_writes_and_reads_back(files: ProfileFiles) -> None:
    assert files.names() == ()
    files.write(CONFIG)
    assert files.names() == ("echo",)
    assert files.read("echo") == CONFIG


def test_what_is_written_is_private_and_leaves_no_draft(files: ProfileFiles) -> None:
    files.write(CONFIG)
    folder = files.folder("echo")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.iterdir()] == ["profile.toml"]
    assert stat.S_IMODE((folder / "profile.toml").stat().st_mode) == 0o600


def test_a_draft_of_a_crash_is_written_over(files: ProfileFiles) -> None:
    files.folder("echo").mkdir(parents=True)
    (files.folder("echo") / ".profile.toml.new").write_text("name = ")
    assert files.names() == ()
    files.write(CONFIG)
    assert files.read("echo") == CONFIG


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name = ", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
        (b"#" * (PROFILE_FILE_BYTES_MAX + 1), "is larger than"),
        (b'name = "other"\nbackend = "builtin"\n', "as the folder is called"),
        (b'name = "echo"\nbackend = "builtin"\ncolour = "red"\n', "colour"),
    ],
)
def test_a_broken_file_is_named(files: ProfileFiles, content: bytes, said: str) -> None:
    by_hand(files, "echo", content)
    with pytest.raises(ProfileInvalid, match=said):
        files.read("echo")


def test_a_file_that_is_a_folder_is_an_answer_too(files: ProfileFiles) -> None:
    (files.folder("echo") / "profile.toml").mkdir(parents=True)
    with pytest.raises(ProfileInvalid, match="cannot be read"):
        files.read("echo")


def test_a_folder_with_an_invalid_name_is_listed_and_not_read(files: ProfileFiles) -> None:
    by_hand(files, "Echo Chamber", b'name = "echo"\nbackend = "builtin"\n')
    assert files.names() == ("Echo Chamber",)
    with pytest.raises(ProfileInvalid, match="folder's name"):
        files.read("Echo Chamber")


def test_missing(files: ProfileFiles) -> None:
    with pytest.raises(ProfileMissing):
        files.read("echo")


def test_deleting_takes_file_and_state_and_then_the_folder(files: ProfileFiles) -> None:
    files.write(CONFIG)
    (files.folder("echo") / "state").mkdir()
    (files.folder("echo") / "state" / "room.jsonl").touch()
    files.delete("echo")
    assert not files.folder("echo").exists()


def test_deleting_leaves_what_is_not_ours(files: ProfileFiles) -> None:
    files.write(CONFIG)
    (files.folder("echo") / "api.key").write_text("secret")
    files.delete("echo")
    assert [path.name for path in files.folder("echo").iterdir()] == ["api.key"]
    assert files.names() == ()


def test_a_disk_that_refuses_is_named(tmp_path: Path) -> None:
    (tmp_path / "profiles").write_text("a file where the directory should be")
    files = ProfileFiles(tmp_path / "profiles")
    with pytest.raises(ProfileUnwritable, match="could not be written"):
        files.write(CONFIG)
    with pytest.raises(ProfileUnwritable):
        files.delete("echo")
