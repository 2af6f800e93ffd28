"""The install's key and the owner's key on disk.

`identity.key` is the install: it signs links, proposals and events, and is read at every start.
`owner.key` is the person: it is needed only for an owner's certificate, so it lies sealed under a
recovery phrase that was shown once. Both are text, a line that names form and version first:

    roommesh install key 1            roommesh owner key 1
    SEED                              PUBLIC SALT OPS MEMORY_BYTES BOX

in hex. BOX is libsodium's secretbox (nonce first) of the seed under Argon2id of the phrase's
20 bytes. A key is made once and never written again. Where rooms are and the key is missing,
no new key is made: the install would be a stranger in its own rooms.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nacl.exceptions import CryptoError
from nacl.pwhash import argon2id
from nacl.secret import SecretBox

from mesh.core.errors import Refused
from mesh.core.identity import KeyChain, SigningKey
from mesh.storage import private_file
from mesh.storage.recovery_phrase import ENTROPY_BYTES, entropy_of, phrase_of

IDENTITY: Final = "identity.key"
OWNER: Final = "owner.key"
DATABASE: Final = "mesh.db"
SEED_BYTES: Final = 32
OWNER_ENTROPY_BYTES: Final = SEED_BYTES + ENTROPY_BYTES + argon2id.SALTBYTES + SecretBox.NONCE_SIZE
_KEY_FILE_BYTES_MAX: Final = 1_024
_IDENTITY_FORM: Final = re.compile(rb"roommesh install key 1\n([0-9a-f]{64})\n")
_OWNER_FORM: Final = re.compile(
    rb"roommesh owner key 1\n([0-9a-f]{64}) ([0-9a-f]{32}) ([0-9]{1,2}) ([0-9]{1,10}) "
    rb"([0-9a-f]{144})\n"
)
# A file that asks for more was not made here; it would only hold up whoever opens it.
_OPS_MAX: Final = argon2id.OPSLIMIT_SENSITIVE
_MEMORY_BYTES_MAX: Final = argon2id.MEMLIMIT_SENSITIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who this install is. `chain` ends with the public half of `key`."""

    key: SigningKey
    chain: KeyChain


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What guessing a phrase costs: passes and memory of Argon2id."""

    ops: int = argon2id.OPSLIMIT_MODERATE
    memory_bytes: int = argon2id.MEMLIMIT_MODERATE


def open_identity(home: Path, entropy: Callable[[int], bytes]) -> Identity:
    """The install's key; made from 32 bytes of `entropy` at the very first start.

    Raises:
        MeshError: reason `key_unsafe`: not private, damaged, or missing where rooms are.
    """
    path = home / IDENTITY
    try:
        data = private_file.read(path, _KEY_FILE_BYTES_MAX)
    except FileNotFoundError:
        if (home / DATABASE).exists():
            raise private_file.unsafe(
                f"{path} is missing, and {home / DATABASE} is there: its rooms know this install "
                "by that key. Restore it from a backup, or choose another --home."
            ) from None
        data = b"roommesh install key 1\n%s\n" % entropy(SEED_BYTES).hex().encode()
        private_file.create(path, data)
    found = _IDENTITY_FORM.fullmatch(data)
    if found is None:
        raise private_file.unsafe(f"{path} is damaged or cut short; restore it from a backup.")
    key = SigningKey.from_seed(bytes.fromhex(found[1].decode()))
    return Identity(key=key, chain=KeyChain(keys=(key.public,)))


def create_owner_key(
    home: Path,
    entropy: bytes,
    show: Callable[[str], None] = lambda phrase: None,
    effort: Effort = Effort(),
) -> str:
    """Make the owner's key from OWNER_ENTROPY_BYTES of entropy; return its recovery phrase.

    `show` is called with the phrase *before* the key is stored: killed in between, the next start
    makes another key and shows another phrase, and no key exists whose phrase nobody saw.
    Takes about a second and 256 MiB.

    Raises:
        FileExistsError: there is an owner key; it is left alone.
    """
    assert len(entropy) == OWNER_ENTROPY_BYTES, len(entropy)
    path = home / OWNER
    if path.exists():
        raise FileExistsError(path)
    seed, rest = entropy[:SEED_BYTES], entropy[SEED_BYTES:]
    secret, rest = rest[:ENTROPY_BYTES], rest[ENTROPY_BYTES:]
    salt, nonce = rest[: argon2id.SALTBYTES], rest[argon2id.SALTBYTES :]
    box = SecretBox(_stretched(secret, salt, effort)).encrypt(seed, nonce)
    public = SigningKey.from_seed(seed).public
    words = (public.hex(), salt.hex(), str(effort.ops), str(effort.memory_bytes), box.hex())
    data = f"roommesh owner key 1\n{' '.join(words)}\n".encode()
    assert _OWNER_FORM.fullmatch(data)
    phrase = phrase_of(secret)
    show(phrase)
    private_file.create(path, data)
    return phrase


def owner_public(home: Path) -> bytes | None:
    """The owner's public key (32 bytes), or None if none was made here.

    Raises:
        MeshError: reason `key_unsafe`.
    """
    try:
        return bytes.fromhex(_owner_fields(home)[0])
    except FileNotFoundError:
        return None


def open_owner_key(home: Path, phrase: str) -> SigningKey:
    """The owner's key, opened by the phrase as a person typed it. Takes about a second.

    Raises:
        FileNotFoundError: there is none here.
        Malformed: the phrase is mistyped.
        Refused: reason `forbidden`, a phrase of another key.
        MeshError: reason `key_unsafe`.
    """
    public, salt, ops, memory_bytes, box = _owner_fields(home)
    effort = Effort(ops=int(ops), memory_bytes=int(memory_bytes))
    secret = entropy_of(phrase)
    try:
        seed = SecretBox(_stretched(secret, bytes.fromhex(salt), effort)).decrypt(
            bytes.fromhex(box)
        )
    except CryptoError:
        raise Refused("forbidden", "That phrase does not open this owner key.") from None
    key = SigningKey.from_seed(seed)
    if key.public.hex() != public:
        raise private_file.unsafe(f"{home / OWNER} is damaged; restore it from a backup.")
    return key


def _owner_fields(home: Path) -> tuple[str, str, str, str, str]:
    path = home / OWNER
    found = _OWNER_FORM.fullmatch(private_file.read(path, _KEY_FILE_BYTES_MAX))
    if (
        found is None
        or not 1 <= int(found[3]) <= _OPS_MAX
        or not argon2id.MEMLIMIT_MIN <= int(found[4]) <= _MEMORY_BYTES_MAX
    ):
        raise private_file.unsafe(f"{path} is damaged or cut short; restore it from a backup.")
    public, salt, ops, memory_bytes, box = (part.decode() for part in found.groups())
    return public, salt, ops, memory_bytes, box


def _stretched(secret: bytes, salt: bytes, effort: Effort) -> bytes:
    return argon2id.kdf(
        SecretBox.KEY_SIZE, secret, salt, opslimit=effort.ops, memlimit=effort.memory_bytes
    )
