"""Grants: one form, one order of checks, nothing taken from the token (attacks 1 to 6, 11 to 15).

Attacks 7 to 10 are about proofs of possession. A grant travels only on links, whose handshake is
that proof: what is left of them here is the holder's key (8).
"""

import hmac
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from joserfc import jws
from joserfc.errors import BadSignatureError, SecurityWarning
from joserfc.jwk import OKPKey
from nacl.bindings import crypto_sign

from mesh.core import canonical, ids
from mesh.core.errors import Malformed, MeshError, Refused
from mesh.core.grant import HEADER, Grant, Use, check, issue, read
from mesh.core.identity import KINDS, SigningKey
from mesh.core.limits import CLOCK_SKEW_S, GRANT_BYTES_MAX, GRANT_TTL_MAX_S

TARGET, HOME, THIEF = (SigningKey.from_seed(bytes([n]) * 32) for n in (1, 2, 3))
NOW_S = 1_790_000_000
GRANT = Grant(
    grant_id="g_" + "1" * 32,
    issuer=ids.install_id(TARGET.public),
    audience=ids.install_id(HOME.public),
    holder_key=HOME.public,
    room_id="r_" + "1" * 32,
    member_id="m_" + "1" * 32,
    authority_install_id=ids.install_id(HOME.public),
    authority_epoch=5,
    profile="echo",
    catalog_digest="ca" * 32,
    policy_digest="90" * 32,
    permissions=("dispatch", "stop"),
    issued_at_s=NOW_S,
    not_before_s=NOW_S,
    expires_at_s=NOW_S + 3_600,
    continuation=False,
)
USE = Use(
    audience=GRANT.audience,
    holder_key=HOME.public,
    room_id=GRANT.room_id,
    member_id=GRANT.member_id,
    profile=GRANT.profile,
    authority_install_id=GRANT.authority_install_id,
    authority_epoch=GRANT.authority_epoch,
    catalog_digest=GRANT.catalog_digest,
    policy_digest=GRANT.policy_digest,
    permission="dispatch",
    now_s=NOW_S,
)
TOKEN = issue(TARGET, GRANT)


def refusal(
    token: bytes = TOKEN,
    key: bytes | None = TARGET.public,
    use: Use = USE,
    revoked: frozenset[str] = frozenset(),
) -> MeshError:
    """How a use is refused; it must be."""
    with pytest.raises(MeshError) as refused:
        check(token, key, use, revoked)
    return refused.value


def token_of(
    claims: dict[str, Any] | bytes, header: bytes = HEADER, key: SigningKey = TARGET
) -> bytes:
    """A well signed token of anything."""
    body = claims if isinstance(claims, bytes) else canonical.encode(claims)
    signed = f"{ids.b64(header)}.{ids.b64(body)}".encode()
    # Signed by hand: our own key signs nothing as a grant that does not begin as one.
    return signed + b"." + ids.b64(crypto_sign(signed, key.secret)[:64]).encode()


def test_a_grant_holds_for_what_it_says() -> None:
    assert check(TOKEN, TARGET.public, USE, frozenset()) == GRANT
    assert read(TOKEN)[0] == GRANT and len(TOKEN) < GRANT_BYTES_MAX / 2


def test_another_library_verifies_it() -> None:
    """It is a JWS like any other to who has the key. (The name EdDSA is old, and is the frozen.)"""

    def verified(key: SigningKey) -> jws.CompactSignature:
        jwk = OKPKey.import_key({"kty": "OKP", "crv": "Ed25519", "x": ids.b64(key.public)})
        with pytest.warns(SecurityWarning, match="EdDSA is deprecated"):
            return jws.deserialize_compact(TOKEN, jwk, algorithms=["EdDSA"])

    token = verified(TARGET)
    assert token.headers() == {"alg": "EdDSA", "typ": "roommesh-grant+jwt"}
    assert json.loads(token.payload) == GRANT.to_claims()
    with pytest.raises(BadSignatureError):
        verified(THIEF)


# --- forged, damaged, foreign -------------------------------------------------------------------


def test_an_unknown_issuer_is_refused() -> None:
    assert (refusal(key=None).reason, refusal(key=None).status) == ("unknown_issuer", 401)


def test_a_grant_that_names_another_issuer_than_signed_it_is_refused() -> None:
    forged = issue(THIEF, GRANT)
    assert refusal(forged).reason == "bad_signature"
    assert refusal(forged, THIEF.public).reason == "unknown_issuer"


def test_one_changed_byte_anywhere_is_refused() -> None:
    for at in range(len(TOKEN)):
        for other in (TOKEN[at] ^ 1, ord("A"), ord("."), 255):
            if other != TOKEN[at]:
                damaged = TOKEN[:at] + bytes([other]) + TOKEN[at + 1 :]
                # A byte within `iss` names an issuer whom nobody knows.
                assert refusal(damaged).reason in {
                    "bad_signature", "grant_invalid", "unknown_issuer",
                }, at


@pytest.mark.parametrize(
    "token",
    [b"", b".", b"..", b"...", TOKEN[:-1], TOKEN + b"=", TOKEN + b".x", b" " + TOKEN,
     TOKEN.replace(b".", b" "), TOKEN.rpartition(b".")[0], TOKEN.rpartition(b".")[0] + b".",
     b"\xff" + TOKEN, TOKEN.partition(b".")[2]],
)
def test_what_is_no_compact_token_is_malformed(token: bytes) -> None:
    assert (refusal(token).reason, refusal(token).status) == ("grant_invalid", 422)


def test_size_comes_first() -> None:
    assert refusal(b"x" * (GRANT_BYTES_MAX + 1)).reason == "too_large"
    with pytest.raises(Malformed):
        read(TOKEN + b"A" * GRANT_BYTES_MAX)


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none", "typ": "roommesh-grant+jwt"},
        {"alg": "HS256", "typ": "roommesh-grant+jwt"},
        {"alg": "RS256", "typ": "roommesh-grant+jwt"},
        {"typ": "roommesh-grant+jwt"},
        {"alg": "EdDSA"},
        {"alg": "EdDSA", "typ": "JWT"},
        {"alg": "EdDSA", "typ": "roommesh-grant+jwt", "kid": "../../etc/passwd"},
        {"alg": "EdDSA", "typ": "roommesh-grant+jwt", "jku": "http://127.0.0.1/"},
        {"alg": "EdDSA", "typ": "roommesh-grant+jwt", "x5u": "http://127.0.0.1/"},
        {"alg": "EdDSA", "jwk": {"kty": "OKP", "crv": "Ed25519", "x": ids.b64(THIEF.public)}},
        {"alg": "EdDSA", "typ": "roommesh-grant+jwt", "crit": []},
    ],
    ids=str,
)
def test_the_header_is_compared_and_never_obeyed(header: dict[str, Any]) -> None:
    for key in (TARGET, THIEF):
        text = json.dumps(header, separators=(",", ":")).encode()
        refused = refusal(token_of(GRANT.to_claims(), text, key))
        assert (refused.reason, refused.status) == ("grant_invalid", 422)


def test_the_public_key_is_no_shared_secret() -> None:
    for header in (b'{"alg":"HS256","typ":"roommesh-grant+jwt"}', HEADER):
        signed = f"{ids.b64(header)}.{ids.b64(canonical.encode(GRANT.to_claims()))}".encode()
        for size in ("sha256", "sha512"):
            mac = hmac.digest(TARGET.public, signed, size)
            assert refusal(signed + b"." + ids.b64(mac).encode()).reason in {
                "grant_invalid", "bad_signature",
            }


def test_a_signature_of_another_kind_is_no_grant() -> None:
    signed = TOKEN.rpartition(b".")[0]
    for kind in sorted(KINDS - {"grant"}):
        token = signed + b"." + ids.b64(TARGET.sign(kind, signed)).encode()
        assert refusal(token).reason == "bad_signature"


# --- the claims ---------------------------------------------------------------------------------

ODD_CLAIMS: dict[str, dict[str, Any]] = {
    "a claim more": {"admin": True},
    "a foreign issuer id": {"iss": "https://example.org"},
    "an audience list": {"aud": [GRANT.audience]},
    "exp = 2^53": {"exp": 2**53 - 1},
    "exp is negative": {"exp": -1},
    "exp is text": {"exp": "1790003600"},
    "exp is true": {"exp": True},
    "exp is null": {"exp": None},
    "exp before nbf": {"exp": NOW_S - 1, "nbf": NOW_S},
    "exp = nbf": {"exp": NOW_S},
    "nbf before iat": {"nbf": NOW_S - 1},
    "more than a day": {"exp": NOW_S + GRANT_TTL_MAX_S + 1},
    "a permission of its own": {"permissions": ["root"]},
    "permissions as text": {"permissions": "dispatch"},
    "a short digest": {"catalog_digest": "ca"},
    "a digest in capitals": {"policy_digest": "9A" * 32},
    "continuation as a number": {"continuation": 1},
    "a profile with a path": {"target_profile": "../echo"},
    "no holder": {"cnf": {}},
    "a holder by URL": {"cnf": {"jku": "http://127.0.0.1/"}},
    "a holder of another kind": {"cnf": {"jwk": {"crv": "X25519", "kty": "OKP", "x": "AA"}}},
    "a holder with more": {
        "cnf": {"jwk": {"crv": "Ed25519", "kty": "OKP", "x": ids.b64(HOME.public), "d": "AA"}}
    },
    "a short holder": {"cnf": {"jwk": {"crv": "Ed25519", "kty": "OKP", "x": "AAAA"}}},
}


@pytest.mark.parametrize("change", ODD_CLAIMS.values(), ids=ODD_CLAIMS)
def test_claims_of_another_form_are_malformed(change: dict[str, Any]) -> None:
    refused = refusal(token_of(GRANT.to_claims() | change))
    assert (refused.reason, refused.status) == ("grant_invalid", 422)


def test_a_missing_claim_is_malformed() -> None:
    for claim in GRANT.to_claims():
        claims = {k: v for k, v in GRANT.to_claims().items() if k != claim}
        assert refusal(token_of(claims)).reason == "grant_invalid", claim


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(GRANT.to_claims()).encode(),
        canonical.encode(GRANT.to_claims()).replace(b'"exp"', b'"exp":1,"exp"'),
        canonical.encode(GRANT.to_claims()).replace(b"1790003600", b"9223372036854775808"),
        canonical.encode(GRANT.to_claims()).replace(b"1790003600", b"1790003600.0"),
        canonical.encode(GRANT.to_claims()).replace(b"1790003600", b"1.7900036e9"),
        b"[]", b"null", b"", b"\xff",
    ],
)
def test_a_body_that_is_not_canonical_is_malformed(body: bytes) -> None:
    assert refusal(token_of(body)).reason == "grant_invalid"


# --- used for something else --------------------------------------------------------------------

OTHER = ids.install_id(THIEF.public)


@pytest.mark.parametrize(
    ("use", "reason", "status"),
    [
        ({"audience": OTHER}, "wrong_audience", 403),
        ({"room_id": "r_" + "9" * 32}, "wrong_room", 403),
        ({"member_id": "m_" + "9" * 32}, "wrong_room", 403),
        ({"profile": "guide"}, "wrong_profile", 403),
        ({"authority_install_id": OTHER}, "wrong_authority", 403),
        ({"authority_epoch": 6}, "stale_epoch", 421),
        ({"authority_epoch": 4}, "unknown_epoch", 503),
        ({"now_s": NOW_S + 3_600}, "grant_expired", 403),
        ({"now_s": NOW_S + 3_601}, "grant_expired", 403),
        ({"now_s": NOW_S - CLOCK_SKEW_S - 1}, "skew", 401),
        ({"holder_key": THIEF.public}, "proof_required", 401),
        ({"catalog_digest": "00" * 32}, "catalog_changed", 409),
        ({"policy_digest": "00" * 32}, "policy_changed", 409),
        ({"permission": "speak"}, "forbidden", 403),
    ],
)
def test_each_other_use_has_its_reason(use: dict[str, Any], reason: str, status: int) -> None:
    refused = refusal(use=replace(USE, **use))
    assert (refused.reason, refused.status) == (reason, status)


def test_the_edges_of_its_time() -> None:
    for now_s in (NOW_S, NOW_S + 3_599, NOW_S - CLOCK_SKEW_S):
        assert check(TOKEN, TARGET.public, replace(USE, now_s=now_s), frozenset()) == GRANT
    late = refusal(use=replace(USE, now_s=NOW_S + 3_605))
    early = refusal(use=replace(USE, now_s=NOW_S - 60))
    assert (late.fields, early.fields) == ({"late_s": 5}, {"early_s": 60}), "the difference is said"


def test_the_epoch_that_is_known_is_told() -> None:
    assert refusal(use=replace(USE, authority_epoch=6)).fields == {"epoch": 6}


def test_a_revoked_grant_stays_so_and_a_new_id_is_another_grant() -> None:
    """Attack 16: the same member again, under a new id."""
    revoked = frozenset({GRANT.grant_id})
    assert refusal(revoked=revoked).reason == "grant_revoked"
    again = replace(GRANT, grant_id="g_" + "2" * 32)
    assert check(issue(TARGET, again), TARGET.public, USE, revoked) == again


def test_steps_come_in_one_order() -> None:
    """With everything wrong at once, mending the first step shows the next one."""
    use = replace(
        USE,
        audience=OTHER,
        room_id="r_" + "9" * 32,
        member_id="m_" + "9" * 32,
        profile="guide",
        authority_install_id=OTHER,
        authority_epoch=9,
        now_s=NOW_S + 3_600,
        holder_key=THIEF.public,
        catalog_digest="00" * 32,
        policy_digest="00" * 32,
        permission="speak",
    )
    revoked = frozenset({GRANT.grant_id})
    forged = TOKEN.rpartition(b".")[0] + b"." + ids.b64(bytes(64)).encode()
    seen = [
        refusal(b"x" * 5_000, None, use, revoked).reason,
        refusal(b"x", None, use, revoked).reason,
        refusal(forged, None, use, revoked).reason,
        refusal(forged, TARGET.public, use, revoked).reason,
    ]
    mend: list[Callable[[Use], Use]] = [
        lambda u: replace(u, audience=USE.audience),
        lambda u: replace(u, room_id=USE.room_id),
        lambda u: replace(u, member_id=USE.member_id),
        lambda u: replace(u, profile=USE.profile),
        lambda u: replace(u, authority_install_id=USE.authority_install_id),
        lambda u: replace(u, authority_epoch=USE.authority_epoch),
        lambda u: replace(u, now_s=USE.now_s),
    ]
    for step in mend:
        seen.append(refusal(use=use, revoked=revoked).reason)
        use = step(use)
    seen.append(refusal(use=use, revoked=revoked).reason)
    for step in (
        lambda u: replace(u, holder_key=USE.holder_key),
        lambda u: replace(u, catalog_digest=USE.catalog_digest),
        lambda u: replace(u, policy_digest=USE.policy_digest),
    ):
        seen.append(refusal(use=use).reason)
        use = step(use)
    seen.append(refusal(use=use).reason)
    assert seen == [
        "too_large", "grant_invalid", "unknown_issuer", "bad_signature", "wrong_audience",
        "wrong_room", "wrong_room", "wrong_profile", "wrong_authority", "stale_epoch",
        "grant_expired", "grant_revoked", "proof_required", "catalog_changed", "policy_changed",
        "forbidden",
    ]


def test_a_grant_longer_than_a_day_is_not_issued() -> None:
    with pytest.raises(AssertionError):
        issue(TARGET, replace(GRANT, expires_at_s=NOW_S + GRANT_TTL_MAX_S + 1))


def test_a_grant_is_narrow() -> None:
    """Attack 20: nothing is delegated; what is not granted is refused, permission by permission."""
    for permission in ("status", "hear", "speak"):
        assert refusal(use=replace(USE, permission=permission)).reason == "forbidden"
    with pytest.raises(Refused):
        check(TOKEN, TARGET.public, replace(USE, permission="dispatch stop"), frozenset())
