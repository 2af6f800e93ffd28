"""`roommesh version`."""

from importlib import metadata

import click

from mesh.cli.terminal import Terminal


@click.command(help="The version of roommesh.")
@click.pass_obj
def command(terminal: Terminal) -> None:
    """Print the installed version; needs no node."""
    version = metadata.version("roommesh")
    if terminal.json:
        terminal.value({"version": version})
    terminal.line(version)
