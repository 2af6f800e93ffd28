"""`roommesh config show`: the effective settings, each with its origin."""

import os

import click

from mesh import config
from mesh.cli.terminal import Terminal


@click.group(help="Settings and where they come from.")
def command() -> None:
    """Group of `config`."""


@command.command(help="All settings, their values and where each comes from.")
@click.pass_obj
def show(terminal: Terminal) -> None:
    """Needs no node. Secrets are masked."""
    home = config.home_of(terminal.home, os.environ)
    rows = config.shown(config.choose(home, {}, os.environ))
    if terminal.json:
        terminal.value({"home": str(home), "file": str(home / config.FILE_NAME), "settings": rows})
        return
    terminal.line(f"home  {home}")
    terminal.line(f"file  {home / config.FILE_NAME}")
    terminal.line()
    terminal.table(
        ("setting", "value", "from", "meaning"),
        [(row["name"], _plain(row["value"]), row["origin"], row["doc"]) for row in rows],
        "No settings.",
    )


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, "") else str(value)
