"""The command's entry: options that hold everywhere, commands found by name, errors made exits.

No traceback ever reaches a person: a refusal is printed with its reason and next step, Ctrl-C ends
with 130, and a fault of ours is one line that says how to see more.
"""

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import click

from mesh.cli import exit_codes
from mesh.cli.failure import Failed
from mesh.cli.terminal import Terminal
from mesh.core.errors import MeshError

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "up": ("up", "Run the node here, in the foreground."),
    "open": ("open_page", "Open the page with a one-time link."),
    "status": ("status", "How the running node stands."),
    "demo": ("demo", "Three nodes on this machine, to play with."),
    "room": ("room", "Rooms: make, list, write, read."),
    "invite": ("invite", "Invitations to your rooms."),
    "join": ("join", "Join a room by its invitation link."),
    "peer": ("peer", "Other installs this node has met."),
    "grant": ("grant", "What is lent, and taking it back."),
    "profile": ("profile", "Agents of this node."),
    "config": ("settings", "Settings and where they come from."),
    "version": ("version", "The version of roommesh."),
}
"""Name -> module in mesh.cli whose attribute `command` it is, and one line of help."""

DEBUG: Final = "ROOMMESH_TRACEBACK"


class Commands(click.Group):
    """Imports a command's module when it is called; `--help` alone imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which a person meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None for click to say so."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"mesh.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--home", type=click.Path(path_type=Path), help="The folder of this install.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, errors too.")
@click.pass_context
def command(ctx: click.Context, home: Path | None, as_json: bool) -> None:
    """Rooms in which people and agents from several machines work together."""
    ctx.obj = Terminal(home=home, json=as_json)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status."""
    arguments = hoisted(arguments)
    terminal = Terminal(home=None, json="--json" in arguments[:1])
    try:
        found: Any = command.main(args=arguments, prog_name="roommesh", standalone_mode=False)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo(err=True)
        return exit_codes.INTERRUPTED
    except click.UsageError as error:
        return _usage(terminal, error)
    except click.ClickException as error:
        terminal.error("invalid_params", error.format_message(), "")
        return exit_codes.USAGE
    except (MeshError, Failed) as error:
        terminal.error(error.reason, error.message, error.next)
        return exit_codes.of_reason(error.reason)
    except BrokenPipeError:
        # `roommesh room log | head` has seen enough; nothing is left to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.OK
    return found if isinstance(found, int) else exit_codes.OK


def hoisted(arguments: Sequence[str]) -> list[str]:
    """The line with `--json` and `--home DIR` in front, where click takes them.

    People type them behind the command (`roommesh up --home DIR`); nothing behind `--` is moved.
    """
    front: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == "--json":
            front.insert(0, word)
        elif word.startswith("--home="):
            front.append(word)
        elif word == "--home":
            front += [word, *[value for value in [next(words, None)] if value is not None]]
        else:
            rest.append(word)
    return front + rest


def main() -> None:
    """The console script."""
    sys.excepthook = _fault
    sys.exit(run(sys.argv[1:]))


def _usage(terminal: Terminal, error: click.UsageError) -> int:
    help_ = f"Try `{error.ctx.command_path} --help`." if error.ctx else "Try `roommesh --help`."
    terminal.error("invalid_params", error.format_message(), help_)
    return exit_codes.USAGE


def _fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A fault of ours as one line. Python then exits with status 1."""
    if os.environ.get(DEBUG):
        sys.__excepthook__(kind, error, trace)
        return
    Terminal(home=None, json="--json" in sys.argv).error(
        "internal",
        f"The command failed: {kind.__name__}: {error}",
        f"Set {DEBUG}=1 to see where.",
    )


if __name__ == "__main__":
    main()
