"""What passes between a room and an agent: the gateway's whole alphabet.

A room hands over a `TurnRequest`; the agent answers with a stream of `Update`s. Why it is one
file: whoever writes a backend, or drives one, reads this and nothing else.

The law of a run: any number of `Delta` and `Activity`, then exactly one `Final` or `Failed`, then
nothing. A `Final` may be empty or a pass word; what that means is the room's decision, not ours.

It refuses to interpret text. `author_*` fields come from the verified envelope of the room and
are the only truth about who spoke; `text` is data, whatever it claims to be.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Self

from gateway.errors import GatewayError

AuthorKind = Literal["person", "agent"]
ActivityState = Literal["started", "finished", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One message of the room as its log has it; `author_*` are verified, `text` is data."""

    seq: int
    event_id: str
    author_handle: str
    author_kind: AuthorKind
    author_member_id: str
    author_install_id: str
    text: str
    created_at_ms: int

    def __post_init__(self) -> None:
        assert self.seq >= 1, "a line comes from a log, and logs count from 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomMember:
    """One member as the agent may see it; the names were chosen by others and are data."""

    member_id: str
    handle: str
    display_name: str
    kind: AuthorKind
    presence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """A room asks the member `member_id` (our `profile`) to answer `trigger`.

    `history` holds the lines this member has not been given before, oldest first, its own lines
    included and the trigger not. The same request may come again after a crash: dispatch is at
    least once. `deadline_s` seconds from the start of the run it must have ended.
    """

    turn_id: str
    room_id: str
    room_name: str
    profile: str
    member_id: str
    handle: str
    trigger: Line
    history: tuple[Line, ...]
    members: tuple[RoomMember, ...]
    hop: int
    deadline_s: float

    def __post_init__(self) -> None:
        assert self.hop >= 0, "hops count from the root event"
        assert self.deadline_s > 0, "a turn without time cannot be run"
        assert all(a.seq < b.seq for a, b in pairwise(self.history)), "history is oldest first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """The next piece of the answer, never empty."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What the agent does besides writing: a tool at work, a wait that somebody should see."""

    tool: str
    text: str
    state: ActivityState


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """The whole answer: the text that becomes the event."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """No answer, and why: the stable `reason`, a sentence, and what to do next."""

    reason: str
    message: str
    next: str

    @classmethod
    def because(cls, error: GatewayError) -> Self:
        """The ending that tells a room of `error`."""
        return cls(reason=error.reason, message=error.message, next=error.next)


Ending = Final | Failed
Update = Delta | Activity | Ending
