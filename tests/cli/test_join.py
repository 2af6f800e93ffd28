"""`join`, `peer` and `grant` between two real nodes; and with no node running."""

import asyncio
import os
import pty
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from mesh.cli.failure import Failed
from mesh.cli.join import read_permissions
from tests.cli.nodes import Command, process


async def invited(alpha: Command) -> str:
    """A room with a scribe at alpha, and a link to it."""
    await alpha("room", "create", "Den", "--with", "scribe")
    return (await alpha("invite", "create", "den", "--this-machine")).out.strip()


def test_permissions_are_known_words() -> None:
    assert read_permissions("dispatch, stop") == ["dispatch", "stop"]
    for typed in ("", "speak", "dispatch,root"):
        with pytest.raises(Failed, match="no permission"):
            read_permissions(typed)


async def test_joining_lending_talking_and_taking_back(alpha: Command, beta: Command) -> None:
    link = await invited(alpha)
    said = await beta("join", link, "--lend", "echo", "--until", "2d", "--yes")
    assert said.status == 0
    assert "Den" in said.out and "You lend echo until" in said.out
    assert link.partition("#")[2] not in said.out + said.err
    assert "elsewhere" in (await beta("room", "list")).out
    answer = await alpha("room", "send", "den", "@echo across", "--wait", "15")
    assert (answer.status, answer.out) == (0, "echo: across\n")

    (peer,) = (await alpha("peer", "list", "--json")).json["peers"]
    assert (peer["name"], peer["link"]) == ("beta", "up")
    assert "beta" in (await alpha("peer", "list")).out
    assert peer["install_id"] in (await alpha("peer", "show", "beta")).out
    assert (await alpha("peer", "ping", "beta")).out.endswith(" ms\n")
    assert (await alpha("peer", "ping", "beta", "--json")).json["rtt_us"] > 0
    assert (await alpha("peer", "show", "gamma")).status == 4

    assert "borrowed" in (await alpha("grant", "list")).out
    assert "lent" in (await beta("grant", "list", "--room", "den")).out
    shown = await beta("grant", "show", "@echo")
    assert "lent" in shown.out and "dispatch" in shown.out
    assert (await beta("grant", "revoke", "@echo")).out.startswith("withdrawn: g_")
    gone = await alpha("room", "send", "den", "@echo still?", "--wait", "15")
    assert gone.status == 1
    assert "withdrawn" in gone.err

    again = await beta("join", link, "--yes", "--json")
    assert again.status in {0, 4}


async def test_a_receipt_is_what_scripts_get(alpha: Command, beta: Command) -> None:
    link = await invited(alpha)
    receipt = (await beta("join", link, "--as", "Bea", "--yes", "--json")).json
    assert receipt["status"] == "applied"
    assert receipt["result"]["room_id"].startswith("r_")
    members = (await alpha("room", "members", "den", "--json")).json["members"]
    assert "Bea" in {row["display_name"] for row in members}


async def test_without_consent_nothing_is_joined(alpha: Command, beta: Command) -> None:
    link = await invited(alpha)
    said = await beta("join", link)
    assert said.status == 2
    assert "--yes" in said.err
    assert (await beta("room", "list", "--json")).json == {"rooms": []}
    (row,) = (await alpha("invite", "list", "--json")).json["invitations"]
    assert (row["used"], row["state"]) == (0, "open")


async def test_a_damaged_link_starts_nothing(nowhere: Command) -> None:
    for link in ("x", "https://192.0.2.1/i#abc", ""):
        said = await nowhere("join", link, "--yes", "--json")
        assert (said.status, said.reason) == (4, "invitation_damaged")
    assert not nowhere.home.exists()


async def test_terms_are_checked_before_anything_is_started(
    alpha: Command, nowhere: Command
) -> None:
    link = await invited(alpha)
    for line in (["--until", "2020-01-01"], ["--allow", "everything"]):
        said = await nowhere("join", link, "--lend", "echo", *line, "--yes")
        assert said.status == 2
    assert not nowhere.home.exists()


class Screen:
    """A command in a terminal of its own: what it shows, and a keyboard."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self._line = ["--home", str(home), *arguments]
        self._stack = AsyncExitStack()
        self.shown = ""

    async def __aenter__(self) -> "Screen":
        self._master, slave = pty.openpty()
        self._process = await self._stack.enter_async_context(
            process(*self._line, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        )
        os.close(slave)
        self._more = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._master, self._read)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)

    def _read(self) -> None:
        try:
            self.shown += os.read(self._master, 65_536).decode()
        except OSError:  # the other end is closed
            asyncio.get_running_loop().remove_reader(self._master)
        self._more.set()

    async def until(self, text: str) -> None:
        """Wait until it shows that, after what was waited for before."""
        while text not in self.shown:
            self._more.clear()
            await self._more.wait()

    def type(self, text: str) -> None:
        """Press keys; what is shown so far is forgotten."""
        self.shown = ""
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    async def ended(self) -> int:
        """Its exit status."""
        return await self._process.wait()


@pytest.mark.timeout(60)  # a node of its own starts and stops in it
async def test_with_no_node_running_this_terminal_becomes_one(
    alpha: Command, nowhere: Command
) -> None:
    link = await invited(alpha)
    line = ("join", link, "--lend", "echo", "--listen", "127.0.0.1:0")
    async with Screen(nowhere.home, *line) as screen:
        await screen.until("Start a node here")
        screen.type("y\n")
        await screen.until("Join? [y/N]")
        assert "Den" in screen.shown and "You lend echo" in screen.shown
        screen.type("y\n")
        await screen.until("Ctrl-C stops it")
        answer = await alpha("room", "send", "den", "@echo from a terminal", "--wait", "15")
        assert answer.out == "echo: from a terminal\n"
        screen.interrupt()
        assert await screen.ended() == 0
        assert "Traceback" not in screen.shown


@pytest.mark.timeout(60)  # a node of its own starts and stops in it
async def test_declining_before_the_node_leaves_nothing(alpha: Command, nowhere: Command) -> None:
    async with Screen(nowhere.home, "join", await invited(alpha)) as screen:
        await screen.until("Start a node here")
        screen.type("n\n")
        assert await screen.ended() == 4
    assert not nowhere.home.exists()


@pytest.mark.timeout(60)  # a node of its own starts and stops in it
@pytest.mark.parametrize(("typed", "status"), [("\n", 4), (None, 130)])
async def test_declining_and_interrupting_join_nothing(
    alpha: Command, nowhere: Command, typed: str | None, status: int
) -> None:
    link = await invited(alpha)
    async with Screen(nowhere.home, "join", link, "--listen", "127.0.0.1:0") as screen:
        await screen.until("Start a node here")
        screen.type("y\n")
        await screen.until("Join? [y/N]")
        if typed is None:
            screen.interrupt()
        else:
            screen.type(typed)
        assert await screen.ended() == status
        assert "Traceback" not in screen.shown
    (row,) = (await alpha("invite", "list", "--json")).json["invitations"]
    assert row["used"] == 0
