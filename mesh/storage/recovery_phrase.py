"""Twelve groups of three letters and digits that a person can copy from paper.

160 bits of entropy and 20 bits of checksum in Crockford's alphabet (no I, L, O, U): 36
characters of five bits. Case, spaces and dashes do not matter, and O, I and L are read as the
digits they look like. The checksum tells a slip of the pen from a wrong phrase before anything
slow is done.
"""

import hashlib
from typing import Final

from mesh.core.errors import Malformed

ENTROPY_BYTES: Final = 20
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_GROUPS: Final = 12
_GROUP_CHARS: Final = 3
_CHECK_BITS: Final = 20
_READ_AS: Final = str.maketrans({"O": "0", "I": "1", "L": "1", " ": None, "-": None})

assert _GROUPS * _GROUP_CHARS * 5 == ENTROPY_BYTES * 8 + _CHECK_BITS


def phrase_of(entropy: bytes) -> str:
    """The phrase of 20 bytes."""
    assert len(entropy) == ENTROPY_BYTES, len(entropy)
    number = int.from_bytes(entropy, "big") << _CHECK_BITS | _check(entropy)
    chars = [_ALPHABET[number >> shift & 31] for shift in range(175, -1, -5)]
    text = "".join(chars)
    return " ".join(text[at : at + _GROUP_CHARS] for at in range(0, len(text), _GROUP_CHARS))


def entropy_of(phrase: str) -> bytes:
    """The 20 bytes of a phrase as a person typed it.

    Raises:
        Malformed: too short, too long, a strange character, or the checksum does not fit.
    """
    text = " ".join(phrase.split()).upper().translate(_READ_AS)
    if len(text) != _GROUPS * _GROUP_CHARS:
        raise Malformed("invalid_params", "The phrase has twelve groups of three characters.")
    number = 0
    for char in text:
        value = _ALPHABET.find(char)
        if value < 0:
            raise Malformed("invalid_params", "The phrase has a character that none can have.")
        number = number << 5 | value
    entropy = (number >> _CHECK_BITS).to_bytes(ENTROPY_BYTES, "big")
    if number & (1 << _CHECK_BITS) - 1 != _check(entropy):
        raise Malformed("invalid_params", "A character of the phrase is mistyped.")
    return entropy


def _check(entropy: bytes) -> int:
    digest = hashlib.sha256(b"roommesh/v1/phrase\0" + entropy).digest()
    return int.from_bytes(digest[:4], "big") >> (32 - _CHECK_BITS)
