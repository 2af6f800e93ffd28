"""`roommesh room send` and `room log`: writing, waiting for the answers, reading along."""

import asyncio
import sys
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Final

import click

from mesh.cli import exit_codes, find
from mesh.cli.answers import Answers
from mesh.cli.asking import ask
from mesh.cli.failure import Failed
from mesh.cli.speech import Speech
from mesh.cli.terminal import Terminal
from mesh.cli.transcript import is_turn, shown_event
from mesh.cli.visible import one_line
from mesh.client import Connection, RoomEvent, RoomGap
from mesh.client.rooms import new_event_id

QUIET_S: Final = 0.5
"""After the last answer: how long another agent may take to be asked by it."""
LOG_PAGE: Final = 200


@click.command(help="Write to a room. TEXT of - (or none) is read from standard input.")
@click.argument("room")
@click.argument("text", required=False, default="-")
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0, 86_400),
    metavar="SECONDS",
    help="Wait for the answers and print them as they are written.",
)
@click.pass_obj
def send(terminal: Terminal, room: str, text: str, wait_s: float | None) -> int:
    """Exit status 3 when answers are still being written at the end of the wait."""
    if text == "-":
        text = sys.stdin.read().rstrip("\n")
    if not text.strip():
        raise Failed("invalid_params", "There is nothing to send.", "Give a text.")
    return ask(terminal, lambda node: _send(terminal, node, room, text, wait_s))


async def _send(
    terminal: Terminal, node: Connection, room: str, text: str, wait_s: float | None
) -> int:
    room_id = find.room(await node.rooms.list(), room)["room_id"]
    state = await node.rooms.state(room_id)
    event_id = new_event_id()
    sent = await node.rooms.send(room_id, text, event_id=event_id)
    if not sent.get("accepted"):
        terminal.note("Queued: it is delivered when the machine that hosts the room is back.")
    if wait_s is None:
        if terminal.json:
            terminal.value(sent)
        elif sent.get("accepted"):
            terminal.line(f"sent ({sent['event']['seq']})")
        return exit_codes.OK
    answers = Answers(event_id)
    speech = Speech(terminal, names_of(state))
    await _follow(node, room_id, state["latest_seq"], answers, speech, wait_s)
    speech.end()
    return _ended(terminal, sent, answers, speech, wait_s)


async def _follow(
    node: Connection,
    room_id: str,
    since_seq: int,
    answers: Answers,
    speech: Speech,
    wait_s: float,
) -> None:
    """Print pieces until everything is answered and quiet, or the wait is over."""
    loop = asyncio.get_running_loop()
    end = loop.time() + wait_s
    try:
        async with (
            asyncio.timeout_at(end) as limit,
            aclosing(node.subscribe(room_id, since_seq)) as reader,
        ):
            async for item in reader:
                for piece in answers.take(item):
                    speech.say(piece)
                quiet = loop.time() + QUIET_S if answers.settled else end
                limit.reschedule(min(end, quiet))
    except TimeoutError:
        return


def _ended(
    terminal: Terminal, sent: dict[str, Any], answers: Answers, speech: Speech, wait_s: float
) -> int:
    if terminal.json:
        ended = [{**one, "handle": speech.handle(one["member_id"])} for one in answers.ended]
        terminal.value({**sent, "answers": ended, "open": sorted(answers.open)})
    for failure in answers.failures:
        why = failure["message"] or failure["reason"]
        terminal.note(
            f"@{speech.handle(failure['member_id'])}: {failure['state']}: {one_line(why)}"
        )
    if not answers.settled:
        terminal.note(f"Not everything was answered within {wait_s:g} s.")
        return exit_codes.TIMED_OUT
    return exit_codes.ERROR if answers.failures else exit_codes.OK


@click.command(help="Read a room's log.")
@click.argument("room")
@click.option("--since", "since_seq", type=click.IntRange(0), help="Only after this seq.")
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="The last so many."
)
@click.option("--follow", is_flag=True, help="Go on with what comes.")
@click.option("--all", "everything", is_flag=True, help="Also when agents were asked and began.")
@click.pass_obj
def log(
    terminal: Terminal, room: str, since_seq: int | None, limit: int, follow: bool, everything: bool
) -> None:
    """With --json one event a line."""
    ask(
        terminal,
        lambda node: _log(terminal, node, room, (since_seq, limit, follow, everything)),
    )


async def _log(
    terminal: Terminal, node: Connection, room: str, what: tuple[int | None, int, bool, bool]
) -> None:
    since_seq, limit, follow, everything = what
    room_id = find.room(await node.rooms.list(), room)["room_id"]
    state = await node.rooms.state(room_id)
    names = dict(names_of(state))
    latest_seq = int(state["latest_seq"])
    cursor = max(0, latest_seq - limit) if since_seq is None else since_seq
    left = limit

    def show(event: dict[str, Any]) -> None:
        if event["kind"] == "member.joined":
            seat, actor = event["payload"]["member"], event["actor"]
            # The room made the handle unique; the seat shows what was wished for.
            known = actor["handle"] if actor["id"] == seat["member_id"] else seat["handle"]
            names[seat["member_id"]] = known
        if terminal.json:
            terminal.value(event)
        elif everything or not is_turn(event):
            terminal.line(shown_event(event, names))

    while left > 0 and cursor < latest_seq:
        page = await node.rooms.log(room_id, since_seq=cursor, limit=min(left, LOG_PAGE))
        for event in page["events"]:
            show(event)
        cursor, left = int(page["cursor"]), left - len(page["events"])
        if not page["events"]:
            break
    if not follow:
        return
    async with aclosing(node.subscribe(room_id, cursor)) as reader:
        async for item in reader:
            if isinstance(item, RoomEvent):
                show(item.event)
            elif isinstance(item, RoomGap):
                terminal.note(f"The log begins anew at {item.latest_seq}.")


def names_of(state: Mapping[str, Any]) -> dict[str, str]:
    """Handles by member id, of all who are or were there."""
    return {row["member_id"]: row["handle"] for row in state["members"]}
