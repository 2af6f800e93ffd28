"""`roommesh peer`: other installs."""

import click

from mesh.cli import find
from mesh.cli.asking import ask
from mesh.cli.spans import local_time
from mesh.cli.terminal import Terminal, short_id, shown_state
from mesh.client import Connection


@click.group(help="Other installs this node has met.")
def command() -> None:
    """Group of `peer`."""


@command.command("list", help="All of them, with their links.")
@click.pass_obj
def list_peers(terminal: Terminal) -> None:
    """Name, id, link."""
    peers = ask(terminal, lambda node: node.peers.list())
    if terminal.json:
        terminal.value({"peers": list(peers)})
    terminal.table(
        ("name", "install", "link", "since", "rooms"),
        [
            (
                peer["name"],
                short_id(peer["install_id"]),
                shown_state({**peer, "state": peer["link"]}),
                local_time(peer["since_ms"]),
                len(peer["rooms"]),
            )
            for peer in peers
        ],
        "No other install has been met yet.",
    )


@command.command(help="One of them.")
@click.argument("peer")
@click.pass_obj
def show(terminal: Terminal, peer: str) -> None:
    """Everything that is known."""
    found = ask(terminal, lambda node: _found(node, peer))
    if terminal.json:
        terminal.value(found)
    terminal.fields(
        {
            "name": found["name"],
            "install": found["install_id"],
            "link": shown_state({**found, "state": found["link"]}),
            "since": local_time(found["since_ms"]),
            "addresses": ", ".join(found["addresses"]) or "-",
            "rooms": ", ".join(map(str, found["rooms"])) or "-",
        }
    )


@command.command(help="The round trip over its link.")
@click.argument("peer")
@click.pass_obj
def ping(terminal: Terminal, peer: str) -> None:
    """Measure once."""

    async def measured(node: Connection) -> tuple[str, int]:
        found = find.peer(await node.peers.list(), peer)
        return found["install_id"], await node.peers.ping(found["install_id"])

    install_id, rtt_us = ask(terminal, measured)
    if terminal.json:
        terminal.value({"install_id": install_id, "rtt_us": rtt_us})
    terminal.line(f"{rtt_us / 1000:.2f} ms")


async def _found(node: Connection, peer: str) -> find.Row:
    found = find.peer(await node.peers.list(), peer)
    return await node.peers.show(found["install_id"])
