"""`room send` and `room log`, on a real node with real agents."""

import asyncio
import io
import json
import signal

import pytest

from mesh.client import connect
from tests.cli.nodes import Command, process


async def test_a_message_is_sent_and_stands_in_the_log(
    alpha: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    await alpha("room", "create", "Den")
    assert (await alpha("room", "send", "den", "hello")).out.startswith("sent (")
    monkeypatch.setattr("sys.stdin", io.StringIO("from a\npipe\n"))
    assert (await alpha("room", "send", "den")).status == 0
    lines = (await alpha("room", "log", "den")).out.splitlines()
    assert lines[-3].endswith(": hello")
    assert lines[-2].endswith(": from a")
    assert lines[-1].strip() == "pipe"
    events = (await alpha("room", "log", "den", "--limit", "1", "--json")).json
    assert events["payload"]["text"] == "from a\npipe"


async def test_nothing_is_not_sent(alpha: Command) -> None:
    await alpha("room", "create", "Den")
    said = await alpha("room", "send", "den", "  ", "--json")
    assert (said.status, said.reason) == (2, "invalid_params")


async def test_waiting_prints_the_answers(alpha: Command) -> None:
    await alpha("room", "create", "Den", "--with", "echo", "--with", "scribe")
    said = await alpha("room", "send", "den", "@echo and here is a text", "--wait", "15")
    assert said.status == 0
    assert said.out == "echo: and here is a text\n"
    found = (await alpha("room", "send", "den", "@echo @scribe hi", "--wait", "15", "--json")).json
    assert found["accepted"] and found["open"] == []
    assert {one["handle"]: one["state"] for one in found["answers"]} == {
        "echo": "settled",
        "scribe": "settled",
    }
    assert all(one["text"] for one in found["answers"])


async def test_nobody_asked_means_nothing_to_wait_for(alpha: Command) -> None:
    await alpha("room", "create", "Den")
    started = asyncio.get_running_loop().time()
    assert (await alpha("room", "send", "den", "hello", "--wait", "15")).status == 0
    assert asyncio.get_running_loop().time() - started < 10


async def test_the_end_of_the_wait_is_a_time_out(alpha: Command) -> None:
    await alpha(
        "profile",
        "add",
        "slow",
        "--backend",
        "builtin",
        "--option",
        "agent=guide",
        "--option",
        "pace_ms=1000",
    )
    await alpha("room", "create", "Den", "--with", "slow")
    said = await alpha("room", "send", "den", "@slow hi", "--wait", "0.4")
    assert said.status == 3
    assert "0.4 s" in said.err
    await alpha("room", "stop-turns", "den")


async def test_a_short_log_leaves_book_keeping_out(alpha: Command) -> None:
    await alpha("room", "create", "Den", "--with", "echo")
    await alpha("room", "send", "den", "@echo hi", "--wait", "15")
    assert "began to answer" not in (await alpha("room", "log", "den")).out
    assert "began to answer" in (await alpha("room", "log", "den", "--all")).out
    since = (await alpha("room", "log", "den", "--since", "2", "--limit", "1", "--json")).json
    assert since["seq"] == 3


async def test_following_shows_what_comes(alpha: Command) -> None:
    room_id = (await alpha("room", "create", "Den")).out.strip()
    line = ("--home", str(alpha.home), "room", "log", "den", "--follow", "--json")
    async with process(*line, stdout=asyncio.subprocess.PIPE) as follower:
        assert follower.stdout is not None
        assert json.loads(await follower.stdout.readline())["kind"] == "room.created"
        async with connect(alpha.home) as node:
            await node.rooms.send(room_id, "while you watch")
        assert json.loads(await follower.stdout.readline())["payload"]["text"] == "while you watch"
        follower.send_signal(signal.SIGINT)
        assert await follower.wait() == 130
