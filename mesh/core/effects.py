"""Everything a room can ask of its driver: the second of the two alphabets.

A driver performs the effects of one round in this order: *persist* (`StoreEvent`,
`QueueProposal`, `DropProposal`, `RefuseProposal`, as ONE transaction), *send* (`Send`,
`Stream`), *deliver* (`Deliver`, `Tell`), *reply* (`Answer`). If the process dies in between,
what was not done is simply lost, and nothing was said that is not stored.
"""

from dataclasses import dataclass
from typing import Any

from mesh.core.errors import MeshError
from mesh.core.event import Event, Proposal
from mesh.core.link_messages import LinkMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreEvent:
    """Append this event to the log on the disk."""

    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueProposal:
    """Keep this proposal in the outbox until the log has it."""

    proposal: Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class DropProposal:
    """The log has it (or its author took it back): remove it from the outbox."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefuseProposal:
    """The authority refused it: keep it as refused, with the reason, and never send it again."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Give a message to the link of an install, if there is one."""

    install_id: str
    message: LinkMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Send the events after `since_seq` up to `upto_seq` to a copy, as stored."""

    install_id: str
    since_seq: int
    upto_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """Show this event to the subscribers and to the services of this install."""

    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """Show this signal to the subscribers of this install."""

    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The log has it. `event` is given when it was appended in this round."""

    key: str
    seq: int
    event: Event | None
    idempotent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Tell a local caller what became of its input."""

    ticket: int
    outcome: Accepted | MeshError


Effect = (
    StoreEvent
    | QueueProposal
    | DropProposal
    | RefuseProposal
    | Send
    | Stream
    | Deliver
    | Tell
    | Answer
)
