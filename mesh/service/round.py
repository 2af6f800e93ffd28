"""One round of a room's driver: what went in, what came out, sorted by who performs it.

A round is persisted as one transaction; only then are its messages sent, its events shown, its
callers answered. `inputs` are kept so that they can be taken again where the disk was full.
"""

import asyncio
from dataclasses import dataclass, field

from mesh.core.effects import (
    Accepted,
    Answer,
    Deliver,
    DropProposal,
    Effect,
    QueueProposal,
    RefuseProposal,
    Send,
    StoreEvent,
    Stream,
    Tell,
)
from mesh.core.event import Event, Proposal
from mesh.core.inputs import Input


@dataclass(slots=True, kw_only=True)
class Submission:
    """A proposal on its way. `kept`: durable here. `outcome`: the log has it, or a refusal."""

    kept: asyncio.Future[None]
    outcome: asyncio.Future[Accepted]


@dataclass(slots=True, kw_only=True)
class Round:
    """The effects of one round, sorted by what the driver does with them."""

    events: list[Event] = field(default_factory=list)
    queued: list[Proposal] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    sends: list[Send | Stream] = field(default_factory=list)
    shows: list[Deliver | Tell] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    tickets: list[int] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)

    def add(self, effect: Effect) -> None:
        """Take in one effect."""
        match effect:
            case StoreEvent():
                self.events.append(effect.event)
            case QueueProposal():
                self.queued.append(effect.proposal)
            case DropProposal():
                self.dropped.append(effect.key)
            case RefuseProposal():
                self.refused.append((effect.key, effect.reason))
            case Send() | Stream():
                self.sends.append(effect)
            case Deliver() | Tell():
                self.shows.append(effect)
            case Answer():
                self.answers.append(effect)

    @property
    def changes(self) -> bool:
        """True if the disk must hear of this round."""
        return bool(self.events or self.queued or self.dropped or self.refused)
