"""Who is addressed by a message: handles in the text, resolved to member ids.

A handle addresses exactly one member of the room, wherever it lives; a namesake on another
machine has another handle, and another room's members do not exist here (situations 40, 41).
Code is data: a handle inside `code` does not address anyone.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from mesh.core.ids import fold_handle
from mesh.core.limits import ADDRESSED_PER_EVENT_MAX, HANDLE_CHARS_MAX
from mesh.core.member import Member

_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_MENTION: Final = re.compile(r"(?<![\w@/.])@([^\W_][\w.@-]*)")
# A handle and its place, `name@place`; what a text has beyond that is cut, so that a long word
# costs no more than a short one.
_WORD_CHARS_MAX: Final = 2 * HANDLE_CHARS_MAX
_ALL: Final = "all"


def addressed(text: str, members: Iterable[Member], author_id: str) -> tuple[Member, ...]:
    """The present agents that `text` addresses, each once, in the order of their mention.

    `@all` addresses every agent. Nobody addresses itself.
    """
    if "@" not in text:
        return ()  # most messages, and it spares the long ones a walk over every character
    by_handle = {
        fold_handle(m.handle): m
        for m in members
        if m.present and m.is_agent and m.member_id != author_id
    }
    found: dict[str, Member] = {}
    # Some keyboards write a letter and its accent as two characters; handles have them as one.
    for mention in _MENTION.finditer(_CODE.sub(" ", unicodedata.normalize("NFC", text))):
        for member in _resolve(mention.group(1)[:_WORD_CHARS_MAX], by_handle):
            found.setdefault(member.member_id, member)
        if len(found) >= min(len(by_handle), ADDRESSED_PER_EVENT_MAX):
            break
    return tuple(found.values())[:ADDRESSED_PER_EVENT_MAX]


def _resolve(word: str, by_handle: dict[str, Member]) -> Iterable[Member]:
    """The longest prefix of `word` that is a handle: `@echo.` at a sentence's end reaches it."""
    folded = fold_handle(word)
    while folded:
        if folded == _ALL:  # first, so that nobody takes everybody's place by a name
            return by_handle.values()
        if folded in by_handle:
            return (by_handle[folded],)
        folded = folded[:-1].rstrip("@") if folded[-1] in ".-_@" else ""
    return ()
