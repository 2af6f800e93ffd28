"""Invitations: the link, its secret, and the life of an invitation as a table.

    open -- last use --> used
      |---- expiry  --> expired       (judged by the authority's clock, inside the step)
      +---- revoke  --> revoked

The link is `https://HOST/i#` + base64url of canonical JSON and a checksum, so that a damaged
link is not taken for an expired one. The secret stands only in the link's fragment, which no
browser sends; the log holds its SHA-256. A preview proves knowledge by an HMAC, and only after
the handshake has proved the inviter's key that stands in the link.
"""

import hashlib
import hmac
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from mesh.core import canonical, ids
from mesh.core.errors import Malformed, Refused
from mesh.core.limits import (
    ADDRESSES_PER_PEER_MAX,
    INVITATION_LINK_CHARS_MAX,
    INVITATION_USES_MAX,
    JSON_INT_MAX,
)
from mesh.core.member import parse_addresses

_VERSION: Final = 1
_CHECK_BYTES: Final = 4
_FIELDS: Final = frozenset({"v", "room_id", "id", "key", "to", "secret", "exp"})


class InvitationState(StrEnum):
    """Where an invitation stands."""

    OPEN = "open"
    USED = "used"
    EXPIRED = "expired"
    REVOKED = "revoked"


REFUSALS: Final[dict[InvitationState, str]] = {
    InvitationState.USED: "invitation_spent",
    InvitationState.EXPIRED: "invitation_expired",
    InvitationState.REVOKED: "invitation_revoked",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Redemption:
    """Who came in by an invitation."""

    member_id: str
    display_name: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """An invitation as the log knows it. A use seats one person and the agents they lend."""

    invitation_id: str
    room_id: str
    secret_sha256: str
    role: str
    uses: int
    expires_at_ms: int
    issuer_member_id: str
    created_at_ms: int
    redeemed: tuple[Redemption, ...] = ()
    revoked: bool = False

    def state(self, now_ms: int) -> InvitationState:
        """Its state at an instant of the authority's wall clock."""
        if self.revoked:
            return InvitationState.REVOKED
        if len(self.redeemed) >= self.uses:
            return InvitationState.USED
        if now_ms >= self.expires_at_ms:
            return InvitationState.EXPIRED
        return InvitationState.OPEN

    def check_open(self, now_ms: int) -> None:
        """Raises Refused with the reason of its state unless it is open."""
        state = self.state(now_ms)
        if state is not InvitationState.OPEN:
            raise Refused(REFUSALS[state], f"This invitation is {state}.")

    def used_by(self, redemption: Redemption) -> "Invitation":
        """The invitation with one more use."""
        return replace(self, redeemed=(*self.redeemed, redemption))

    def opens_with(self, secret: bytes) -> bool:
        """True if `secret` is the one in the link. Compared in constant time."""
        return hmac.compare_digest(hashlib.sha256(secret).hexdigest(), self.secret_sha256)


def check_terms(uses: object, role: object) -> None:
    """Raises Malformed unless uses and role can be offered."""
    if type(uses) is not int or not 1 <= uses <= INVITATION_USES_MAX:
        raise Malformed("invalid_params", f"uses is 1 to {INVITATION_USES_MAX}.", field="uses")
    if role not in ("member", "listener"):
        raise Malformed("invalid_params", "role is member or listener.", field="role")


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationLink:
    """Everything that stands in a link. `addresses` are hints; `inviter_key` is the anchor."""

    room_id: str
    invitation_id: str
    inviter_key: bytes
    addresses: tuple[str, ...]
    secret: bytes
    expires_at_s: int

    def __repr__(self) -> str:
        return f"InvitationLink({self.invitation_id})"

    @property
    def secret_sha256(self) -> str:
        """What the log knows of the secret."""
        return hashlib.sha256(self.secret).hexdigest()

    def encode(self, base: str) -> str:
        """The link at a base URL such as `https://192.0.2.7:7420`."""
        body = canonical.encode(
            {
                "v": _VERSION,
                "room_id": self.room_id,
                "id": self.invitation_id,
                "key": ids.b64(self.inviter_key),
                "to": list(self.addresses),
                "secret": ids.b64(self.secret),
                "exp": self.expires_at_s,
            }
        )
        return f"{base.rstrip('/')}/i#{ids.b64(body + _checksum(body))}"

    def preview_mac(self, nonce: bytes) -> bytes:
        """Proof for a preview; the secret itself is not sent.

        The log's digest of the secret is the key, so every install of the room can check it.
        """
        return preview_mac(self.secret_sha256, nonce)


def preview_mac(secret_sha256: str, nonce: bytes) -> bytes:
    """HMAC-SHA-256 of the nonce under the digest of the secret."""
    return hmac.digest(bytes.fromhex(secret_sha256), b"roommesh/v1/preview\0" + nonce, "sha256")


def decode_link(link: str) -> InvitationLink:
    """Read a link, or only its fragment.

    Raises:
        Malformed: reason `invitation_damaged`, whatever is wrong with it.
    """
    damaged = Malformed("invitation_damaged", "This invitation link is damaged or incomplete.")
    if len(link) > INVITATION_LINK_CHARS_MAX:
        raise damaged
    try:
        raw = ids.unb64(link.strip().rpartition("#")[2], "link")
        body, check = raw[:-_CHECK_BYTES], raw[-_CHECK_BYTES:]
        if len(body) < _CHECK_BYTES or check != _checksum(body):
            raise damaged
        value = canonical.decode_object(body, INVITATION_LINK_CHARS_MAX)
        if value.keys() != _FIELDS or value["v"] != _VERSION:
            raise damaged
        expires = value["exp"]
        if type(expires) is not int or not 0 <= expires <= JSON_INT_MAX // 1000:
            raise damaged
        return InvitationLink(
            room_id=ids.check(ids.ROOM, value["room_id"], "room_id"),
            invitation_id=ids.check(ids.INVITATION, value["id"], "id"),
            inviter_key=ids.unb64(value["key"], "key", 32),
            addresses=parse_addresses(value["to"])[:ADDRESSES_PER_PEER_MAX],
            secret=ids.unb64(value["secret"], "secret", 32),
            expires_at_s=expires,
        )
    except Malformed:
        raise damaged from None


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(b"roommesh/v1/link\0" + body).digest()[:_CHECK_BYTES]
