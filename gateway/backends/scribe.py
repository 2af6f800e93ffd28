"""The scribe: minutes, who is here, search. Extractive and deterministic, with no model. PURE.

Why: a fresh install should have an agent that is useful and never wrong about what it says. It
quotes with the line's number, so that a reader can check; it does not paraphrase.

What counts: a decision is a line that says so ("we decide", "agreed", "to-do", "will"). A
question is open until another member mentions the asker or repeats one of its longer words.
It refuses to quote itself, or lines that only ask it for something.
"""

import re
from collections.abc import Sequence

from gateway.backends.mentions import quiet, quote, without
from gateway.exchange import Line, TurnRequest
from gateway.limits import MINUTES_ITEMS_MAX, SEARCH_HITS_MAX

_MINUTES = re.compile(r"\b(summary|summari[sz]e|minutes)\b", re.IGNORECASE)
_PRESENT = re.compile(r"\bwho(\s+is|.s)\s+here\b", re.IGNORECASE)
_SEARCH = re.compile(r"\bsearch(?:\s+for)?\s+(\S.*)", re.IGNORECASE | re.DOTALL)
_DECISION = re.compile(r"\b(we decided?|decision|agreed|to-?do|will)\b", re.IGNORECASE)
_LONG_WORD = re.compile(r"\w{5,}")

ABILITIES = (
    "I keep the minutes of this room. Ask me for:\n"
    "- **summary** or **minutes**: who said what, decisions, open questions\n"
    "- **who is here**: the members and whether they are present\n"
    "- **search** and a word: the lines that hold it\n"
)


def answer(request: TurnRequest, lines: Sequence[Line]) -> str:
    """The scribe's answer to the trigger, from `lines` (all it remembers, the trigger included)."""
    asked = without(request.trigger.text, request.handle)
    heard = [line for line in lines if _is_talk(line, request)]
    if _MINUTES.search(asked):
        return _minutes(request, heard)
    if _PRESENT.search(asked):
        return _present(request)
    if found := _SEARCH.search(asked):
        return _search(found[1].strip().strip("\"'“”?.!"), heard)
    return ABILITIES


def _is_talk(line: Line, request: TurnRequest) -> bool:
    """Whether a line belongs into minutes: neither the scribe's own nor a question to it."""
    if line.author_member_id == request.member_id or line.seq == request.trigger.seq:
        return False
    rest = without(line.text, request.handle)
    commanded = rest != line.text.strip()
    asks = _MINUTES.search(rest) or _PRESENT.search(rest) or _SEARCH.match(rest)
    return not (commanded and asks)


def _minutes(request: TurnRequest, heard: Sequence[Line]) -> str:
    if not heard:
        return "Nothing to put into minutes yet: I have been given no lines of this room.\n"
    decisions = [line for line in heard if _DECISION.search(line.text) and "?" not in line.text]
    questions = [line for i, line in enumerate(heard) if _is_open(line, heard[i + 1 :])]
    return (
        f"**Minutes of {quote(request.room_name)}**, events {heard[0].seq} to {heard[-1].seq}\n\n"
        f"Who said what\n{_who_said(heard)}\n"
        f"Decisions\n{_listed(decisions, 'none')}\n"
        f"Open questions\n{_listed(questions, 'none')}"
    )


def _who_said(heard: Sequence[Line]) -> str:
    """One item for each author, in the order of their first line, with their last line quoted."""
    last: dict[str, Line] = {}
    counts: dict[str, int] = {}
    for line in heard:
        last[line.author_member_id] = line
        counts[line.author_member_id] = counts.get(line.author_member_id, 0) + 1
    items = [
        f"- {quiet(line.author_handle)} ({line.author_kind}), {_counted(counts[member], 'line')}; "
        f"last: “{quote(line.text)}” (#{line.seq})\n"
        for member, line in list(last.items())[:MINUTES_ITEMS_MAX]
    ]
    more = len(last) - len(items)
    return "".join(items) + (f"- and {_counted(more, 'other member')}\n" if more else "")


def _is_open(question: Line, later: Sequence[Line]) -> bool:
    if "?" not in question.text:
        return False
    asker = f"@{question.author_handle}".casefold()
    words = set(_LONG_WORD.findall(question.text.casefold()))
    return not any(
        asker in line.text.casefold() or words & set(_LONG_WORD.findall(line.text.casefold()))
        for line in later
        if line.author_member_id != question.author_member_id
    )


def _present(request: TurnRequest) -> str:
    items = [
        f"- {quiet(member.handle)} ({member.kind}): {member.presence}\n"
        for member in sorted(request.members, key=lambda member: (member.kind, member.handle))
    ]
    return f"In this room: {_counted(len(items), 'member')}.\n" + "".join(items)


def _search(word: str, heard: Sequence[Line]) -> str:
    hits = [line for line in heard if word.casefold() in line.text.casefold()]
    if not hits:
        return f"No line that I have been given holds “{quote(word)}”.\n"
    shown = hits[-SEARCH_HITS_MAX:]
    older = f", the newest {len(shown)}" if len(shown) < len(hits) else ""
    return f"“{quote(word)}” stands in {_counted(len(hits), 'line')}{older}:\n" + _listed(shown, "")


def _listed(lines: Sequence[Line], nothing: str) -> str:
    """The newest of `lines` as a list with number, author and quotation."""
    items = [
        f"- #{line.seq} {quiet(line.author_handle)}: “{quote(line.text)}”\n"
        for line in lines[-MINUTES_ITEMS_MAX:]
    ]
    return "".join(items) or f"- {nothing}\n"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
