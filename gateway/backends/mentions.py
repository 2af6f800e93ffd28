"""Mentions in text: taking one's own out, and quoting others without calling them.

Why: in a room `@handle` wakes a member. An agent that repeats what somebody wrote must not wake
everybody who was named in it. PURE.
"""

import re

from gateway.limits import QUOTE_CHARS_MAX

_MENTION = re.compile(r"(?<!\w)@+(?=\w)")


def without(text: str, handle: str) -> str:
    """`text` without the mentions of `handle`, and without the space they leave."""
    own = re.compile(rf"(?<!\w)@{re.escape(handle)}(?![\w-]|\.\w)[,:]?\s?", re.IGNORECASE)
    return own.sub("", text).strip()


def quiet(text: str) -> str:
    """`text` in which every mention has lost its @, so that it names and does not call."""
    return _MENTION.sub("", text)


def quote(text: str) -> str:
    """`text` as a quotation: one quiet line, cut to the limit."""
    line = " ".join(quiet(text).split())
    return line if len(line) <= QUOTE_CHARS_MAX else line[: QUOTE_CHARS_MAX - 1] + "…"
