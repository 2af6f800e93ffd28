"""The only place that prints: results on stdout, notes on stderr, JSON where it was asked for.

With `--json` stdout carries JSON and nothing else, one value per line; an error is
`{"error": {"reason", "message", "next"}}` there too, so that a script reads one stream.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from mesh.cli.visible import one_line

PIPE_WIDTH: Final = 4_000
ID_CHARS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """How this run prints, and which home it is about."""

    home: Path | None
    json: bool

    def value(self, value: object) -> None:
        """One JSON value (only with --json)."""
        assert self.json
        click.echo(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def line(self, text: str = "", *, end: str = "\n") -> None:
        """Text for a person; silent under --json. Strangers' text must have passed `visible`."""
        if not self.json:
            click.echo(text, nl=False)
            click.echo(end, nl=False)
            sys.stdout.flush()

    def note(self, text: str) -> None:
        """A remark on stderr, in both modes."""
        click.echo(text, err=True)

    def fields(self, pairs: Mapping[str, object]) -> None:
        """Names and values under each other."""
        width = max((len(name) for name in pairs), default=0)
        for name, value in pairs.items():
            self.line(f"{name:<{width}}  {one_line(value, 2_000)}")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], empty: str) -> None:
        """Rows under headings, or the sentence `empty`."""
        if self.json:
            return
        if not rows:
            self.line(empty)
            return
        # Imported here: rich takes longer to import than most commands take to run.
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            # Text, not markup: a room named "[red]" is named that.
            table.add_row(*(Text(one_line(cell, 2_000)) for cell in row))
        # Into a pipe nothing is folded: one row is one line.
        width = None if sys.stdout.isatty() else PIPE_WIDTH
        console = Console(highlight=False, width=width)
        console.print(table)

    def error(self, reason: str, message: str, next: str) -> None:
        """A refusal: what happened, and what helps."""
        if self.json:
            self.value({"error": {"reason": reason, "message": message, "next": next}})
            return
        click.echo(f"roommesh: {one_line(message, 1_000)} ({one_line(reason)})", err=True)
        if next:
            click.echo(f"  {one_line(next, 1_000)}", err=True)


def short_id(full: str) -> str:
    """The beginning of an id: enough for a person, and for the command that takes it."""
    kind, mark, rest = full.partition(":" if ":" in full else "_")
    return kind + mark + rest[:ID_CHARS]


def shown_state(row: Mapping[str, Any]) -> str:
    """A state with its reason, if there is one."""
    reason = row.get("reason") or ""
    return f"{row['state']} ({reason})" if reason else str(row["state"])
