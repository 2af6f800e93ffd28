"""Answers of several members on one screen, each readable.

Pieces arrive mixed. One member speaks at a time: the first to begin is shown live, what others say
meanwhile is kept and shown when it is their turn. Line breaks at the end are held back until more
text follows, so that no answer ends in empty lines.
"""

from collections.abc import Mapping

from mesh.cli.answers import Piece
from mesh.cli.terminal import Terminal
from mesh.cli.visible import one_line, paragraph


class Speech:
    """Prints pieces. `names` are handles by member id."""

    def __init__(self, terminal: Terminal, names: Mapping[str, str]) -> None:
        self._terminal = terminal
        self._names = names
        self._live: str | None = None
        self._kept: dict[str, str] = {}
        self._ended: set[str] = set()
        self._breaks = 0

    def handle(self, member_id: str) -> str:
        """The member's handle, or its id for one who came later."""
        return one_line(self._names.get(member_id, member_id), 60)

    def say(self, piece: Piece) -> None:
        """Print the piece, or keep it until that member is the one who speaks."""
        speaker = piece.member_id
        if self._live not in {None, speaker}:
            self._kept[speaker] = self._kept.get(speaker, "") + piece.text
            if piece.ends:
                self._kept[speaker] += "\n"
                self._ended.add(speaker)
            return
        if self._live is None:
            self._begin(speaker)
        self._print(piece.text)
        if piece.ends:
            self._finish()

    def end(self) -> None:
        """Nothing more comes: show what was kept."""
        while self._live is not None:
            self._finish()

    def _begin(self, speaker: str) -> None:
        self._live = speaker
        self._terminal.line(f"{self.handle(speaker)}: ", end="")

    def _finish(self) -> None:
        """Close the line; the next who waited speaks."""
        self._terminal.line()
        self._breaks = 0
        self._live = None
        while self._kept and self._live is None:
            speaker = next(iter(self._kept))
            text = self._kept.pop(speaker)
            self._begin(speaker)
            self._print(text)
            if speaker in self._ended:
                self._ended.discard(speaker)
                self._terminal.line()
                self._breaks = 0
                self._live = None

    def _print(self, text: str) -> None:
        text = "\n" * self._breaks + text
        body = text.rstrip("\n")
        self._breaks = len(text) - len(body)
        self._terminal.line(paragraph(body, "  "), end="")
