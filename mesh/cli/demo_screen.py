"""How the demo looks: one short line per thing that happens, in columns, calm.

It is plain ASCII of its own and fits 80 columns; colour only underlines what words say already,
and is left out where the terminal has none (NO_COLOR, a pipe). Links are never broken. With
`--json` each line is one JSON value instead, for programs that drive the demo.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mesh.cli.terminal import Terminal
from mesh.cli.visible import one_line

if TYPE_CHECKING:
    from rich.console import Console

WIDTH_MAX: Final = 100
NAME_WIDTH: Final = 9
NUMBER_WIDTH: Final = 3
WHAT_WIDTH: Final = 46
THROUGH_WIDTH: Final = 15
TOOK_WIDTH: Final = 6
OK_WIDTH: Final = 4
WIDTH_MIN: Final = NUMBER_WIDTH + WHAT_WIDTH + THROUGH_WIDTH + TOOK_WIDTH + OK_WIDTH + 4
ALL: Final = 3

assert WIDTH_MIN <= 80, "the table fits where a terminal has its usual width"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One check: what must hold, through whose surface it was looked at, and how that went.

    `ok` is None where it was not reached. `detail` says what was seen, or what went wrong.
    """

    number: int
    what: str
    through: tuple[str, ...]
    took_ms: int
    ok: bool | None
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        """The row under --json."""
        return {
            "step": self.number,
            "what": self.what,
            "through": list(self.through),
            "ms": self.took_ms,
            "ok": self.ok,
            "detail": self.detail,
        }


class Screen:
    """Prints the demo on a terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._console: Console | None = None

    def title(self, text: str) -> None:
        """What begins now."""
        self._print(f"\n{text}" if self._console else text, "bold")

    def happened(self, act: str, node: str, text: str, **more: Any) -> None:
        """One thing that happened at one machine. `act` and `more` are for programs."""
        if self.terminal.json:
            self.terminal.value({"act": act, "node": node, "text": text, **more})
        self._print(f"  {node:<{NAME_WIDTH}} {text}", hanging=NAME_WIDTH + 3, lead=node)

    def note(self, text: str, style: str = "") -> None:
        """A remark."""
        self._print(f"  {text}", style, hanging=2)

    def link(self, label: str, link: str) -> None:
        """An address to be copied, whole, on a line of its own."""
        self.line(f"{label:<{NAME_WIDTH}} {link}")

    def line(self, text: str) -> None:
        """Something to be copied: never broken, however long it is."""
        self.terminal.line(f"  {text}")

    def fields(self, pairs: Mapping[str, str]) -> None:
        """Keys, or anything else that has a short name and a sentence."""
        width = max(map(len, pairs))
        for name, text in pairs.items():
            self._print(f"  {name:<{width}}  {text}", hanging=width + 4, lead=name)

    def facts(self, value: Mapping[str, Any]) -> None:
        """One value for programs; nothing for people."""
        if self.terminal.json:
            self.terminal.value(dict(value))

    # --- the table of the checks ---------------------------------------------------------------

    def head(self) -> None:
        """The head of the table."""
        self._print(_columns("", "what must hold", "seen through", "ms", "ok"), "bold")

    def row(self, row: Row) -> None:
        """One row, as soon as it is known."""
        if self.terminal.json:
            return
        assert len(row.what) <= WHAT_WIDTH, row.what
        verdict = {True: "yes", False: "NO", None: "-"}[row.ok]
        took = str(row.took_ms) if row.ok is not None else ""
        through = ", ".join(row.through) if len(row.through) < ALL else "all three"
        style = {True: "", False: "bold red", None: "dim"}[row.ok]
        self._print(_columns(str(row.number), row.what, through, took, verdict), style)
        if row.ok is False:
            self._print(f"    {row.detail}", style, hanging=4)

    def verdict(self, rows: Sequence[Row], took_ms: int, next: Sequence[str]) -> None:
        """The last line: whether all of it holds, and what to do where it does not."""
        ok = all(row.ok for row in rows)
        if self.terminal.json:
            steps = [row.to_json() for row in rows]
            self.terminal.value({"ok": ok, "ms": took_ms, "steps": steps, "next": list(next)})
            return
        held = sum(row.ok is True for row in rows)
        words = "All" if ok else "Not all"
        self._print(
            f"\n{words} of it holds: {held} of {len(rows)} steps, {took_ms / 1_000:.1f} s",
            "bold green" if ok else "bold red",
        )
        for text in next:
            self.note(text)

    def _print(self, text: str, style: str = "", *, hanging: int = 0, lead: str = "") -> None:
        """One paragraph, wrapped with a hanging indent; `lead` is set off by its weight."""
        if self.terminal.json:
            return
        # Imported here: rich takes longer to import than most commands take to run.
        from rich.text import Text

        console = self._rich()
        width = max(min(console.width, WIDTH_MAX), WIDTH_MIN)
        for line in _wrapped(text, width, " " * hanging):
            shown = Text(line, style=style)
            if lead:
                at = line.index(lead)
                shown.stylize("bold cyan", at, at + len(lead))
                lead = ""
            with console.capture() as captured:
                console.print(shown, soft_wrap=True)
            self.terminal.line(captured.get(), end="")

    def _rich(self) -> "Console":
        if self._console is None:
            from rich.console import Console

            self._console = Console(highlight=False, emoji=False, markup=False)
        return self._console


def _columns(number: str, what: str, through: str, took: str, ok: str) -> str:
    return (
        f"{number:>{NUMBER_WIDTH}} {what:<{WHAT_WIDTH}} {through:<{THROUGH_WIDTH}} "
        f"{took:>{TOOK_WIDTH}} {ok:>{OK_WIDTH}}"
    )


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most `width`, later ones behind `indent`. Strangers' text becomes visible."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += textwrap.wrap(
            one_line(paragraph, 2_000),
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return lines
