"""The four messages of the handshake, and the bytes that are signed.

`handshake` tells the story; here is its alphabet. Everything that arrives is checked here for
size and shape, once, before any of it is used. Messages are signed as they were received, so two
spellings of one message are two transcripts, and unknown fields may be added later.
"""

import re
from typing import Final

import msgspec

from mesh.core import ids
from mesh.core.errors import Malformed
from mesh.core.limits import (
    ADDRESS_CHARS_MAX,
    ADDRESSES_PER_PEER_MAX,
    HANDSHAKE_BYTES_MAX,
    JSON_INT_MAX,
)

NONCE_BYTES: Final = 32
BOOT_ID_BYTES: Final = 16
BINDINGS_MAX: Final = 2
PLAIN_LOOPBACK: Final = "plain:loopback"
_BINDING: Final = re.compile(r"cert:[0-9a-f]{64}|host:[a-z0-9.-]{1,253}|plain:loopback")
_ADDRESS: Final = re.compile(r"[!-~]+")


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """Messages 1 and 2: who speaks, for which boot, and what it understands."""

    keys: tuple[bytes, ...]
    signatures: tuple[bytes, ...]
    nonce: bytes
    boot_id: bytes
    version_min: int
    version_max: int
    time_ms: int
    bindings: tuple[str, ...] = ()


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What only a proved peer is told: our name, and where else we can be dialed."""

    name: str
    addresses: tuple[str, ...]


class Proof(msgspec.Struct, frozen=True, kw_only=True, tag="proof"):
    """Messages 3 and 4. `card` is the MessagePack of a Card, signed as it stands."""

    version: int
    binding: str
    card: bytes
    signature: bytes


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder[Hello | Proof](Hello | Proof)
_CARD_DECODER: Final = msgspec.msgpack.Decoder(Card)


def signed_bytes(
    *, role: str, version: int, binding: str, accept_hello: bytes, dial_hello: bytes, card: bytes
) -> bytes:
    """The bytes that the side with that role signs (kind "link")."""
    assert role in ("accept", "dial"), role
    parts = (role.encode(), str(version).encode(), binding.encode(), accept_hello, dial_hello, card)
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def encode(message: Hello | Proof | Card) -> bytes:
    """A message, or the card inside one, as MessagePack."""
    return _ENCODER.encode(message)


def read(data: bytes) -> Hello | Proof:
    """The message in `data`.

    Raises:
        Malformed: `too_large`, not a message, or a hello whose fields are out of shape.
    """
    if len(data) > HANDSHAKE_BYTES_MAX:
        raise Malformed(
            "too_large",
            f"A handshake message above {HANDSHAKE_BYTES_MAX} bytes.",
            limit=HANDSHAKE_BYTES_MAX,
        )
    try:
        message = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Malformed("invalid_params", "The bytes are not a handshake message.") from None
    if isinstance(message, Hello):
        _check_hello(message)
    return message


def read_card(data: bytes) -> Card:
    """The card in a proof, with a name that deceives nobody.

    Raises:
        Malformed: not a card, or addresses out of bounds.
    """
    try:
        card = _CARD_DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Malformed("invalid_params", "The bytes are not a card.") from None
    if len(card.addresses) > ADDRESSES_PER_PEER_MAX or any(
        len(address) > ADDRESS_CHARS_MAX or not _ADDRESS.fullmatch(address)
        for address in card.addresses
    ):
        raise Malformed("invalid_params", "The card's addresses are out of bounds.")
    return Card(name=ids.clean_name(card.name), addresses=card.addresses)


def _check_hello(hello: Hello) -> None:
    if len(hello.nonce) != NONCE_BYTES or len(hello.boot_id) != BOOT_ID_BYTES:
        raise Malformed("invalid_params", "The nonce or the boot id has the wrong size.")
    if not 0 <= hello.time_ms <= JSON_INT_MAX:
        raise Malformed("invalid_params", "The time is out of range.")
    if len(hello.bindings) > BINDINGS_MAX or not all(map(_BINDING.fullmatch, hello.bindings)):
        raise Malformed("invalid_params", "The bindings are out of shape.")
