"""Every way a node refuses, in one tree and one table.

    MeshError                 carries `reason`, a sentence, what to do next, and fields
    +-- Malformed             bytes from outside that are not what they claim to be (422, 413)
    +-- Refused               understood, and not allowed or not possible now
    +-- PeerFault             another node broke the protocol; never our bug
    +-- StorageFailed         our disk did not take what we must not lose; the room stops

`reason` is the stable word that programs compare; `status` is the number an HTTP reader would
expect. Sentences are for people and may change. A refusal to a peer is generic; details go to
the local log. Source: the list of reasons in the design, section 7, and the attack table.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """What a stable reason word means: an HTTP-like status and the usual next step."""

    status: int
    next: str = ""


REASONS: Final[dict[str, Reason]] = {
    "invalid_request": Reason(status=400, next="Send one JSON-RPC 2.0 request."),
    "internal": Reason(status=500, next="See the node's log."),
    "invalid_params": Reason(status=422, next="Correct the named field and try again."),
    "method_not_found": Reason(status=404, next="See docs/surface.md for the methods."),
    "unauthenticated": Reason(status=401, next="Run `roommesh open` on this machine."),
    "login_spent": Reason(status=401, next="Run `roommesh open` for a new link."),
    "forbidden": Reason(status=403),
    "wrong_origin": Reason(status=403, next="Open the page at the node's own address."),
    "wrong_host": Reason(status=421, next="Use an address of this node, or set public_url."),
    "not_found": Reason(status=404),
    "conflict": Reason(status=409, next="Use a new id for new content."),
    "not_authority": Reason(status=421, next="Ask the install that hosts the room."),
    "stale_epoch": Reason(status=421),
    "unknown_epoch": Reason(status=503),
    "no_lease": Reason(status=503),
    "disbanded": Reason(status=409, next="The room is closed; create another."),
    "unknown_issuer": Reason(status=401),
    "bad_signature": Reason(status=401),
    "wrong_audience": Reason(status=403),
    "wrong_room": Reason(status=403),
    "wrong_profile": Reason(status=403),
    "wrong_authority": Reason(status=403),
    "grant_invalid": Reason(status=422),
    "grant_expired": Reason(status=403, next="The lender can renew the loan."),
    "grant_revoked": Reason(status=403, next="Ask the lender for a new loan."),
    "proof_required": Reason(status=401),
    "replayed": Reason(status=409),
    "skew": Reason(status=401, next="Set this machine's clock."),
    "policy_changed": Reason(status=409, next="The lender must agree again."),
    "catalog_changed": Reason(status=409, next="The lender must agree again."),
    "invitation_spent": Reason(status=409, next="Ask for a new invitation."),
    "invitation_expired": Reason(status=403, next="Ask for a new invitation."),
    "invitation_revoked": Reason(status=403, next="Ask for a new invitation."),
    "invitation_damaged": Reason(status=422, next="Copy the whole link again."),
    "not_reachable": Reason(
        status=503, next="Run `roommesh up --lan` on the inviting machine, or use --this-machine."
    ),
    "peer_offline": Reason(status=503, next="It is delivered when that machine is back."),
    "peer_identity_mismatch": Reason(
        status=403, next="Another install answers at that address; check it with its owner."
    ),
    "not_a_node": Reason(status=502, next="Check the address and its port."),
    "duplicate_instance": Reason(status=409, next="Two machines run with one key; stop one."),
    "owner_equivocation": Reason(status=409),
    "fork": Reason(status=409),
    "rolled_back": Reason(status=409),
    "too_large": Reason(status=413, next="Send less at once."),
    "rate_limited": Reason(status=429, next="Wait a moment."),
    "storage_full": Reason(status=503, next="Free disk space, then restart the node."),
    "storage_failed": Reason(status=503, next="See the node's log; restart it."),
    "busy": Reason(status=503, next="Try again in a moment."),
    "unsupported": Reason(status=501),
    "uncertain": Reason(status=503, next="Ask for the receipt by its request_id."),
    "timeout": Reason(status=504, next="Ask for the receipt, or try again."),
    "voice_unavailable": Reason(status=503),
    "voice_lost": Reason(status=503),
    "budget_spent": Reason(status=429, next="Write a message to start a new chain."),
    "backend_failed": Reason(status=502, next="Run `roommesh profile test NAME`."),
    "backend_unreachable": Reason(status=502, next="Start the model server, or correct base_url."),
    "backend_unauthorized": Reason(status=502, next="Set the key that the profile names."),
    "backend_refused": Reason(status=502),
    "backend_cut": Reason(status=502, next="Ask the agent again."),
    "backend_stopped": Reason(status=503, next="Ask the agent again."),
    "not_a_model": Reason(status=502, next="Check the profile's base_url."),
    "interrupted": Reason(status=503, next="The outcome is not known; ask the agent again."),
    "withdrawn": Reason(status=403, next="The lender has withdrawn the agent."),
    "muted": Reason(status=403, next="The room's owner can unmute."),
    "slow_reader": Reason(status=429, next="Subscribe again from the last seq seen."),
    "home_locked": Reason(status=409, next="Stop the other node, or use another --home."),
    "key_unsafe": Reason(status=500),
    "port_taken": Reason(status=409, next="Choose another --listen HOST:PORT."),
    "unreachable": Reason(status=503, next="Start a node with `roommesh up`."),
}


class MeshError(Exception):
    """A refusal with a stable reason.

    `reason` must be in REASONS. `fields` travel to the client inside `data`.
    """

    def __init__(self, reason: str, message: str, *, next: str = "", **fields: object) -> None:
        assert reason in REASONS, f"unknown reason {reason!r}"
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.next = next or REASONS[reason].next
        self.fields = fields

    @property
    def status(self) -> int:
        """The number an HTTP reader would expect for this reason."""
        return REASONS[self.reason].status

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class Malformed(MeshError):
    """Bytes from outside that are not what they claim to be."""


class Refused(MeshError):
    """Understood, and not allowed or not possible now."""


class PeerFault(MeshError):
    """Another node broke the protocol. Logged as theirs, never as our bug."""


class StorageFailed(MeshError):
    """The disk did not take what must not be lost; nothing was acknowledged."""
