"""The guide: a short tour of a room that names what is really there. Deterministic. PURE.

Why: somebody who enters a room for the first time should see who is in it, what an event is, and
where to look next, told by an agent that can be checked against the page beside it. It refuses to
mention anybody with an @: a tour wakes nobody.
"""

from collections.abc import Sequence

from gateway.backends.mentions import quiet, quote
from gateway.exchange import Line, RoomMember, TurnRequest


def answer(request: TurnRequest, lines: Sequence[Line]) -> str:
    """The tour, from the trigger, the members, and `lines` (all that the guide remembers)."""
    people = [member for member in request.members if member.kind == "person"]
    agents = [member for member in request.members if member.kind == "agent"]
    return (
        f"Welcome to **{quote(request.room_name)}**, {quiet(request.trigger.author_handle)}. "
        f"Your words are event #{request.trigger.seq} of this room's log, and my answer will be "
        "another one.\n\n"
        f"{_before(request, lines)}"
        f"{_named('People', people)}{_named('Agents', agents)}\n"
        "Where to look:\n"
        "- the members' panel shows who is present, and what each agent is doing right now\n"
        "- an agent answers when you write @ and its handle; it lives on its own machine\n"
        "- the invitation button makes a link that one other person can use once\n"
        "- what lends what, and until when, stands beside each agent that came from elsewhere\n"
    )


def _before(request: TurnRequest, lines: Sequence[Line]) -> str:
    earlier = [line for line in lines if line.seq < request.trigger.seq]
    if not earlier:
        return "Before that, nobody had written anything that I was given.\n\n"
    first = earlier[0]
    return (
        f"The first line I was given is event #{first.seq}: {quiet(first.author_handle)} wrote "
        f"“{quote(first.text)}”. Since then {_voices(earlier)} wrote {len(earlier)} in all.\n\n"
    )


def _voices(lines: Sequence[Line]) -> str:
    handles = dict.fromkeys(quiet(line.author_handle) for line in lines)
    return ", ".join(handles) if len(handles) < 6 else f"{len(handles)} members"


def _named(title: str, members: Sequence[RoomMember]) -> str:
    if not members:
        return f"{title} who joined: none.\n"
    names = ", ".join(f"{quiet(member.handle)} ({member.presence})" for member in members)
    return f"{title} who joined: {names}.\n"
