"""Everything that can happen to a room: the first of the two alphabets.

A driver turns messages, calls and timers into these values and gives them to
`RoomMachine.step(input, now)`. An input names what *has happened*; it was typed at the gate, and
what it claims is still to be judged. `ticket` numbers a local caller who waits for an answer.
"""

from dataclasses import dataclass
from typing import Any

from mesh.core.event import Event, Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """One reading of both clocks: wall time for people and grants, monotonic for deadlines."""

    wall_ms: int
    mono_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A proposal of a member homed here, made and signed by this install."""

    proposal: Proposal
    ticket: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """Another install forwarded a proposal of a member homed there."""

    install_id: str
    proposal: Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class Redeemed:
    """A guest shows an invitation's secret and the members it wants seated, signed by it."""

    install_id: str
    request_id: str
    invitation_id: str
    secret: bytes
    proposals: tuple[Proposal, ...]
    relayed_for: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteOffered:
    """A lender's grant was verified by this install, which hosts the room."""

    member_id: str
    grant_id: str
    grant_sha256: str
    catalog_digest: str
    permissions: tuple[str, ...]
    expires_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReported:
    """A target tells what became of a turn."""

    install_id: str
    turn_id: str
    member_id: str
    state: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnProgressed:
    """The dispatcher of this install saw a turn move (offline, dispatched); never stored."""

    turn_id: str
    state: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUp:
    """A copy says what it has and waits for what comes after."""

    install_id: str
    have_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A copy has stored everything up to `seq`."""

    install_id: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """The authority sent the next event of the log. `latest_seq` is its head then."""

    install_id: str
    event: Event
    latest_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The authority's verdict on a proposal we forwarded."""

    install_id: str
    key: str
    state: str
    seq: int
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """An install says that it is not the authority, or does not admit us."""

    install_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkUp:
    """A proved link to an install is open."""

    install_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDown:
    """The link to an install is gone."""

    install_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceTold:
    """The authority tells which installs it has a link to."""

    install_id: str
    online: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalTold:
    """A signal arrived over a link."""

    install_id: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalMade:
    """A member homed here makes a signal."""

    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded:
    """The author takes back a queued proposal that is not in the log."""

    key: str
    ticket: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEnded:
    """The driver has given all inputs it had; copies may now be fed."""


Input = (
    Submitted
    | Proposed
    | Redeemed
    | RouteOffered
    | TurnReported
    | TurnProgressed
    | CaughtUp
    | Acknowledged
    | Appended
    | Judged
    | Declined
    | LinkUp
    | LinkDown
    | PresenceTold
    | SignalTold
    | SignalMade
    | Discarded
    | RoundEnded
)
