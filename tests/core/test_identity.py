"""Keys: one strict verifier, signatures of one kind only, chains that hold (attacks 4 and 6)."""

from itertools import pairwise

import pytest

from mesh.core import identity
from mesh.core.errors import Malformed, Refused
from mesh.core.identity import JWS_START, KINDS, KeyChain, SigningKey, verify
from mesh.core.limits import KEY_CHAIN_MAX

KEY, OTHER = (SigningKey.from_seed(bytes([n]) * 32) for n in (1, 2))
DATA = b"what is said"
SIGNATURE = KEY.sign("proposal", DATA)

# The order of the group, and encodings that are not the one of their point (RFC 8032, 5.1).
ORDER = 2**252 + 27742317777372353535851937790883648493
PRIME = 2**255 - 19


def number(value: int) -> bytes:
    """32 bytes, the lowest first."""
    return value.to_bytes(32, "little")


SMALL_ORDER = {
    "1": number(1),
    "-1": number(PRIME - 1),
    "0": number(0),
    "0, sign": number(2**255),
    "order 8": bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    "order 8, sign": bytes.fromhex(
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"
    ),
    "order 8, other": bytes.fromhex(
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"
    ),
    "order 8, other, sign": bytes.fromhex(
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"
    ),
    "1, not canonical": number(PRIME + 1),
    "0, not canonical": number(PRIME),
    "1, sign": number(1 + 2**255),
    "0, not canonical, sign": number(PRIME + 2**255),
}


def test_a_signature_holds() -> None:
    assert verify(KEY.public, "proposal", DATA, SIGNATURE)
    assert not verify(OTHER.public, "proposal", DATA, SIGNATURE)
    assert not verify(KEY.public, "proposal", DATA + b"!", SIGNATURE)


def test_a_signature_of_one_kind_is_worth_nothing_as_another() -> None:
    data = JWS_START + DATA
    for signed in KINDS:
        signature = KEY.sign(signed, data)
        assert [k for k in KINDS if verify(KEY.public, k, data, signature)] == [signed]


def test_what_does_not_begin_as_a_grant_is_none() -> None:
    """A grant has no other domain than its header: without it nothing is signed or verified."""
    with pytest.raises(AssertionError):
        KEY.sign("grant", identity.DOMAIN + b"link\0" + DATA)
    signature = KEY.sign("link", DATA)
    assert not verify(KEY.public, "grant", identity.DOMAIN + b"link\0" + DATA, signature)


def test_one_bit_anywhere_undoes_it() -> None:
    for at in range(len(SIGNATURE) * 8):
        flipped = bytearray(SIGNATURE)
        flipped[at // 8] ^= 1 << at % 8
        assert not verify(KEY.public, "proposal", DATA, bytes(flipped)), at


@pytest.mark.parametrize("size", [0, 1, 32, 63, 65, 128])
def test_a_signature_of_another_size_is_none(size: int) -> None:
    assert not verify(KEY.public, "proposal", DATA, (SIGNATURE * 2)[:size])


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_a_key_of_another_size_is_none(size: int) -> None:
    assert not verify((KEY.public * 2)[:size], "proposal", DATA, SIGNATURE)


def test_a_scalar_that_is_not_reduced_is_refused() -> None:
    scalar = int.from_bytes(SIGNATURE[32:], "little")
    for times in range(1, 9):
        malleable = SIGNATURE[:32] + number(scalar + times * ORDER)
        assert not verify(KEY.public, "proposal", DATA, malleable), times


@pytest.mark.parametrize("point", SMALL_ORDER.values(), ids=SMALL_ORDER)
def test_points_of_small_order_are_refused(point: bytes) -> None:
    """Under such a key one signature would hold for many messages, or for all."""
    for scalar in (0, 1, int.from_bytes(SIGNATURE[32:], "little")):
        for r in (point, number(1), SIGNATURE[:32]):
            assert not verify(point, "proposal", DATA, r + number(scalar))
    assert not verify(KEY.public, "proposal", DATA, point + SIGNATURE[32:])


def test_a_point_not_on_the_curve_is_refused() -> None:
    for value in (2, 7, PRIME - 2, PRIME + 2, PRIME + 18):
        assert not verify(number(value), "proposal", DATA, SIGNATURE)
        assert not verify(KEY.public, "proposal", DATA, number(value) + SIGNATURE[32:])


def test_a_secret_is_not_printed() -> None:
    assert KEY.secret.hex()[:64] not in repr(KEY) and KEY.public.hex() in repr(KEY)


# --- chains of keys -----------------------------------------------------------------------------


def chain(*seeds: int) -> KeyChain:
    """Keys by seed, each signed by the one before it."""
    keys = [SigningKey.from_seed(bytes([s]) * 32) for s in seeds]
    return KeyChain(
        keys=tuple(k.public for k in keys),
        signatures=tuple(
            old.sign("rotation", new.public) for old, new in pairwise(keys)
        ),
    )


def test_an_install_keeps_its_name_when_its_key_changes() -> None:
    chain(1).check()
    grown = chain(1, 2, 3)
    grown.check()
    assert grown.install_id == chain(1).install_id
    assert grown.current == SigningKey.from_seed(bytes([3]) * 32).public


def test_a_successor_that_was_not_named_is_refused() -> None:
    good = chain(1, 2, 3)
    for bad in (
        KeyChain(keys=good.keys, signatures=good.signatures[::-1]),
        KeyChain(keys=good.keys[::-1], signatures=good.signatures),
        KeyChain(keys=good.keys[:2], signatures=(KEY.sign("link", good.keys[1]),)),
    ):
        with pytest.raises(Refused) as refused:
            bad.check()
        assert refused.value.reason == "bad_signature"


@pytest.mark.parametrize(
    "bad",
    [
        KeyChain(keys=()),
        KeyChain(keys=(KEY.public,), signatures=(bytes(64),)),
        KeyChain(keys=(KEY.public, OTHER.public)),
        KeyChain(keys=(b"short",)),
        chain(*range(1, KEY_CHAIN_MAX + 2)),
    ],
)
def test_a_chain_of_the_wrong_shape_is_malformed(bad: KeyChain) -> None:
    with pytest.raises(Malformed):
        bad.check()


def test_the_domain_separates() -> None:
    assert identity.DOMAIN == b"roommesh/v1/"
    assert not JWS_START.startswith(identity.DOMAIN[:1])
