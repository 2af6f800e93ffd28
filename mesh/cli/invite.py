"""`roommesh invite`: invitations, from the link that is shown once to its end."""

import click

from mesh.cli import find
from mesh.cli.asking import ask
from mesh.cli.failure import Failed
from mesh.cli.qr import show_qr
from mesh.cli.spans import local_time, span_s
from mesh.cli.terminal import Terminal, short_id
from mesh.client import Connection


@click.group(help="Invitations to your rooms.")
def command() -> None:
    """Group of `invite`."""


@command.command(help="Make a link. It is shown once.")
@click.argument("room")
@click.option("--qr", is_flag=True, help="Show it as a QR code too.")
@click.option("--this-machine", is_flag=True, help="It is for another home on this machine.")
@click.option("--ttl", "life", metavar="TIME", help="How long it counts: 90m, 24h (default), 7d.")
@click.option("--uses", type=click.IntRange(1), help="How many may join with it (default 1).")
@click.option("--role", type=click.Choice(["member", "listener"]), help="As what they join.")
@click.pass_obj
def create(
    terminal: Terminal,
    room: str,
    qr: bool,
    this_machine: bool,
    life: str | None,
    uses: int | None,
    role: str | None,
) -> None:
    """Refuses a link that reaches nobody else, unless that is meant."""
    ttl_seconds = span_s(life) if life else None

    async def made(node: Connection) -> find.Row:
        room_id = find.room(await node.rooms.list(), room)["room_id"]
        found = await node.invitations.create(
            room_id, ttl_seconds=ttl_seconds, uses=uses, role=role
        )
        if found["reach"] == "this_machine" and not this_machine:
            await node.invitations.revoke(found["invitation_id"])
            raise Failed(
                "not_reachable",
                "Only this machine could use that link: no other can connect to this node.",
                "Run the node with `roommesh up --lan`, or say --this-machine if that is meant.",
            )
        return found

    found = ask(terminal, made)
    if terminal.json:
        terminal.value(found)
        return
    terminal.line(found["link"])
    if qr:
        show_qr(terminal, found["link"])
    terminal.note(
        f"Counts until {local_time(found['expires_at'])}. Whoever has the link can join: send it "
        "to one person. They run: roommesh join LINK"
    )


@command.command("list", help="All invitations, or those of a room.")
@click.argument("room", required=False)
@click.pass_obj
def list_invitations(terminal: Terminal, room: str | None) -> None:
    """Links are not in it: they were shown once."""

    async def found(node: Connection) -> list[find.Row]:
        room_id = find.room(await node.rooms.list(), room)["room_id"] if room else None
        return list(await node.invitations.list(room_id))

    rows = ask(terminal, found)
    if terminal.json:
        terminal.value({"invitations": rows})
    terminal.table(
        ("invitation", "room", "as", "used", "until", "state"),
        [
            (
                short_id(row["invitation_id"]),
                row["room_name"],
                row["role"],
                f"{row['used']}/{row['uses']}",
                local_time(row["expires_at"]),
                row["state"],
            )
            for row in rows
        ],
        "No invitations.",
    )


@command.command(help="One invitation and who used it.")
@click.argument("invitation")
@click.pass_obj
def show(terminal: Terminal, invitation: str) -> None:
    """Its life so far."""
    row = ask(terminal, lambda node: _found(node, invitation))
    if terminal.json:
        terminal.value(row)
    joined = [f"{one['display_name']} ({local_time(one['at'])})" for one in row["redeemed_by"]]
    terminal.fields(
        {
            "invitation": row["invitation_id"],
            "room": f"{row['room_name']} ({row['room_id']})",
            "as": row["role"],
            "from": row["issuer"]["display_name"],
            "made": local_time(row["created_at"]),
            "until": local_time(row["expires_at"]),
            "looked at": local_time(row["previewed_at"]),
            "used": f"{row['used']}/{row['uses']}",
            "joined": ", ".join(joined) or "-",
            "state": row["state"],
        }
    )


@command.command(help="End an invitation early.")
@click.argument("invitation")
@click.pass_obj
def revoke(terminal: Terminal, invitation: str) -> None:
    """Nobody can join with it any more."""

    async def revoked(node: Connection) -> find.Row:
        row = find.invitation(await node.invitations.list(), invitation)
        return await node.invitations.revoke(row["invitation_id"])

    answer = ask(terminal, revoked)
    if terminal.json:
        terminal.value(answer)
    terminal.line("revoked")


async def _found(node: Connection, invitation: str) -> find.Row:
    row = find.invitation(await node.invitations.list(), invitation)
    return await node.invitations.show(row["invitation_id"])
