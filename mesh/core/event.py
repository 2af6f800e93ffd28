r"""Proposals and events: the bytes P and H, their digests and signatures.

    P = canonical JSON of {room_id, event_id, kind, member_id, payload, cause, created_at_ms}
    digest = SHA-256(P); author_sig by the member's home install over "proposal" + P
    H = canonical JSON of {room_id, epoch, seq, prev_hash, kind, event_id, digest, admitted_at_ms}
    hash = SHA-256("roommesh/v1/event\0" + H); authority_sig over the same bytes

P and H are stored and forwarded verbatim, never encoded again: a proxy that reorders keys makes
bytes that do not verify, never bytes that mean something else (attack 27). `member_id` of a
system event is the install id of the authority, which is then also its author.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from mesh.core import canonical, ids
from mesh.core.errors import Malformed
from mesh.core.identity import DOMAIN, SigningKey, verify
from mesh.core.limits import EVENT_BYTES_MAX, JSON_INT_MAX

GENESIS: Final = "0" * 64
_HASH_DOMAIN: Final = DOMAIN + b"event\0"
_P_FIELDS: Final = frozenset(
    {"room_id", "event_id", "kind", "member_id", "payload", "cause", "created_at_ms"}
)
_H_FIELDS: Final = frozenset(
    {"room_id", "epoch", "seq", "prev_hash", "kind", "event_id", "digest", "admitted_at_ms"}
)

MESSAGE_KINDS: Final = frozenset({"message.user", "message.member"})
SYSTEM_KINDS: Final = frozenset(
    {
        "turn.admitted",
        "turn.started",
        "turn.settled",
        "turn.passed",
        "turn.failed",
        "turn.uncertain",
        "route.registered",
        "route.revoked",
        "proposal.voided",
    }
)
MEMBER_KINDS: Final = frozenset(
    {
        "room.created",
        "room.renamed",
        "room.disbanded",
        "member.joined",
        "member.left",
        "member.muted",
        "message.user",
        "message.member",
        "turn.cancelled",
        "invitation.issued",
        "invitation.revoked",
        "grant.revoked",
        "policy.changed",
    }
)
KINDS: Final = SYSTEM_KINDS | MEMBER_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Where an event stands in its chain: the event id that began it, and how deep it is."""

    root: str
    hop: int
    turn_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The form inside P."""
        made: dict[str, Any] = {"root": self.root, "hop": self.hop}
        if self.turn_id is not None:
            made["turn_id"] = self.turn_id
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a member asks to add. `raw` is P; the other fields were parsed from it once."""

    raw: bytes
    signature: bytes
    room_id: str
    event_id: str
    kind: str
    member_id: str
    payload: dict[str, Any]
    cause: Cause | None
    created_at_ms: int
    digest: str
    key: str

    def signed_by(self, public_key: bytes) -> bool:
        """True if that key's owner said exactly these bytes."""
        return verify(public_key, "proposal", self.raw, self.signature)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A proposal the authority has ordered, linked and signed. `header` is H."""

    proposal: Proposal
    header: bytes
    signature: bytes
    epoch: int
    seq: int
    prev_hash: str
    admitted_at_ms: int
    hash: str

    @property
    def room_id(self) -> str:
        """The room of the proposal and of the header, which are the same."""
        return self.proposal.room_id

    @property
    def kind(self) -> str:
        """The proposal's kind."""
        return self.proposal.kind

    @property
    def payload(self) -> dict[str, Any]:
        """The proposal's payload."""
        return self.proposal.payload

    def signed_by(self, public_key: bytes) -> bool:
        """True if that key's owner ordered exactly this header."""
        return verify(public_key, "event", self.header, self.signature)


def propose(
    key: SigningKey,
    *,
    room_id: str,
    event_id: str,
    kind: str,
    member_id: str,
    payload: dict[str, Any],
    cause: Cause | None,
    created_at_ms: int,
) -> Proposal:
    """Make and sign a proposal.

    Raises:
        Malformed: the payload is not strict JSON, or P is larger than EVENT_BYTES_MAX.
    """
    raw = canonical.encode(
        {
            "room_id": room_id,
            "event_id": event_id,
            "kind": kind,
            "member_id": member_id,
            "payload": payload,
            "cause": cause.to_json() if cause else None,
            "created_at_ms": created_at_ms,
        }
    )
    if len(raw) > EVENT_BYTES_MAX:
        raise Malformed("too_large", f"An event has at most {EVENT_BYTES_MAX} bytes.")
    return Proposal(
        raw=raw,
        signature=key.sign("proposal", raw),
        room_id=room_id,
        event_id=event_id,
        kind=kind,
        member_id=member_id,
        payload=payload,
        cause=cause,
        created_at_ms=created_at_ms,
        digest=hashlib.sha256(raw).hexdigest(),
        key=ids.event_key(member_id, event_id),
    )


def parse_proposal(raw: bytes, signature: bytes) -> Proposal:
    """Read P from outside. The signature is not checked here: the key is the log's to name.

    Raises:
        Malformed: too large, not strict JSON, wrong fields, or not canonical bytes.
    """
    value = canonical.decode_object(raw, EVENT_BYTES_MAX)
    if value.keys() != _P_FIELDS or not canonical.is_canonical(raw, value):
        raise Malformed("invalid_params", "The proposal's bytes are not canonical.")
    kind = value["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise Malformed("invalid_params", "This event kind is not known here.", field="kind")
    if not isinstance(value["payload"], dict) or not isinstance(value["member_id"], str):
        raise Malformed("invalid_params", "The proposal's fields have wrong types.")
    return Proposal(
        raw=raw,
        signature=signature,
        room_id=ids.check(ids.ROOM, value["room_id"], "room_id"),
        event_id=ids.check(ids.OPAQUE, value["event_id"], "event_id"),
        kind=kind,
        member_id=value["member_id"],
        payload=value["payload"],
        cause=parse_cause(value["cause"]),
        created_at_ms=_instant(value["created_at_ms"], "created_at_ms"),
        digest=hashlib.sha256(raw).hexdigest(),
        key=ids.event_key(value["member_id"], value["event_id"]),
    )


def parse_cause(value: object) -> Cause | None:
    """Read a cause. Raises Malformed."""
    if value is None:
        return None
    if not isinstance(value, dict) or not {"root", "hop"} <= value.keys() <= {
        "root",
        "hop",
        "turn_id",
    }:
        raise Malformed("invalid_params", "cause has wrong fields.", field="cause")
    hop, turn = value["hop"], value.get("turn_id")
    if type(hop) is not int or not 0 <= hop <= 1_000:
        raise Malformed("invalid_params", "hop is out of range.", field="cause")
    if turn is not None:
        ids.check(ids.TURN, turn, "turn_id")
    return Cause(root=ids.check(ids.OPAQUE, value["root"], "root"), hop=hop, turn_id=turn)


def admit(
    key: SigningKey,
    proposal: Proposal,
    *,
    epoch: int,
    seq: int,
    prev_hash: str,
    admitted_at_ms: int,
) -> Event:
    """Order a proposal: make H, hash it and sign it."""
    assert seq >= 1 and epoch >= 0 and len(prev_hash) == 64
    header = canonical.encode(
        {
            "room_id": proposal.room_id,
            "epoch": epoch,
            "seq": seq,
            "prev_hash": prev_hash,
            "kind": proposal.kind,
            "event_id": proposal.event_id,
            "digest": proposal.digest,
            "admitted_at_ms": admitted_at_ms,
        }
    )
    return Event(
        proposal=proposal,
        header=header,
        signature=key.sign("event", header),
        epoch=epoch,
        seq=seq,
        prev_hash=prev_hash,
        admitted_at_ms=admitted_at_ms,
        hash=hashlib.sha256(_HASH_DOMAIN + header).hexdigest(),
    )


def parse_event(raw: bytes, author_sig: bytes, header: bytes, authority_sig: bytes) -> Event:
    """Read P and H from outside or from the disk, and check that they belong together.

    Raises:
        Malformed: either is not canonical, or H does not cover this P.
    """
    proposal = parse_proposal(raw, author_sig)
    value = canonical.decode_object(header, EVENT_BYTES_MAX)
    if value.keys() != _H_FIELDS or not canonical.is_canonical(header, value):
        raise Malformed("invalid_params", "The event's header is not canonical.")
    same = (
        value["room_id"] == proposal.room_id
        and value["kind"] == proposal.kind
        and value["event_id"] == proposal.event_id
        and value["digest"] == proposal.digest
    )
    prev_hash = value["prev_hash"]
    if not same or not isinstance(prev_hash, str) or len(prev_hash) != 64:
        raise Malformed("invalid_params", "The event's header is not about this proposal.")
    return Event(
        proposal=proposal,
        header=header,
        signature=authority_sig,
        epoch=_instant(value["epoch"], "epoch"),
        seq=_instant(value["seq"], "seq"),
        prev_hash=prev_hash,
        admitted_at_ms=_instant(value["admitted_at_ms"], "admitted_at_ms"),
        hash=hashlib.sha256(_HASH_DOMAIN + header).hexdigest(),
    )


def _instant(value: object, field: str) -> int:
    if type(value) is not int or not 0 <= value <= JSON_INT_MAX:
        raise Malformed("invalid_params", f"{field} is out of range.", field=field)
    return value
