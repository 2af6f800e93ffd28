r"""Keys: who an install is, what it signs, and how others check it.

Every signature is over `roommesh/v1/<kind>\0` + bytes, so that a signature of one kind is never
accepted as another (attack 6). Only a grant is signed as it is, for it is a compact JWS that any
JOSE library verifies: its fixed header is its domain, and begins unlike any other. One library
(libsodium through PyNaCl) decides what is valid. An install is named by its *first* public key;
a later key is signed by the one before it, and the whole chain travels in the handshake. Two
successors of one key are `duplicate_instance`.
"""

from dataclasses import dataclass
from typing import Final

from nacl.bindings import (
    crypto_sign,
    crypto_sign_BYTES,
    crypto_sign_open,
    crypto_sign_seed_keypair,
)
from nacl.exceptions import BadSignatureError

from mesh.core.errors import Malformed, Refused
from mesh.core.ids import install_id
from mesh.core.limits import KEY_CHAIN_MAX

DOMAIN: Final = b"roommesh/v1/"
JWS_START: Final = b"eyJhbGciOiJFZERTQSIsInR5cCI6InJvb21tZXNoLWdyYW50K2p3dCJ9."
KINDS: Final = frozenset(
    {"proposal", "event", "link", "grant", "rotation", "node", "address", "revocation"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """An Ed25519 key pair. Never printed: `repr` shows the public half only."""

    public: bytes
    secret: bytes

    def __repr__(self) -> str:
        return f"SigningKey(public={self.public.hex()})"

    @staticmethod
    def from_seed(seed: bytes) -> "SigningKey":
        """The key pair of 32 bytes of entropy."""
        assert len(seed) == 32, len(seed)
        public, secret = crypto_sign_seed_keypair(seed)
        return SigningKey(public=public, secret=secret)

    def sign(self, kind: str, data: bytes) -> bytes:
        """64 bytes over the domain of `kind` and `data`."""
        assert kind in KINDS, kind
        return crypto_sign(_signed(kind, data), self.secret)[:crypto_sign_BYTES]


def _signed(kind: str, data: bytes) -> bytes:
    """The bytes under a signature of that kind."""
    if kind == "grant":
        assert data.startswith(JWS_START), "a grant says that it is one"
        return data
    return DOMAIN + kind.encode() + b"\0" + data


def verify(public: bytes, kind: str, data: bytes, signature: bytes) -> bool:
    """True if `signature` is that key's word on `data` as a `kind`. Never raises on bad input."""
    assert kind in KINDS, kind
    if len(public) != 32 or len(signature) != crypto_sign_BYTES:
        return False
    if kind == "grant" and not data.startswith(JWS_START):
        return False
    try:
        crypto_sign_open(signature + _signed(kind, data), public)
    except (BadSignatureError, ValueError):
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChain:
    """An install's public keys, oldest first, and each successor's signature by its predecessor."""

    keys: tuple[bytes, ...]
    signatures: tuple[bytes, ...] = ()

    @property
    def install_id(self) -> str:
        """Who this is: named by the first key, for ever."""
        return install_id(self.keys[0])

    @property
    def current(self) -> bytes:
        """The key that signs now."""
        return self.keys[-1]

    def check(self) -> None:
        """Refuse a chain that does not hold.

        Raises:
            Malformed: no key, too many, or wrong sizes.
            Refused: reason `bad_signature`, a successor its predecessor did not sign.
        """
        if not 1 <= len(self.keys) <= KEY_CHAIN_MAX or len(self.signatures) != len(self.keys) - 1:
            raise Malformed("invalid_params", "The key chain has the wrong length.")
        if any(len(key) != 32 for key in self.keys):
            raise Malformed("invalid_params", "A key in the chain is not 32 bytes.")
        for older, newer, signature in zip(self.keys, self.keys[1:], self.signatures, strict=False):
            if not verify(older, "rotation", newer, signature):
                raise Refused("bad_signature", "A key is not signed by the one before.")
