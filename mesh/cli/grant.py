"""`roommesh grant`: what is lent, in both directions, and taking it back."""

import click

from mesh.cli import find
from mesh.cli.asking import ask
from mesh.cli.spans import local_time
from mesh.cli.terminal import Terminal, short_id
from mesh.client import Connection


@click.group(help="What is lent, and taking it back.")
def command() -> None:
    """Group of `grant`."""


@command.command("list", help="All grants, or those of a room.")
@click.option("--room", help="Only of this room.")
@click.pass_obj
def list_grants(terminal: Terminal, room: str | None) -> None:
    """Issued by us and held by us."""

    async def found(node: Connection) -> list[find.Row]:
        room_id = find.room(await node.rooms.list(), room)["room_id"] if room else None
        return list(await node.grants.list(room_id))

    grants = ask(terminal, found)
    if terminal.json:
        terminal.value({"grants": grants})
    terminal.table(
        ("grant", "", "agent", "room", "may", "until", "state"),
        [
            (
                short_id(row["grant_id"]),
                direction(row),
                f"@{row['handle']}",
                row["room_name"],
                ", ".join(row["permissions"]),
                local_time(row["until"]),
                row["state"],
            )
            for row in grants
        ],
        "Nothing is lent.",
    )


@command.command(help="One grant.")
@click.argument("grant")
@click.pass_obj
def show(terminal: Terminal, grant: str) -> None:
    """What it allows, to whom, until when."""

    async def found(node: Connection) -> find.Row:
        return find.grant(await node.grants.list(), grant)

    row = ask(terminal, found)
    if terminal.json:
        terminal.value(row)
    terminal.fields(
        {
            "grant": row["grant_id"],
            "direction": direction(row),
            "agent": f"@{row['handle']} ({row['profile']})",
            "room": f"{row['room_name']} ({row['room_id']})",
            "may": ", ".join(row["permissions"]),
            "runs on": row["target_install_id"],
            "asked by": row["home_install_id"],
            "issued": local_time(row["issued_at"]),
            "expires": local_time(row["expires_at"]),
            "lent until": local_time(row["until"]),
            "last used": local_time(row["last_used_at"]),
            "state": row["state"],
        }
    )


@command.command(help="Withdraw what a grant lends, now.")
@click.argument("grant")
@click.pass_obj
def revoke(terminal: Terminal, grant: str) -> None:
    """Takes a grant's id or the agent's handle."""

    async def revoked(node: Connection) -> list[str]:
        row = find.grant(await node.grants.list(), grant)
        return list(await node.grants.revoke(row["grant_id"]))

    ended = ask(terminal, revoked)
    if terminal.json:
        terminal.value({"revoked": ended})
    for grant_id in ended:
        terminal.line(f"withdrawn: {grant_id}")


def direction(row: find.Row) -> str:
    """Whose agent works for whom, seen from here."""
    if row["home_install_id"] == row["target_install_id"]:
        return "own"  # our agent in our room
    return "lent" if row["direction"] == "issued" else "borrowed"
