"""The alphabet of the handshake: what may be said, in which shape, and what is signed."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Malformed
from mesh.core.limits import HANDSHAKE_BYTES_MAX
from mesh.wire.transcript import Card, Hello, Proof, encode, read, read_card, signed_bytes

HELLO = Hello(
    keys=(bytes(32),),
    signatures=(),
    nonce=bytes(32),
    boot_id=bytes(16),
    version_min=1,
    version_max=1,
    time_ms=5,
    bindings=("plain:loopback", "host:mesh.example.org"),
)
PROOF = Proof(version=1, binding="plain:loopback", card=b"c", signature=b"s")
PARTS = {
    "role": "dial",
    "binding": "plain:loopback",
    "accept_hello": b"ab",
    "dial_hello": b"cd",
    "card": b"e",
}


@pytest.mark.parametrize("message", [HELLO, PROOF])
def test_a_message_comes_back_as_it_was(message: Hello | Proof) -> None:
    assert read(encode(message)) == message


def test_a_field_of_a_later_version_is_passed_over() -> None:
    later = msgspec.msgpack.decode(encode(HELLO)) | {"colour": "green"}
    assert read(msgspec.msgpack.encode(later)) == HELLO


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": bytes(31)},
        {"boot_id": bytes(17)},
        {"time_ms": -1},
        {"time_ms": 2**53},
        {"bindings": ("plain:loopback",) * 3},
        {"bindings": ("plain:elsewhere",)},
        {"bindings": ("cert:" + "AB" * 32,)},
        {"bindings": ("host:a\n",)},
    ],
)
def test_a_hello_out_of_shape_is_malformed(change: dict[str, object]) -> None:
    with pytest.raises(Malformed):
        read(encode(msgspec.structs.replace(HELLO, **change)))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_malformed(data: bytes) -> None:
    for reader in (read, read_card):
        try:
            reader(data)
        except Malformed as error:
            assert error.reason == "invalid_params"


def test_deep_and_large_bytes_are_malformed() -> None:
    with pytest.raises(Malformed):
        read(b"\x82\xa4type\xa5hello\xa1z" + b"\x91" * (HANDSHAKE_BYTES_MAX - 20))
    with pytest.raises(Malformed) as caught:
        read(bytes(HANDSHAKE_BYTES_MAX + 1))
    assert caught.value.reason == "too_large"


def test_a_card_is_cleaned_and_bounded() -> None:
    card = Card(name=" lap\u202etop ", addresses=("https://192.168.1.4:7420",))
    assert read_card(encode(card)) == Card(name="laptop", addresses=card.addresses)
    with pytest.raises(Malformed):
        read_card(encode(Card(name="laptop", addresses=("https://a:1",) * 9)))


def test_what_is_signed_says_where_each_part_ends() -> None:
    def signed(**changed: object) -> bytes:
        return signed_bytes(version=1, **(PARTS | changed))  # type: ignore[arg-type]

    assert signed() == (
        b"\0\0\0\x04dial\0\0\0\x011\0\0\0\x0eplain:loopback\0\0\0\x02ab\0\0\0\x02cd\0\0\0\x01e"
    )
    variants = {
        signed(),
        signed(role="accept"),
        signed(accept_hello=b"abc", dial_hello=b"d"),
        signed(dial_hello=b"cde", card=b""),
        signed(binding="host:a"),
    }
    assert len(variants) == 5
