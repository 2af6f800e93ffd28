"""`config show`."""

import pytest

from tests.cli.nodes import Command


def write_config(command: Command, text: str) -> None:
    """The file of that home."""
    command.home.mkdir()
    (command.home / "config.toml").write_text(text)


async def test_settings_and_their_origins(
    nowhere: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOMMESH_LAN", "yes")
    write_config(nowhere, 'name = "desk"\n')
    said = await nowhere("config", "show")
    assert said.status == 0
    rows = {line.split()[0]: line.split()[1:3] for line in said.out.splitlines() if line}
    assert rows["name"] == ["desk", "file"]
    assert rows["lan"] == ["yes", "environment"]
    assert rows["listen"] == ["127.0.0.1:7420", "default"]
    found = (await nowhere("config", "show", "--json")).json
    assert found["home"] == str(nowhere.home)
    assert {row["name"]: row["origin"] for row in found["settings"]}["name"] == "file"


async def test_a_damaged_file_is_said(nowhere: Command) -> None:
    write_config(nowhere, "nam = 1\n")
    said = await nowhere("config", "show", "--json")
    assert (said.status, said.reason) == (2, "invalid_params")
    assert "nam" in said.json["error"]["message"]
