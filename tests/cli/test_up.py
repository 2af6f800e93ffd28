"""`up`, as a process of its own."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mesh.cli.terminal import Terminal
from mesh.cli.up import announce
from tests.cli.nodes import process


class Fact:
    """What `announce` is told, without a node."""

    url = "http://127.0.0.1:7420"
    lan_urls = ("https://192.0.2.1:7420",)
    fingerprint = "AB CD"
    install_id = "install:x"

    async def login_link(self) -> tuple[str, int]:
        return f"{self.url}/#login=secret", 0


@asynccontextmanager
async def up(home: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    line = ("up", "--home", str(home), "--no-discovery", *arguments)
    pipe = asyncio.subprocess.PIPE
    async with process(*line, stdout=pipe, stderr=pipe) as made:
        yield made


async def line_of(node: asyncio.subprocess.Process) -> bytes:
    assert node.stdout is not None
    return await node.stdout.readline()


async def test_a_node_says_where_it_is_and_drains_when_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with up(home, "--listen", "127.0.0.1:0", "--json") as node:
        ready: Any = json.loads(await line_of(node))
        assert ready["ready"] and ready["url"].startswith("http://127.0.0.1:")
        assert (home / "control.json").exists()
        async with up(home, "--json") as second:
            out, err = await second.communicate()
            assert json.loads(out)["error"]["reason"] == "home_locked"
            assert str(node.pid) in json.loads(out)["error"]["message"]
            assert (second.returncode, err) == (4, b"")
        node.terminate()
        out, err = await node.communicate()
        assert (node.returncode, out, err) == (0, b"", b"")
        assert not (home / "control.json").exists()


async def test_into_a_pipe_no_secret_is_printed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with up(home, "--listen", "127.0.0.1:0") as node:
        whole = await line_of(node) + await line_of(node)
        assert b"open the page: roommesh open" in whole
        token = json.loads((home / "control.json").read_text())["token"].encode()
        node.terminate()
        whole += b"".join(await node.communicate())
    assert b"login=" not in whole and token not in whole
    # Nor does it stand in the log, or in the arguments that other users can read.
    log = (home / "logs" / "node.log").read_bytes()
    assert token not in log and b"login=" not in log


async def test_a_wrong_setting_is_usage(tmp_path: Path) -> None:
    async with up(tmp_path / "home", "--listen", "nowhere", "--json") as node:
        out, _ = await node.communicate()
        assert json.loads(out)["error"]["reason"] == "invalid_params"
        assert node.returncode == 2
    assert not (tmp_path / "home").exists()


async def test_a_person_at_the_terminal_sees_the_link(capsys: pytest.CaptureFixture[str]) -> None:
    person = Terminal(home=None, json=False)
    await announce(person, Fact(), show_secret=True)
    shown = capsys.readouterr().out
    assert "#login=secret" in shown and "AB CD" in shown and "https://192.0.2.1:7420" in shown
    await announce(person, Fact(), show_secret=False)
    assert "secret" not in capsys.readouterr().out
    await announce(Terminal(home=None, json=True), Fact(), show_secret=True)
    assert "secret" not in capsys.readouterr().out
