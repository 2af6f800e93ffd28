"""`roommesh join LINK`: look at an invitation, agree, join, lend.

With no node running it starts one in this terminal, after consent, and stays it. Nothing is
joined and nothing is lent before the person has seen who invites to what, and on which terms.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

import click

from mesh import config
from mesh.cli import exit_codes
from mesh.cli.asking import ask, failed
from mesh.cli.failure import Failed
from mesh.cli.prompt import confirm, confirm_live
from mesh.cli.spans import instant_ms, local_time
from mesh.cli.terminal import Terminal
from mesh.cli.up import announce
from mesh.cli.visible import one_line
from mesh.client import ClientError, Connection, OutcomeUnknown, connect
from mesh.client.invitations import new_request_id
from mesh.core.invitation import decode_link

RECEIPT_S: Final = 60.0
RECEIPT_LOOK_S: Final = 0.3
PERMISSIONS: Final = ("dispatch", "stop", "status")

Confirm = Callable[[str], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the person wants: the link, who they are there, what they lend."""

    link: str
    display_name: str | None
    lend: list[dict[str, Any]]
    yes: bool


@click.command(help="Join a room by its invitation link.")
@click.argument("link")
@click.option("--lend", multiple=True, metavar="PROFILE", help="Lend this agent to the room.")
@click.option(
    "--allow",
    default="dispatch,stop,status",
    show_default=True,
    metavar="LIST",
    help="What the room may do with it.",
)
@click.option(
    "--until",
    default="7d",
    show_default=True,
    metavar="DATE",
    help="How long it is lent: 7d, or a date.",
)
@click.option("--as", "display_name", metavar="NAME", help="What the room calls you.")
@click.option("--listen", metavar="HOST:PORT", help="For the node that this may start.")
@click.option("--yes", is_flag=True, help="Agree without being asked.")
@click.pass_obj
def command(
    terminal: Terminal,
    link: str,
    lend: tuple[str, ...],
    allow: str,
    until: str,
    display_name: str | None,
    listen: str | None,
    yes: bool,
) -> int:
    """Joins, or refuses with the reason. Exit status 4 when the person declines."""
    decode_link(link)  # a damaged link is said before anything is started
    until_ms = instant_ms(until, time.time_ns() // 1_000_000)
    permissions = read_permissions(allow)
    terms = [{"profile": name, "permissions": permissions, "until": until_ms} for name in lend]
    plan = Plan(link=link, display_name=display_name, lend=terms, yes=yes)

    async def asked(question: str) -> bool:
        return confirm(terminal, question)

    try:
        receipt = ask(terminal, lambda node: join(terminal, node, plan, asked))
    except Failed as failure:
        if failure.reason != "unreachable":
            raise
        return _join_here(terminal, plan, listen)
    return _ended(terminal, receipt)


async def join(
    terminal: Terminal, node: Connection, plan: Plan, asked: Confirm
) -> dict[str, Any] | None:
    """Preview, consent, accept, and wait for the receipt; None when the person declined.

    Raises:
        Failed: the invitation does not count, or the outcome is not known.
    """
    preview = await node.invitations.preview(plan.link)
    _show_preview(terminal, preview, plan)
    if not plan.yes and not await asked("Join?"):
        return None
    request_id = new_request_id()
    try:
        receipt = await node.invitations.accept(
            plan.link, request_id=request_id, display_name=plan.display_name, lend=plan.lend
        )
    except OutcomeUnknown:
        receipt = await node.invitations.operation(request_id)
    receipt = await _finished(node, receipt)
    if receipt["status"] != "applied":
        reason = receipt["reason"] or ("timeout" if receipt["status"] == "pending" else "uncertain")
        raise Failed(reason, receipt["message"] or f"The outcome is {receipt['status']}.")
    terminal.line(f"You are in {one_line(preview['room_name'], 80)}.")
    terminal.line(f"  roommesh room send {preview['room_id']} 'hello'")
    return receipt


async def _finished(node: Connection, receipt: dict[str, Any]) -> dict[str, Any]:
    """The receipt once it is not pending any more, or as it is when the wait is over."""
    end = asyncio.get_running_loop().time() + RECEIPT_S
    while receipt["status"] == "pending" and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(RECEIPT_LOOK_S)
        receipt = await node.invitations.operation(receipt["request_id"])
    return receipt


def _show_preview(terminal: Terminal, preview: dict[str, Any], plan: Plan) -> None:
    inviter = preview["inviter"]
    terminal.fields(
        {
            "room": preview["room_name"],
            "from": f"{inviter['display_name']} on {inviter['install_name']}",
            "install": inviter["install_id"],
            "you would be": preview["role"],
            "there now": _names(preview["members"]),
            "counts until": local_time(preview["expires_at"]),
        }
    )
    if preview["already_member"]:
        terminal.line("You are in this room already.")
    for loan in plan.lend:
        allowed = ", ".join(loan["permissions"])
        terminal.line(f"You lend {loan['profile']} until {local_time(loan['until'])}: {allowed}")


def _names(members: Any) -> str:
    """Who is there, as far as the preview tells."""
    if not isinstance(members, list):
        return str(members)
    shown = ", ".join(one_line(one["display_name"], 40) for one in members[:12])
    return shown + (f" and {len(members) - 12} more" if len(members) > 12 else "")


def _ended(terminal: Terminal, receipt: dict[str, Any] | None) -> int:
    if receipt is None:
        terminal.note("Nothing was joined.")
        return exit_codes.REFUSED
    if terminal.json:
        terminal.value(receipt)
    return exit_codes.OK


def _join_here(terminal: Terminal, plan: Plan, listen: str | None) -> int:
    """No node runs: be it, in this terminal, from before the preview until Ctrl-C."""
    home = config.home_of(terminal.home, os.environ)
    flags: dict[str, object] = {"listen": listen} if listen else {}
    settings = config.read_settings(home, flags, os.environ)
    terminal.note(f"No node is running in {home}: this terminal becomes it.")
    if not plan.yes and not confirm(terminal, "Start a node here and look at the invitation?"):
        return _ended(terminal, None)
    # Imported here: with a running node this command needs none of its own.
    from mesh import node

    ended: list[int | Failed] = []

    async def joining(ready: Any) -> None:
        try:
            async with connect(url=ready.url, token=ready.token) as client:
                receipt = await join(
                    terminal, client, plan, lambda text: confirm_live(terminal, text)
                )
                ended.append(_ended(terminal, receipt))
        except ClientError as error:
            ended.append(failed(error))
        except Failed as error:
            ended.append(error)

    async def on_ready(ready: Any) -> None:
        await _until_interrupted(joining(ready), ready.stop)
        if ended != [exit_codes.OK]:
            ready.stop()
            return
        await announce(terminal, ready, show_secret=sys.stdout.isatty())
        terminal.line(
            "This terminal runs your node: Ctrl-C stops it, `roommesh up` starts it again."
        )

    node.run(settings, on_ready)
    if not ended:  # Ctrl-C before the answer
        raise click.Abort
    if isinstance(ended[0], Failed):
        raise ended[0]
    return ended[0]


async def _until_interrupted(job: Coroutine[Any, Any, None], stop: Callable[[], None]) -> None:
    """Run `job`; a signal cancels it, where the node's own handler would wait for its end."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(job)
        for number in signals:
            loop.add_signal_handler(number, task.cancel)
    for number in signals:
        loop.add_signal_handler(number, stop)


def read_permissions(text: str) -> list[str]:
    """A list of permissions typed with commas.

    Raises:
        Failed: reason `invalid_params`.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in words if word not in PERMISSIONS]
    if unknown or not words:
        raise Failed(
            "invalid_params",
            f"{(unknown or [text])[0][:40]!r} is no permission.",
            f"Choose from {', '.join(PERMISSIONS)}.",
        )
    return words
