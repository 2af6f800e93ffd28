"""Everything one node says to another over a link, as one closed union.

Events and proposals travel as the bytes that were signed, never as structure. Nothing here is
trusted because of who sent it: the link proves *which install* speaks, the signatures inside
prove the rest. A field bound is checked where the message is used.
"""

import msgspec


class WireProposal(msgspec.Struct, frozen=True, array_like=True):
    """P and the author's signature."""

    raw: bytes
    signature: bytes


class WireEvent(msgspec.Struct, frozen=True, array_like=True):
    """P, author's signature, H, authority's signature."""

    raw: bytes
    author_sig: bytes
    header: bytes
    authority_sig: bytes


class Propose(msgspec.Struct, frozen=True, kw_only=True, tag="propose"):
    """A home install asks the authority to admit these, in this order."""

    room_id: str
    proposals: tuple[WireProposal, ...]


class Verdict(msgspec.Struct, frozen=True, kw_only=True, tag="verdict"):
    """The authority's word on one proposal. `state`: applied, pending or rejected."""

    room_id: str
    key: str
    state: str
    seq: int = 0
    reason: str = ""
    message: str = ""


class CatchUp(msgspec.Struct, frozen=True, kw_only=True, tag="catch_up"):
    """A copy says what it has and asks for what comes after."""

    room_id: str
    have_seq: int
    have_hash: str
    promised_epoch: int = 0


class Append(msgspec.Struct, frozen=True, kw_only=True, tag="append"):
    """The authority streams its log to a copy. `latest_seq` is its head when this was sent."""

    room_id: str
    epoch: int
    events: tuple[WireEvent, ...]
    latest_seq: int
    protected_seq: int


class Stored(msgspec.Struct, frozen=True, kw_only=True, tag="stored"):
    """A copy acknowledges that everything up to `seq` is on its disk."""

    room_id: str
    seq: int


class NotHere(msgspec.Struct, frozen=True, kw_only=True, tag="not_here"):
    """The receiver is not the authority of that room, or does not admit the sender."""

    room_id: str
    reason: str
    authority_install_id: str = ""


class Presence(msgspec.Struct, frozen=True, kw_only=True, tag="presence"):
    """The authority tells copies which installs it has a link to."""

    room_id: str
    online: tuple[str, ...]


class Signal(msgspec.Struct, frozen=True, kw_only=True, tag="signal"):
    """An ephemeral message of a room, JSON bytes; never stored."""

    room_id: str
    body: bytes


class Preview(msgspec.Struct, frozen=True, kw_only=True, tag="preview"):
    """A guest proves by an HMAC that it knows an invitation, and asks what it is."""

    invitation_id: str
    room_id: str
    nonce: bytes
    mac: bytes


class PreviewResult(msgspec.Struct, frozen=True, kw_only=True, tag="preview_result"):
    """What the invitation is, or why it is refused. `body` is JSON bytes."""

    invitation_id: str
    reason: str = ""
    body: bytes = b""


class Redeem(msgspec.Struct, frozen=True, kw_only=True, tag="redeem"):
    """A guest redeems an invitation: the secret and one signed member.joined per member."""

    request_id: str
    room_id: str
    invitation_id: str
    secret: bytes
    proposals: tuple[WireProposal, ...]
    relayed_for: str = ""


class RedeemResult(msgspec.Struct, frozen=True, kw_only=True, tag="redeem_result"):
    """The verdict on a redemption; the authority's identity and addresses if applied."""

    request_id: str
    room_id: str
    state: str
    reason: str = ""
    message: str = ""
    authority_install_id: str = ""
    authority_addresses: tuple[str, ...] = ()
    relayed_for: str = ""


class GrantOffer(msgspec.Struct, frozen=True, kw_only=True, tag="grant_offer"):
    """The lender's install hands a grant to the room's home. `catalog` is JSON bytes."""

    room_id: str
    member_id: str
    grant: bytes
    catalog: bytes


class TurnDispatch(msgspec.Struct, frozen=True, kw_only=True, tag="turn_dispatch"):
    """The authority asks the target to run a turn, under a grant."""

    room_id: str
    turn_id: str
    member_id: str
    trigger_seq: int
    root: str
    hop: int
    attempt: int
    grant: bytes
    deadline_ms: int


class TurnReport(msgspec.Struct, frozen=True, kw_only=True, tag="turn_report"):
    """The target tells what became of a turn that has no message of its own (yet)."""

    room_id: str
    turn_id: str
    member_id: str
    state: str
    reason: str = ""
    message: str = ""


LinkMessage = (
    Propose
    | Verdict
    | CatchUp
    | Append
    | Stored
    | NotHere
    | Presence
    | Signal
    | Preview
    | PreviewResult
    | Redeem
    | RedeemResult
    | GrantOffer
    | TurnDispatch
    | TurnReport
)
