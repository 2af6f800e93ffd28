"""`roommesh profile`: agents of this node.

Options of a backend are `--option name=value`. A key is never typed here: an option names the
variable or the file in which it lies (attack 56).
"""

import asyncio
from typing import Any, Final

import click

from mesh.cli.asking import ask
from mesh.cli.failure import Failed
from mesh.cli.terminal import Terminal, shown_state
from mesh.client import Connection

START_S: Final = 5.0
START_LOOK_S: Final = 0.05


@click.group(help="Agents of this node.")
def command() -> None:
    """Group of `profile`."""


@command.command("list", help="All profiles.")
@click.pass_obj
def list_profiles(terminal: Terminal) -> None:
    """Name, kind, state."""
    profiles = ask(terminal, lambda node: node.profiles.list())
    if terminal.json:
        terminal.value({"profiles": list(profiles)})
    terminal.table(
        ("profile", "kind", "state", "rooms", "what it does"),
        [
            (row["name"], row["backend"], shown_state(row), len(row["rooms"]), row["description"])
            for row in profiles
        ],
        "No profiles. `roommesh profile add NAME --backend openai ...`",
    )


@command.command(help="One profile.")
@click.argument("profile")
@click.pass_obj
def show(terminal: Terminal, profile: str) -> None:
    """Its state and its catalog."""
    row = ask(terminal, lambda node: node.profiles.show(profile))
    if terminal.json:
        terminal.value(row)
    terminal.fields(
        {
            "profile": row["name"],
            "shown as": row["display_name"],
            "what it does": row["description"] or "-",
            "kind": row["backend"],
            "state": shown_state(row),
            "catalog": row["catalog_digest"],
            "rooms": len(row["rooms"]),
        }
    )


@command.command(help="Add an agent.")
@click.argument("name")
@click.option("--backend", required=True, help="builtin, openai, ...")
@click.option("--display-name", help="How rooms show it.")
@click.option("--description", help="What it does.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the backend, for example base_url=http://127.0.0.1:11434/v1",
)
@click.pass_obj
def add(
    terminal: Terminal,
    name: str,
    backend: str,
    display_name: str | None,
    description: str | None,
    options: tuple[str, ...],
) -> None:
    """Writes its file in the home, and starts it."""
    config: dict[str, Any] = {"name": name, "backend": backend}
    if display_name:
        config["display_name"] = display_name
    if description:
        config["description"] = description
    if options:
        config["options"] = dict(map(read_option, options))
    row = ask(terminal, lambda node: _started(node, config))
    if terminal.json:
        terminal.value(row)
    terminal.line(f"{row['name']}: {shown_state(row)}")
    if row["state"] == "failed":
        terminal.note(f"Run `roommesh profile test {row['name']}`.")


@command.command(help="Ask its backend something small.")
@click.argument("profile")
@click.pass_obj
def test(terminal: Terminal, profile: str) -> None:
    """Exit status 1 when it does not answer."""
    row = ask(terminal, lambda node: node.profiles.test(profile))
    if not row["ok"]:
        raise Failed(row["reason"] or "backend_failed", row["message"], row["next"])
    if terminal.json:
        terminal.value(row)
    terminal.line(f"{profile} answers ({row['latency_ms']} ms)")


@command.command(help="Take an agent away.")
@click.argument("profile")
@click.pass_obj
def remove(terminal: Terminal, profile: str) -> None:
    """It leaves its rooms."""
    removed = ask(terminal, lambda node: node.profiles.remove(profile))
    if not removed:
        raise Failed("not_found", f"There is no profile {profile[:40]!r}.")
    if terminal.json:
        terminal.value({"removed": True})
    terminal.line(f"{profile} is removed")


async def _started(node: Connection, config: dict[str, Any]) -> dict[str, Any]:
    """Add it, and wait a moment to see whether it starts."""
    row = await node.profiles.add(config)
    end = asyncio.get_running_loop().time() + START_S
    while row["state"] == "starting" and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(START_LOOK_S)
        row = await node.profiles.show(row["name"])
    return row


def read_option(text: str) -> tuple[str, str | int | bool]:
    """`name=value`; whole numbers, `true` and `false` become what they are.

    Raises:
        Failed: reason `invalid_params`.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Failed("invalid_params", f"{text[:40]!r} is not NAME=VALUE.")
    if value in {"true", "false"}:
        return name, value == "true"
    digits = value.removeprefix("-")
    return name, int(value) if digits.isdecimal() and len(digits) <= 15 else value
