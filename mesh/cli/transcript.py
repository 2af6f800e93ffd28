"""Events of a log as lines for a person. Pure.

What people and agents wrote stands behind their name; everything else is one line behind a star.
Names and texts are strangers' and pass `visible`. An event of a kind this version does not know is
shown by its kind, never left out.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mesh.cli.spans import clock_time
from mesh.cli.visible import one_line, paragraph

Event = Mapping[str, Any]
Names = Mapping[str, str]


def shown_event(event: Event, names: Names) -> str:
    """One event; `names` are the handles of members by id."""
    head = f"{event['seq']:>5} {clock_time(event['created_at'])} "
    payload = event["payload"]
    if event["kind"] in {"message.user", "message.member"}:
        speaker = one_line(event["actor"]["handle"] or event["actor"]["display_name"], 60)
        return f"{head}{speaker}: {paragraph(str(payload['text']).rstrip(), ' ' * len(head))}"
    describe = _DESCRIBED.get(event["kind"])
    said = describe(event, names) if describe else str(event["kind"])
    return f"{head}* {one_line(said, 300)}"


def is_turn(event: Event) -> bool:
    """True for the book-keeping of answers, which a short log leaves out."""
    return str(event["kind"]) in {"turn.admitted", "turn.started", "turn.settled"}


def _who(event: Event, names: Names) -> str:
    member_id = str(event["payload"].get("member_id", ""))
    return "@" + names.get(member_id, member_id)


def _actor(event: Event) -> str:
    actor = event["actor"]
    return str(actor["display_name"] or actor["handle"] or "the room")


def _joined(event: Event, names: Names) -> str:
    seat = event["payload"]["member"]
    actor = event["actor"]  # under the handle that the room made unique
    handle = actor["handle"] if actor["id"] == seat.get("member_id") else seat["handle"]
    return f"@{handle} ({seat['display_name']}) joined, on {seat['install_name']}"


def _left(event: Event, names: Names) -> str:
    was_removed = event["payload"]["reason"] == "removed"
    return f"{_who(event, names)} {'was removed' if was_removed else 'left'}"


def _muted(event: Event, names: Names) -> str:
    return f"{_who(event, names)} is {'muted' if event['payload']['muted'] else 'heard again'}"


def _turn_ended(event: Event, names: Names) -> str:
    word = str(event["kind"]).removeprefix("turn.")
    payload = event["payload"]
    why = payload.get("message") or payload.get("reason") or ""
    return f"{_who(event, names)}: answer {word}{f' ({why})' if why else ''}"


def _invited(event: Event, names: Names) -> str:
    payload = event["payload"]
    return f"{_actor(event)} made an invitation ({payload['role']}, for {payload['uses']})"


def _route(event: Event, names: Names) -> str:
    allowed = ", ".join(event["payload"].get("permissions", []))
    return f"{_who(event, names)} can be asked ({allowed})"


def _withdrawn(event: Event, names: Names) -> str:
    return f"{_who(event, names)} was withdrawn ({event['payload'].get('reason', '')})"


_DESCRIBED: Final[Mapping[str, Callable[[Event, Names], str]]] = {
    "room.created": lambda e, n: f"{_actor(e)} made the room {e['payload']['name']!r}",
    "room.renamed": lambda e, n: f"{_actor(e)} named it {e['payload']['name']!r}",
    "room.disbanded": lambda e, n: f"{_actor(e)} closed the room",
    "member.joined": _joined,
    "member.left": _left,
    "member.muted": _muted,
    "turn.admitted": lambda e, n: f"{_who(e, n)} was asked",
    "turn.started": lambda e, n: f"{_who(e, n)} began to answer",
    "turn.settled": lambda e, n: f"{_who(e, n)} has answered",
    "turn.passed": _turn_ended,
    "turn.failed": _turn_ended,
    "turn.cancelled": _turn_ended,
    "turn.uncertain": _turn_ended,
    "invitation.issued": _invited,
    "invitation.revoked": lambda e, n: f"{_actor(e)} ended an invitation",
    "route.registered": _route,
    "route.revoked": _withdrawn,
    "grant.revoked": _withdrawn,
    "policy.changed": lambda e, n: f"{_actor(e)} changed the policy",
    "proposal.voided": lambda e, n: f"{_who(e, n)} gave up a message that was waiting",
}
