"""A small room for the gateway's tests: lines, members and requests, with few words."""

from collections.abc import Iterable
from typing import Any

from gateway.exchange import Activity, Delta, Failed, Final, Line, RoomMember, TurnRequest, Update

ME = "m_scribe"


def line(seq: int, text: str, by: str = "ann", **changes: Any) -> Line:
    """What `by` wrote as event `seq`; agents are those whose name ends in "bot"."""
    fields: dict[str, Any] = {
        "seq": seq,
        "event_id": f"e{seq}",
        "author_handle": by,
        "author_kind": "agent" if by.endswith("bot") else "person",
        "author_member_id": f"m_{by}",
        "author_install_id": "install:" + "0" * 32,
        "text": text,
        "created_at_ms": 1_800_000_000_000 + seq,
    }
    return Line(**(fields | changes))


def member(handle: str, kind: Any = "person", presence: str = "present") -> RoomMember:
    """A member whose id follows from its handle."""
    return RoomMember(
        member_id=f"m_{handle}",
        handle=handle,
        display_name=handle.title(),
        kind=kind,
        presence=presence,
    )


MEMBERS = (member("ann"), member("ben", presence="offline"), member("scribe", "agent"))


def request(text: str, history: Iterable[Line] = (), seq: int = 100, **changes: Any) -> TurnRequest:
    """`ann` writes `text` as event `seq`, and our member `scribe` is asked to answer."""
    fields: dict[str, Any] = {
        "turn_id": f"t{seq}",
        "room_id": "r1",
        "room_name": "Kitchen",
        "profile": "scribe",
        "member_id": ME,
        "handle": "scribe",
        "trigger": line(seq, text),
        "history": tuple(history),
        "members": MEMBERS,
        "hop": 0,
        "deadline_s": 10.0,
    }
    return TurnRequest(**(fields | changes))


def said(updates: Iterable[Update]) -> str:
    """The text of a run's deltas, one after the other."""
    return "".join(update.text for update in updates if isinstance(update, Delta))


def final(updates: list[Update]) -> str:
    """The answer of a run that kept the law: exactly one ending, in the last place."""
    last = ending(updates)
    assert isinstance(last, Final), last
    return last.text


def failed(updates: list[Update]) -> Failed:
    """The failure of a run that kept the law."""
    last = ending(updates)
    assert isinstance(last, Failed), last
    return last


def ending(updates: list[Update]) -> Final | Failed:
    """The one ending of a run."""
    assert updates, "a run ends with an ending"
    *before, last = updates
    assert all(isinstance(update, Delta | Activity) for update in before), updates
    assert isinstance(last, Final | Failed), last
    return last
