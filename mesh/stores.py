"""What the drivers need from the disk, stated by those who use it.

Each row is what one table holds; each store is a small protocol that says what it guarantees.
`mesh.storage` meets them on SQLite, `mesh.storage.memory` in memory; only `node.py` chooses.
Every method that changes something returns after the commit has reached the disk (`fsync`), or
raises StorageFailed; nothing is acknowledged in between.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mesh.core.event import Event, Proposal
from mesh.core.link_messages import WireEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """A proposal of ours that is not known to be in the log yet. `n` orders one room's rows."""

    n: int
    proposal: Proposal
    state: str  # waiting | refused
    reason: str
    queued_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomRow:
    """A room this install keeps, as the disk knows it."""

    room_id: str
    authority_install_id: str
    promised_epoch: int
    head_seq: int
    head_hash: str
    joined_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomChange:
    """What one round of a room's machine wants on the disk, as one transaction.

    Events are dense after the head that is stored; the store compares epoch and seq *in the same
    transaction* and refuses the whole change otherwise (the fence).
    """

    room_id: str
    events: tuple[Event, ...] = ()
    outbox_put: tuple[OutboxRow, ...] = ()
    outbox_drop: tuple[str, ...] = ()  # event keys
    outbox_refuse: tuple[tuple[str, str], ...] = ()  # (event key, reason)


class EventStore(Protocol):
    """Rooms, their logs and their outboxes."""

    async def create_room(self, row: RoomRow, events: Sequence[Event]) -> None:
        """A new room. `row` tells the head after `events`. Raises Refused `conflict`."""
        ...

    async def apply(self, change: RoomChange) -> None:
        """Commit one change whole, in the order of the calls; or nothing of it.

        Raises StorageFailed, or Refused `stale_epoch` (the fence), `not_found`, `conflict`.
        """
        ...

    async def rooms(self) -> tuple[RoomRow, ...]:
        """All rooms, oldest first."""
        ...

    async def read(
        self, room_id: str, since_seq: int, limit: int, size_bytes_max: int
    ) -> tuple[Event, ...]:
        """Events after `since_seq`, in order; at least one if there is one, within both bounds."""
        ...

    async def read_wire(
        self, room_id: str, since_seq: int, limit: int, size_bytes_max: int
    ) -> tuple[WireEvent, ...]:
        """As `read`, unparsed, to be streamed to copies."""
        ...

    async def by_key(self, room_id: str, key: str) -> Event | None:
        """The event with that key, if it is in the log."""
        ...

    async def outbox(self, room_id: str) -> tuple[OutboxRow, ...]:
        """Rows of a room in the order they were queued."""
        ...

    async def forget_room(self, room_id: str) -> None:
        """Delete a copy this install no longer keeps (never called for an authority)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptRow:
    """One operation and what became of it. `input_sha256` is over canonical JSON of the input."""

    request_id: str
    operation: str
    owner: str
    input_sha256: str
    status: str
    reason: str
    message: str
    result: dict[str, Any]
    state: dict[str, Any]
    created_at_ms: int
    updated_at_ms: int


class ReceiptStore(Protocol):
    """The one table of receipts."""

    async def open(self, row: ReceiptRow) -> ReceiptRow:
        """Store `row` if the id is new and return it; else return the stored row, unchanged.

        Raises:
            Refused: `conflict` for the same id with other input or another operation;
                `not_found` when the id belongs to another owner.
        """
        ...

    async def update(
        self,
        request_id: str,
        *,
        status: str,
        reason: str = "",
        message: str = "",
        result: dict[str, Any] | None = None,
        state: dict[str, Any] | None = None,
        proved: bool = False,
        now_ms: int,
    ) -> ReceiptRow:
        """Move a receipt forward. An illegal step (see core.receipt) raises AssertionError.

        Where None, `result` and `state` stay. Only `proved` ends an `uncertain` receipt.
        """
        ...

    async def get(self, request_id: str, owner: str) -> ReceiptRow | None:
        """The receipt, if it is that owner's."""
        ...

    async def unfinished(self) -> tuple[ReceiptRow, ...]:
        """Receipts that are still pending, oldest first: for the start after a crash."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LoanRow:
    """What this install lends: a profile to a member of a room, until when."""

    room_id: str
    member_id: str
    profile: str
    permissions: tuple[str, ...]
    until_ms: int
    policy_digest: str
    catalog_digest: str
    created_at_ms: int
    withdrawn_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRow:
    """A grant, issued by us or held by us. `token` is the JWS as received or made."""

    grant_id: str
    direction: str  # issued | held
    room_id: str
    member_id: str
    profile: str
    permissions: tuple[str, ...]
    home_install_id: str
    target_install_id: str
    issued_at_ms: int
    expires_at_ms: int
    token: bytes
    catalog: dict[str, Any]
    revoked_at_ms: int | None = None
    last_used_at_ms: int | None = None


class GrantStore(Protocol):
    """Loans and grants. A revoked grant id stays revoked for ever."""

    async def put_loan(self, row: LoanRow) -> None:
        """Insert or replace the loan of (room, member)."""
        ...

    async def loans(self) -> tuple[LoanRow, ...]:
        """All loans, withdrawn ones too."""
        ...

    async def put_grant(self, row: GrantRow) -> None:
        """Insert a grant. A grant id that is stored is never replaced: `conflict`."""
        ...

    async def grants(self) -> tuple[GrantRow, ...]:
        """All grants."""
        ...

    async def revoke(self, room_id: str, member_id: str, now_ms: int) -> tuple[str, ...]:
        """Withdraw the loan and revoke all its grants, in one transaction; returns their ids."""
        ...

    async def used(self, grant_id: str, now_ms: int) -> None:
        """Remember when a grant was last used."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRow:
    """A turn this install was asked to run. The row is stored before the turn runs."""

    turn_id: str
    room_id: str
    member_id: str
    trigger_seq: int
    root: str
    hop: int
    attempt: int
    deadline_ms: int
    grant_id: str
    state: str  # queued | running | settled | passed | failed | cancelled | uncertain
    reason: str
    message: str
    created_at_ms: int


class TurnInbox(Protocol):
    """The durable inbox that makes a turn run once."""

    async def put(self, row: InboxRow) -> bool:
        """Store a new row; False (and nothing changed) if that turn_id is known."""
        ...

    async def set_state(
        self, turn_id: str, state: str, reason: str = "", message: str = ""
    ) -> None:
        """Move a row on."""
        ...

    async def open_rows(self) -> tuple[InboxRow, ...]:
        """Rows whose end the room's log has not shown yet (not `closed`), oldest first."""
        ...

    async def get(self, turn_id: str) -> InboxRow | None:
        """One row."""
        ...

    async def close(self, turn_id: str) -> None:
        """The log shows the end of this turn: no report is due any more."""
        ...

    async def context_seq(self, room_id: str, member_id: str) -> int:
        """The highest seq that was given to this member as context (0 at first)."""
        ...

    async def set_context_seq(self, room_id: str, member_id: str, seq: int) -> None:
        """Remember it; never goes back."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRow:
    """Another install we have met. `public_keys` is its key chain, oldest first, in hex."""

    install_id: str
    name: str
    public_keys: tuple[str, ...]
    addresses: tuple[str, ...]
    last_seen_ms: int


class PeerStore(Protocol):
    """Who we have met, and where."""

    async def put(self, row: PeerRow) -> None:
        """Insert or replace."""
        ...

    async def all(self) -> tuple[PeerRow, ...]:
        """Everyone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A browser session. Only the SHA-256 of the cookie's secret is stored."""

    session_id: str
    secret_sha256: str
    created_at_ms: int
    last_seen_at_ms: int
    expires_at_ms: int
    user_agent: str


class SessionStore(Protocol):
    """Browser sessions and one-time login links."""

    async def put(self, row: SessionRow) -> None:
        """Insert or replace."""
        ...

    async def all(self) -> tuple[SessionRow, ...]:
        """All rows."""
        ...

    async def delete(self, session_id: str) -> bool:
        """End one."""
        ...

    async def put_login(self, secret_sha256: str, expires_at_ms: int) -> None:
        """Remember a one-time link."""
        ...

    async def spend_login(self, secret_sha256: str, now_ms: int) -> bool:
        """True exactly once for a link that is there and not expired."""
        ...


class Settings(Protocol):
    """Small values of this install that are set by the program (operator's name, LAN switch)."""

    async def get(self, name: str) -> str | None:
        """The value, or None."""
        ...

    async def put(self, name: str, value: str) -> None:
        """Store it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRow:
    """What this install alone knows of an invitation it issued: when it was looked at."""

    invitation_id: str
    room_id: str
    created_at_ms: int
    previewed_at_ms: int | None


class InvitationNotes(Protocol):
    """Local notes on invitations; their truth is in the log."""

    async def put(self, row: NoteRow) -> None:
        """Insert or replace."""
        ...

    async def all(self) -> tuple[NoteRow, ...]:
        """All rows."""
        ...
