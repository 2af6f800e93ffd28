"""What a profile remembers of each room: the lines it has been given, each once.

Why: a room hands a member only what it has not handed over before, so the member keeps it, and
keeps it across a restart. A line that comes again, because a turn was dispatched twice or a
connection was renewed, changes nothing: `(room_id, seq)` enters the memory once.

When a known seq comes back with another event_id, the room was rewound to another branch; that
line and all later ones are dropped for what is given now.

One JSONL file per room under the profile's `state/`, named by a digest, since a room's id was
chosen by others. Writes are small, go to the page cache and survive the death of the process; a
power cut may lose the last lines, which costs a search hit and no truth: the log is the room's.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

import msgspec

from gateway.errors import MemoryUnwritable
from gateway.exchange import Line, TurnRequest
from gateway.limits import ROOM_LINES_BYTES_MAX, ROOM_LINES_MAX, ROOMS_IN_MEMORY_MAX

_log = logging.getLogger(__name__)
_row = msgspec.json.Decoder(Line)


class RoomLines:
    """The newest lines of one room, bounded in number and bytes, in the order of the log."""

    def __init__(self) -> None:
        self._lines: dict[int, Line] = {}
        self._bytes = 0

    def add(self, line: Line) -> bool:
        """Take `line` in; False when it was here already or is older than what is kept."""
        known = self._lines.get(line.seq)
        if known is not None:
            if known.event_id == line.event_id:
                return False
            for seq in [seq for seq in self._lines if seq >= line.seq]:
                self._drop(seq)
        self._lines[line.seq] = line
        self._bytes += _size(line)
        while len(self._lines) > ROOM_LINES_MAX or self._bytes > ROOM_LINES_BYTES_MAX:
            self._drop(min(self._lines))
        assert self._bytes >= 0, "a line is counted in and out once"
        return line.seq in self._lines

    def in_order(self) -> tuple[Line, ...]:
        """All lines kept, oldest first."""
        return tuple(self._lines[seq] for seq in sorted(self._lines))

    def _drop(self, seq: int) -> None:
        self._bytes -= _size(self._lines.pop(seq))


class Memory:
    """One profile's memory of all its rooms, under its `state` directory."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._rooms: OrderedDict[str, RoomLines] = OrderedDict()

    def remember(self, request: TurnRequest) -> tuple[Line, ...]:
        """Keep what `request` hands over; returns all that is kept of its room, oldest first.

        Raises MemoryUnwritable; the memory is then as its file is.
        """
        try:
            lines = self._room(request.room_id)
            fresh = [line for line in (*request.history, request.trigger) if lines.add(line)]
            if fresh:
                self._append(request.room_id, fresh, lines)
        except OSError as error:
            self._rooms.pop(request.room_id, None)
            raise MemoryUnwritable(error.strerror or str(error)) from error
        return lines.in_order()

    def _room(self, room_id: str) -> RoomLines:
        lines = self._rooms.get(room_id)
        if lines is None:
            lines = self._rooms[room_id] = RoomLines()
            for line in _rows(self._path(room_id)):
                lines.add(line)
        self._rooms.move_to_end(room_id)
        while len(self._rooms) > ROOMS_IN_MEMORY_MAX:
            self._rooms.popitem(last=False)
        return lines

    def _append(self, room_id: str, fresh: list[Line], lines: RoomLines) -> None:
        """Add rows to the file, or write it anew once half of it is of no more use."""
        path = self._path(room_id)
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > 2 * ROOM_LINES_BYTES_MAX:
            draft = path.with_suffix(".new")
            draft.write_bytes(_encode(lines.in_order()))
            draft.replace(path)
            return
        with path.open("ab") as file:
            # A row that a crash cut short is closed first, so that it costs itself alone.
            file.write((b"" if file.tell() == 0 else b"\n") + _encode(fresh))

    def _path(self, room_id: str) -> Path:
        return self._state / f"{hashlib.sha256(room_id.encode()).hexdigest()[:32]}.jsonl"


def _rows(path: Path) -> list[Line]:
    """The rows of a file that can be read; one that a crash cut short is counted and skipped."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    lines: list[Line] = []
    skipped = 0
    for row in content.split(b"\n"):
        if not row:
            continue
        try:
            lines.append(_row.decode(row))
        except msgspec.DecodeError:
            skipped += 1
    if skipped:
        _log.warning("%d rows of %s could not be read and were skipped", skipped, path.name)
    return lines


def _encode(lines: Iterable[Line]) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def _size(line: Line) -> int:
    """Roughly what a line's row takes: its text and a fixed sum for the rest."""
    return len(line.text.encode()) + 256
