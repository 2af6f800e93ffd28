"""Playing with the demo: addresses to open, keys that unplug, replug, withdraw and lend.

What a key does is what would happen to a real machine: unplugging is `kill -9`. The page and the
terminal show what comes of it at the same moment, from the same events.
"""

import asyncio
import getpass
import os
from collections.abc import Mapping, Sequence
from typing import Final

from mesh.cli.demo_feed import Feed
from mesh.cli.demo_keys import QUIT, Keys, has_keys
from mesh.cli.demo_nodes import LOOPBACK, DemoNode
from mesh.cli.demo_room import DemoRoom
from mesh.cli.demo_screen import Screen
from mesh.cli.demo_watch import NotSeen
from mesh.cli.failure import Failed
from mesh.client import ClientError

END: Final = "\x04"  # Ctrl-D
KEYS: Final = {
    "1 2 3": "unplug laptop, desktop or friend; again: plug it in (kill -9, restart)",
    "r": "the friend withdraws @echo; again: lends it anew",
    "o": "new links for the browser",
    "q": "quit; the three nodes and all they wrote are gone then",
}
TO_WRITE: Final = "@guide show us round, @scribe summary, @echo hello"
SSH_PORT: Final = "22"


class Play:
    """Goes on until `q`, Ctrl-D, or the end of the terminal."""

    def __init__(self, room: DemoRoom, screen: Screen) -> None:
        self._room = room
        self._screen = screen
        self._queue: asyncio.Queue[str | DemoNode] = asyncio.Queue()

    async def run(self) -> None:
        """Say what can be done, and do what is asked. Raises ClientError where a node is lost."""
        keys = has_keys()
        await self._addresses()
        self._screen.note(f"In the room, write for example: {TO_WRITE}", "dim")
        self._screen.facts({"act": "playing", "keys": keys})
        Feed(self._room, self._screen).begin()
        for node in self._room.nodes:
            self._room.beside(self._mourn(node))
        if not keys:
            self._screen.title("No keys: standard input is no terminal. Ctrl-C ends the demo.")
            await self._serve()
            return
        self._screen.title("Keys")
        self._screen.fields(KEYS)
        self._screen.title("Now")
        with Keys(self._queue):
            await self._serve()

    async def _serve(self) -> None:
        while (pressed := await self._queue.get()) not in {QUIT, QUIT.upper(), END}:
            try:
                await self._do(pressed)
            except (ClientError, Failed) as error:
                self._screen.note(f"That did not work: {error.message} {error.next}")

    async def _do(self, pressed: str | DemoNode) -> None:
        if isinstance(pressed, DemoNode):
            await self._lost(pressed)
        elif pressed in {"1", "2", "3"}:
            await self._turn(self._room.nodes[int(pressed) - 1])
        elif pressed in {"r", "R"}:
            await self._withdraw()
        elif pressed in {"o", "O"}:
            await self._addresses()
        elif pressed in {"?", "h", "\n"}:
            self._screen.fields(KEYS)

    # --- what the keys do ------------------------------------------------------------------------

    async def _turn(self, node: DemoNode) -> None:
        if node.is_up:
            await node.unplug()
            self._screen.happened("unplugged", node.name, f"is unplugged ({node.url} is dead)")
            return
        self._screen.happened("plugging_in", node.name, "is plugged in again, and starts")
        known = len(self._room.watch(node).events)
        took_s = await node.start()
        self._screen.happened("plugged_in", node.name, f"runs again after {took_s:.1f} s")
        self._room.beside(self._catch_up(node, known))

    async def _catch_up(self, node: DemoNode, known: int) -> None:
        """Tell when that machine knows all that the room's host knew when it came back."""
        host = self._room.laptop
        if node is host or not host.is_up:
            return
        watch = self._room.watch(node)
        latest_seq = self._room.watch(host).events[-1].seq
        try:
            await watch.until(
                "all events of the host", lambda: len(watch.events) >= latest_seq or None
            )
        except NotSeen as missed:
            self._screen.note(missed.message)
            return
        missed_count = len(watch.events) - known
        self._screen.happened(
            "caught_up", node.name, f"has caught up: {missed_count} events it had missed"
        )

    async def _lost(self, node: DemoNode) -> None:
        await node.unplug()
        number = self._room.nodes.index(node) + 1
        self._screen.happened(
            "lost", node.name, f"has ended, not by a key; {number} starts it again"
        )

    async def _withdraw(self) -> None:
        room = self._room
        if not room.friend.is_up:
            self._screen.note("The friend is unplugged: 3 first. A lender withdraws at home.")
            return
        member = await room.lent_member()
        if member["presence"] == "withdrawn":
            await room.lend_again()
            self._screen.happened("lent", room.friend.name, "lends @echo again, in a new seat")
        else:
            await room.withdraw()
            self._screen.happened("withdrawn", room.friend.name, "withdraws @echo: no new work")

    async def _mourn(self, node: DemoNode) -> None:
        """Tell the keys' loop of every process that ended without being unplugged."""
        while True:
            await node.went_up.wait()
            await node.ended()
            if node.went_up.is_set():
                node.went_up.clear()
                self._queue.put_nowait(node)

    # --- addresses -------------------------------------------------------------------------------

    async def _addresses(self) -> None:
        screen, room = self._screen, self._room
        screen.title("Open in a browser (each link works once, for 10 minutes)")
        links = {n.name: await n.login_link() for n in (room.laptop, room.friend) if n.is_up}
        for label, node in (("first", room.laptop), ("friend", room.friend)):
            if node.is_up:
                screen.link(label, links[node.name])
        tunnel = ssh_line(os.environ, room.nodes)
        if tunnel:
            screen.title("From the machine that you sit at, first")
            screen.line(tunnel)
        screen.facts(
            {
                "act": "addresses",
                "room_id": room.room_id,
                "tunnel": tunnel,
                "links": links,
                "nodes": [
                    {"name": n.name, "url": n.url, "home": str(n.home), "pid": n.pid}
                    for n in room.nodes
                    if n.is_up
                ],
            }
        )


def ssh_line(environ: Mapping[str, str], nodes: Sequence[DemoNode]) -> str:
    """The command that brings the ports to the machine one came from; "" where one is there."""
    parts = environ.get("SSH_CONNECTION", "").split()
    if len(parts) != 4:
        return ""
    _there, _from, here, port = parts
    tunnels = " ".join(f"-L {node.port}:{LOOPBACK}:{node.port}" for node in nodes)
    at_port = "" if port == SSH_PORT else f"-p {port} "
    return f"ssh {at_port}{tunnels} {getpass.getuser()}@{here}"
