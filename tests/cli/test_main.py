"""The entry: where options may stand, what errors look like, and what is not imported."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mesh.cli import main
from mesh.cli.main import COMMANDS, hoisted
from tests.cli.nodes import Command

SURFACE = Path(__file__).parent.parent.parent / "docs" / "surface.md"


def python(code: str) -> str:
    """Run Python as a fresh process, and return what it printed."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(
    ("typed", "taken"),
    [
        (["up", "--home", "D"], ["--home", "D", "up"]),
        (["room", "list", "--json"], ["--json", "room", "list"]),
        (["--home=D", "status", "--json"], ["--json", "--home=D", "status"]),
        (["room", "send", "r", "--", "--json"], ["room", "send", "r", "--", "--json"]),
        (["up", "--home"], ["--home", "up"]),
    ],
)
def test_options_for_all_may_stand_anywhere(typed: list[str], taken: list[str]) -> None:
    assert hoisted(typed) == taken


async def test_without_a_node_every_command_says_so(nowhere: Command) -> None:
    for line in (
        ["status"],
        ["open"],
        ["room", "list"],
        ["room", "send", "x", "hi"],
        ["invite", "list"],
        ["peer", "list"],
        ["grant", "list"],
        ["profile", "list"],
    ):
        said = await nowhere(*line)
        assert said.status == 5, line
        assert "roommesh up" in said.err
        said = await nowhere(*line, "--json")
        assert (said.status, said.reason) == (5, "unreachable")


async def test_usage_is_said_in_both_forms(nowhere: Command) -> None:
    for line in (["frob"], ["room", "frob"], ["room", "create"], ["up", "--nonsense"]):
        said = await nowhere(*line)
        assert said.status == 2
        assert "Traceback" not in said.err
        said = await nowhere("--json", *line)
        assert (said.status, said.reason) == (2, "invalid_params")
        assert "--help" in said.json["error"]["next"]


async def test_ctrl_c_is_130(nowhere: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mesh.cli.status.ask", interrupted)
    said = await nowhere("status")
    assert said.status == 130
    assert "Traceback" not in said.err


def test_a_fault_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    main._fault(ValueError, ValueError("inside"), None)
    assert "Traceback" not in capsys.readouterr().err


async def test_help_names_every_command(nowhere: Command) -> None:
    said = await nowhere("--help")
    assert said.status == 0
    assert all(f"  {name} " in said.out for name in COMMANDS)


def test_every_command_of_the_surface_is_there() -> None:
    table = SURFACE.read_text().partition("## The command")[2]
    named = {
        word.strip("`|· ").split()[0]
        for line in table.replace("\\|", "/").splitlines()
        if line.startswith("| `")
        for word in line.split("|")[1].split("·")
    }
    assert named == COMMANDS.keys()


def test_a_quick_command_imports_no_node_and_no_client() -> None:
    code = (
        "import sys\nfrom mesh.cli.main import run\nrun(['version'])\nrun(['--help'])\n"
        "heavy = {'aiohttp', 'asyncio', 'rich', 'segno', 'zeroconf', 'nacl', 'msgspec'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    assert python(code).splitlines()[-1] == "[]"


def test_the_command_never_loads_what_only_a_node_needs() -> None:
    code = (
        "import sys\nfrom mesh.cli.main import run\nrun(['--home', '/nonexistent', 'status'])\n"
        "print(sorted({'mesh.node', 'zeroconf', 'rich', 'segno'} & sys.modules.keys()))"
    )
    assert python(code).splitlines()[-1] == "[]"


async def test_version_is_told(nowhere: Command) -> None:
    assert (await nowhere("version")).out.strip()
    assert json.loads((await nowhere("version", "--json")).out)["version"]
