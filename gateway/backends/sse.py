"""Server-sent events: bytes in, in any pieces; the data of whole frames out. PURE.

Why its own parser: an answer's bytes are split wherever the network likes, in the middle of a
line end or of a character too. Everything here works on bytes and cuts only at line ends, so that
a character is never looked at before it is whole.

It follows the standard: lines end in CR, LF or CRLF; a leading byte order mark is dropped; a line
that begins with a colon is a comment; `data` lines of one frame are joined by LF; a frame ends at
an empty line, and one that the end of the stream cut short is not a frame. Other fields say
nothing that is needed here. It refuses a frame beyond the limit.
"""

import re

from gateway.errors import ReplyTooLarge
from gateway.limits import FRAME_BYTES_MAX

_LINE_END = re.compile(rb"\r\n|\n|\r")
_MARK = b"\xef\xbb\xbf"


class SseParser:
    """Feed it bytes as they come; each call returns the data of the frames that became whole."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._frame_bytes = 0
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of each frame that `chunk` completes, in order. Raises ReplyTooLarge."""
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # The second half of a CRLF, whose first half ended the line.
            self._after_cr = False
            if not chunk:
                return []
        self._after_cr = chunk.endswith(b"\r")
        head, *tails = _LINE_END.split(chunk)
        frames: list[bytes] = []
        self._grow(head)
        for tail in tails:
            self._end_line(frames)
            self._grow(tail)
        return frames

    def _grow(self, part: bytes) -> None:
        self._line += part
        if len(self._line) + self._frame_bytes > FRAME_BYTES_MAX:
            raise ReplyTooLarge("bytes in one frame", FRAME_BYTES_MAX)

    def _end_line(self, frames: list[bytes]) -> None:
        line = bytes(self._line)
        self._line.clear()
        if self._first:
            self._first = False
            line = line.removeprefix(_MARK)
        if not line:
            if self._data:
                frames.append(b"\n".join(self._data))
            self._data = []
            self._frame_bytes = 0
            return
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
            self._frame_bytes += len(line)
