"""control.json is believed only when nobody else could have written it."""

import json
from pathlib import Path

import pytest

from mesh.client.control_file import read_control
from mesh.client.errors import Unreachable
from tests.client.fake_node import write_control
from tests.http.edge import TOKEN


def test_the_file_is_read_and_the_token_hidden(tmp_path: Path) -> None:
    write_control(tmp_path / "home", "http://127.0.0.1:7420")
    control = read_control(tmp_path / "home", {})
    assert (control.url, control.token) == ("http://127.0.0.1:7420", TOKEN)
    assert TOKEN not in repr(control)


def test_the_environment_names_the_home(tmp_path: Path) -> None:
    write_control(tmp_path / "home", "http://127.0.0.1:7420")
    assert read_control(None, {"ROOMMESH_HOME": str(tmp_path / "home")}).pid > 0


def test_no_file_means_no_node(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="No node is running") as error:
        read_control(tmp_path, {})
    assert error.value.next == "Start a node with `roommesh up`."


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_others_may_write_is_not_believed(tmp_path: Path, mode: int) -> None:
    write_control(tmp_path / "home", "http://127.0.0.1:7420", mode=mode)
    with pytest.raises(Unreachable, match="someone else"):
        read_control(tmp_path / "home", {})


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    real = write_control(tmp_path / "elsewhere", "http://127.0.0.1:7420")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "control.json").symlink_to(real)
    with pytest.raises(Unreachable):
        read_control(tmp_path / "home", {})


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", json.dumps({"url": "x"}), "\xff"])
def test_a_damaged_file_is_said(tmp_path: Path, content: str) -> None:
    path = write_control(tmp_path / "home", "http://127.0.0.1:7420")
    path.write_text(content, "latin-1")
    with pytest.raises(Unreachable, match="damaged"):
        read_control(tmp_path / "home", {})
