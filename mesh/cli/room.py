"""`roommesh room`: rooms. Writing and reading are in `room_talk`."""

from typing import Any

import click

from mesh.cli import find, room_talk
from mesh.cli.asking import ask
from mesh.cli.prompt import confirm
from mesh.cli.spans import local_time
from mesh.cli.terminal import Terminal, short_id
from mesh.cli.visible import one_line
from mesh.client import Connection


@click.group(help="Rooms: make, list, write, read.")
def command() -> None:
    """Group of `room`."""


command.add_command(room_talk.send)
command.add_command(room_talk.log)


@command.command(help="Make a room on this node.")
@click.argument("name")
@click.option("--with", "profiles", multiple=True, metavar="PROFILE", help="Seat this agent.")
@click.pass_obj
def create(terminal: Terminal, name: str, profiles: tuple[str, ...]) -> None:
    """Prints the room's id."""
    members = [{"profile": profile} for profile in profiles]
    room = ask(terminal, lambda node: node.rooms.create(name, members=members))
    if terminal.json:
        terminal.value({"room": room})
    terminal.line(room["room_id"])


@command.command("list", help="All rooms, newest activity first.")
@click.pass_obj
def list_rooms(terminal: Terminal) -> None:
    """Name, id, where it is hosted."""
    rooms = ask(terminal, lambda node: node.rooms.list())
    if terminal.json:
        terminal.value({"rooms": list(rooms)})
    terminal.table(
        ("room", "id", "members", "events", "last", "hosted", "you are"),
        [
            (
                room["name"],
                short_id(room["room_id"]),
                room["members"],
                room["latest_seq"],
                local_time(room["updated_at"]),
                "elsewhere" if room["copy"] else "here",
                "closed" if room["disbanded_at"] else room["role"] or "-",
            )
            for room in rooms
        ],
        "No rooms. Make one: roommesh room create NAME",
    )


@command.command(help="One room.")
@click.argument("room")
@click.pass_obj
def show(terminal: Terminal, room: str) -> None:
    """Where it is hosted, what it allows, what waits."""
    state = ask(terminal, lambda node: state_of(node, room))
    if terminal.json:
        terminal.value(state)
    found, authority = state["room"], state["authority"]
    terminal.fields(
        {
            "room": found["name"],
            "id": found["room_id"],
            "members": found["members"],
            "events": state["latest_seq"],
            "hosted by": f"{authority['gateway_id']} ({authority['link']})",
            "you are": found["role"] or "-",
            "policy": ", ".join(f"{name} {value}" for name, value in state["policy"].items()),
            "answering": ", ".join(turn["state"] for turn in state["turns"]) or "nobody",
            "made": local_time(found["created_at"]),
            "closed": local_time(found["disbanded_at"]),
        }
    )
    for queued in state["outbox"]:
        terminal.line(f"waiting  {one_line(queued['text'], 100)} ({queued['state']})")


@command.command(help="Who is in a room.")
@click.argument("room")
@click.pass_obj
def members(terminal: Terminal, room: str) -> None:
    """Handles, installs, presence."""
    state = ask(terminal, lambda node: state_of(node, room))
    rows = [row for row in state["members"] if row["presence"] != "left"]
    if terminal.json:
        terminal.value({"members": rows})
    terminal.table(
        ("handle", "name", "", "on", "presence", "answering", "lent until"),
        [
            (
                f"@{row['handle']}",
                row["display_name"],
                row["role"] if row["kind"] == "person" else "agent",
                row["install_name"],
                _presence(row),
                row["turn"]["state"] if row["turn"] else "-",
                local_time(row["lent"]["until"]) if row["lent"] else "-",
            )
            for row in rows
        ],
        "Nobody.",
    )


@command.command(help="Give a room another name.")
@click.argument("room")
@click.argument("name")
@click.pass_obj
def rename(terminal: Terminal, room: str, name: str) -> None:
    """Owner."""
    _control(terminal, room, lambda node, room_id: node.rooms.rename(room_id, name))


@command.command(help="Leave a room, with your agents.")
@click.argument("room")
@click.pass_obj
def leave(terminal: Terminal, room: str) -> None:
    """The room goes on without you."""
    _control(terminal, room, lambda node, room_id: node.rooms.leave(room_id))


@command.command(help="Close a room for ever.")
@click.argument("room")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def disband(terminal: Terminal, room: str, yes: bool) -> None:
    """Owner. Nothing can be written afterwards."""
    found = ask(terminal, lambda node: state_of(node, room))["room"]
    if not yes and not confirm(terminal, f"Close {one_line(found['name'], 80)!r} for ever?"):
        raise click.Abort
    _control(terminal, found["room_id"], lambda node, room_id: node.rooms.disband(room_id))


@command.command("stop-turns", help="Stop the agents that are answering.")
@click.argument("room")
@click.option("--turn", "turn_id", help="Only this turn.")
@click.pass_obj
def stop_turns(terminal: Terminal, room: str, turn_id: str | None) -> None:
    """All open turns of a room, or one."""

    async def stopped(node: Connection) -> list[str]:
        room_id = find.room(await node.rooms.list(), room)["room_id"]
        return list(await node.rooms.stop_turns(room_id, turn_id))

    stopping = ask(terminal, stopped)
    if terminal.json:
        terminal.value({"stopping": stopping})
    terminal.line(f"stopping: {len(stopping)}")


@command.command(help="Seat an agent of this node.")
@click.argument("room")
@click.argument("profile")
@click.option("--handle", help="How the room calls it.")
@click.pass_obj
def add(terminal: Terminal, room: str, profile: str, handle: str | None) -> None:
    """The agent joins as a member."""
    _control(
        terminal, room, lambda node, room_id: node.rooms.add_member(room_id, profile, handle=handle)
    )


@command.command(help="Remove a member.")
@click.argument("room")
@click.argument("member")
@click.pass_obj
def remove(terminal: Terminal, room: str, member: str) -> None:
    """The owner may remove anyone, every install its own members."""

    async def removed(node: Connection, room_id: str) -> find.Row:
        found = find.member((await node.rooms.state(room_id))["members"], member)
        return await node.rooms.remove_member(room_id, found["member_id"])

    _control(terminal, room, removed)


async def state_of(node: Connection, room: str) -> dict[str, Any]:
    """The state of a room by name or id."""
    return await node.rooms.state(find.room(await node.rooms.list(), room)["room_id"])


def _control(terminal: Terminal, room: str, job: Any) -> None:
    """A control call by room name, and what became of it."""

    async def done(node: Connection) -> find.Row:
        answer: find.Row = await job(node, find.room(await node.rooms.list(), room)["room_id"])
        return answer

    answer = ask(terminal, done)
    if terminal.json:
        terminal.value(answer)
    if answer.get("accepted"):
        terminal.line("done")
    else:
        terminal.note("Queued: it is delivered when the machine that hosts the room is back.")


def _presence(row: find.Row) -> str:
    reason = row.get("reason")
    return f"{row['presence']} ({reason})" if reason else str(row["presence"])
