"""Text of strangers, made safe to look at in a terminal.

A name may carry escape sequences that colour or clear the screen, a carriage return that writes
over the line, or bidirectional controls that turn it around (attacks 63, 65). Each becomes a
visible mark; nothing is dropped silently. Pure.
"""

import unicodedata
from typing import Final

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS: Final = frozenset("\u200c\u200d")  # scripts and emoji need them inside words


def one_line(text: object, chars_max: int = 200) -> str:
    """`text` on one line, without controls, at most that long."""
    shown = "".join(_mark(c) for c in str(text)[: chars_max + 1])
    return shown if len(str(text)) <= chars_max else shown[: chars_max - 1] + "…"


def paragraph(text: object, indent: str = "") -> str:
    """`text` with its line breaks, each further line behind `indent`; no other controls."""
    lines = str(text).replace("\r\n", "\n").split("\n")
    return f"\n{indent}".join("".join(_mark(c) for c in line.expandtabs(4)) for line in lines)


def _mark(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # the picture of the control
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
