"""Grants: signed, narrow, expiring permissions, bound to the key of their holder.

A grant is a compact JWS with one fixed protected header, compared byte for byte. No algorithm,
key or URL is ever taken from the token (attacks 3, 5): the key comes from the log. It travels
only on links and is used only on a link whose handshake proved the key in `cnf`, so a stolen
grant is worth nothing. The verifier checks in one fixed order, each step with its own reason:
size, form, header, issuer, signature, audience, room, member, profile, authority, epoch, time,
revoked, holder, catalog, policy, permission.
"""

from dataclasses import dataclass
from typing import Any, Final

from mesh.core import canonical, ids
from mesh.core.errors import Malformed, Refused
from mesh.core.identity import JWS_START, SigningKey, verify
from mesh.core.limits import CLOCK_SKEW_S, GRANT_BYTES_MAX, GRANT_TTL_MAX_S, JSON_INT_MAX
from mesh.core.member import parse_permissions

HEADER: Final = b'{"alg":"EdDSA","typ":"roommesh-grant+jwt"}'
_HEADER_B64: Final = ids.b64(HEADER)
assert f"{_HEADER_B64}.".encode() == JWS_START, "what sets grants apart from all else we sign"
_CLAIMS: Final = frozenset(
    {
        "iss",
        "aud",
        "cnf",
        "jti",
        "room_id",
        "member_id",
        "authority_gateway_id",
        "authority_epoch",
        "target_profile",
        "catalog_digest",
        "policy_digest",
        "permissions",
        "iat",
        "nbf",
        "exp",
        "continuation",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a verified token says. Times are seconds since 1970, as JWS has them."""

    grant_id: str
    issuer: str
    audience: str
    holder_key: bytes
    room_id: str
    member_id: str
    authority_install_id: str
    authority_epoch: int
    profile: str
    catalog_digest: str
    policy_digest: str
    permissions: tuple[str, ...]
    issued_at_s: int
    not_before_s: int
    expires_at_s: int
    continuation: bool

    def to_claims(self) -> dict[str, Any]:
        """The JSON claims."""
        return {
            "iss": self.issuer,
            "aud": self.audience,
            "cnf": {"jwk": {"crv": "Ed25519", "kty": "OKP", "x": ids.b64(self.holder_key)}},
            "jti": self.grant_id,
            "room_id": self.room_id,
            "member_id": self.member_id,
            "authority_gateway_id": self.authority_install_id,
            "authority_epoch": self.authority_epoch,
            "target_profile": self.profile,
            "catalog_digest": self.catalog_digest,
            "policy_digest": self.policy_digest,
            "permissions": list(self.permissions),
            "iat": self.issued_at_s,
            "nbf": self.not_before_s,
            "exp": self.expires_at_s,
            "continuation": self.continuation,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a grant is being used for, all from places the token cannot influence."""

    audience: str
    holder_key: bytes
    room_id: str
    member_id: str
    profile: str
    authority_install_id: str
    authority_epoch: int
    catalog_digest: str
    policy_digest: str
    permission: str
    now_s: int


def issue(key: SigningKey, grant: Grant) -> bytes:
    """Sign a grant: the compact token."""
    assert grant.expires_at_s - grant.issued_at_s <= GRANT_TTL_MAX_S
    signed = f"{_HEADER_B64}.{ids.b64(canonical.encode(grant.to_claims()))}".encode()
    return signed + b"." + ids.b64(key.sign("grant", signed)).encode()


def read(token: bytes) -> tuple[Grant, bytes, bytes]:
    """Parse a token without trusting it: the claims, the signed bytes, the signature.

    Raises:
        Malformed: reason `grant_invalid`, or `too_large`.
    """
    if len(token) > GRANT_BYTES_MAX:
        raise Malformed("too_large", f"A grant has at most {GRANT_BYTES_MAX} bytes.")
    try:
        header, body, tail = token.decode("ascii").split(".")
        if header != _HEADER_B64:
            raise Malformed("grant_invalid", "The grant's header is not the one we know.")
        raw = ids.unb64(body, "grant")
        claims = canonical.decode_object(raw, GRANT_BYTES_MAX)
        if claims.keys() != _CLAIMS or not canonical.is_canonical(raw, claims):
            raise Malformed("grant_invalid", "The grant's claims are not canonical.")
        return _parse(claims), f"{header}.{body}".encode(), ids.unb64(tail, "grant", 64)
    except Malformed as error:
        if error.reason == "grant_invalid":
            raise
        raise Malformed("grant_invalid", "The grant is not well formed.") from None
    except (ValueError, UnicodeDecodeError):
        raise Malformed("grant_invalid", "The grant is not a compact JWS.") from None


def check(token: bytes, issuer_key: bytes | None, use: Use, revoked: frozenset[str]) -> Grant:
    """Verify a grant for one use, offline.

    `issuer_key` is what the *log* names as the key of the issuing install, or None if unknown.

    Raises:
        Malformed, Refused: with the reason of the first step that fails.
    """
    grant, signed, signature = read(token)
    # Until keys can be rotated, the key that signs is the key that names the issuer.
    if issuer_key is None or ids.install_id(issuer_key) != grant.issuer:
        raise Refused("unknown_issuer", "The grant's issuer is not known here.")
    if not verify(issuer_key, "grant", signed, signature):
        raise Refused("bad_signature", "The grant's signature does not hold.")
    for ok, reason in (
        (grant.audience == use.audience, "wrong_audience"),
        (grant.room_id == use.room_id, "wrong_room"),
        (grant.member_id == use.member_id, "wrong_room"),
        (grant.profile == use.profile, "wrong_profile"),
        (grant.authority_install_id == use.authority_install_id, "wrong_authority"),
    ):
        if not ok:
            raise Refused(reason, "The grant is for something else.")
    if grant.authority_epoch != use.authority_epoch:
        older = grant.authority_epoch < use.authority_epoch
        raise Refused(
            "stale_epoch" if older else "unknown_epoch",
            "The grant is for another epoch of the room.",
            epoch=use.authority_epoch,
        )
    _check_time(grant, use.now_s)
    if grant.grant_id in revoked:
        raise Refused("grant_revoked", "The grant was revoked.")
    if grant.holder_key != use.holder_key:
        raise Refused("proof_required", "The grant belongs to another key.")
    if grant.catalog_digest != use.catalog_digest:
        raise Refused("catalog_changed", "What the profile offers has changed.")
    if grant.policy_digest != use.policy_digest:
        raise Refused("policy_changed", "How the profile runs has changed.")
    if use.permission not in grant.permissions:
        raise Refused("forbidden", f"The loan does not allow {use.permission}.")
    return grant


def _check_time(grant: Grant, now_s: int) -> None:
    if not grant.issued_at_s <= grant.not_before_s < grant.expires_at_s:
        raise Malformed("grant_invalid", "The grant's times are out of order.")
    if grant.expires_at_s - grant.issued_at_s > GRANT_TTL_MAX_S:
        raise Malformed("grant_invalid", "The grant lives too long.")
    if now_s >= grant.expires_at_s:
        raise Refused("grant_expired", "The grant has expired.", late_s=now_s - grant.expires_at_s)
    if now_s + CLOCK_SKEW_S < grant.not_before_s:
        raise Refused("skew", "The grant begins later.", early_s=grant.not_before_s - now_s)


def _parse(claims: dict[str, Any]) -> Grant:
    cnf = claims["cnf"]
    jwk = cnf.get("jwk") if isinstance(cnf, dict) and cnf.keys() == {"jwk"} else None
    if not isinstance(jwk, dict) or jwk.keys() != {"crv", "kty", "x"}:
        raise ValueError("cnf")
    if jwk["crv"] != "Ed25519" or jwk["kty"] != "OKP":
        raise ValueError("cnf")
    if type(claims["continuation"]) is not bool:
        raise ValueError("continuation")
    for name in ("catalog_digest", "policy_digest"):
        ids.check(ids.DIGEST, claims[name], name)
    return Grant(
        grant_id=ids.check(ids.GRANT, claims["jti"], "jti"),
        issuer=ids.check(ids.INSTALL, claims["iss"], "iss"),
        audience=ids.check(ids.INSTALL, claims["aud"], "aud"),
        holder_key=ids.unb64(jwk["x"], "cnf", 32),
        room_id=ids.check(ids.ROOM, claims["room_id"], "room_id"),
        member_id=ids.check(ids.MEMBER, claims["member_id"], "member_id"),
        authority_install_id=ids.check(ids.INSTALL, claims["authority_gateway_id"], "authority"),
        authority_epoch=_number(claims["authority_epoch"]),
        profile=ids.check(ids.PROFILE, claims["target_profile"], "target_profile"),
        catalog_digest=claims["catalog_digest"],
        policy_digest=claims["policy_digest"],
        permissions=parse_permissions(claims["permissions"]),
        issued_at_s=_number(claims["iat"]),
        not_before_s=_number(claims["nbf"]),
        expires_at_s=_number(claims["exp"]),
        continuation=claims["continuation"],
    )


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value <= JSON_INT_MAX:
        raise ValueError("number")
    return value
