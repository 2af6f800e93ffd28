"""Names of things: how they look, how they are made, and when a foreign one is refused.

Ids are opaque, ASCII and bounded. Entropy is an argument (bytes), so a seed replays a run.
Display names and handles come from people; `clean_name` removes what deceives the eye.
"""

import base64
import hashlib
import re
import unicodedata
from typing import Final

from mesh.core.errors import Malformed
from mesh.core.limits import HANDLE_CHARS_MAX, NAME_CHARS_MAX

INSTALL: Final = re.compile(r"install:[0-9a-f]{32}\Z")
MEMBER: Final = re.compile(r"m_[0-9a-f]{32}\Z")
ROOM: Final = re.compile(r"r_[0-9a-f]{32}\Z")
INVITATION: Final = re.compile(r"i_[0-9a-f]{32}\Z")
GRANT: Final = re.compile(r"g_[0-9a-f]{32}\Z")
TURN: Final = re.compile(r"t_[0-9a-f]{32}\Z")
OPAQUE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:~-]{0,127}\Z")
PROFILE: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}\Z")
HANDLE: Final = re.compile(r"[^\W_](?:[\w.-]{0,38}[\w])?(?:@[\w-]{1,20})?\Z")

DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")

ENTROPY_BYTES: Final = 16


def make(prefix: str, entropy: bytes) -> str:
    """Return `prefix_` + 32 hex digits of 16 bytes of entropy."""
    assert len(entropy) == ENTROPY_BYTES, len(entropy)
    return f"{prefix}_{entropy.hex()}"


def install_id(first_public_key: bytes) -> str:
    """The install's id: a digest of the first Ed25519 public key (32 bytes) it ever had."""
    assert len(first_public_key) == 32, len(first_public_key)
    return "install:" + hashlib.sha256(first_public_key).hexdigest()[:32]


def turn_id(room_id: str, root: str, trigger_key: str, member_id: str, attempt: int) -> str:
    """The id of one member's answer to one event; the same inputs name the same turn for ever."""
    text = "\0".join(("turn", room_id, root, trigger_key, member_id, str(attempt)))
    return "t_" + hashlib.sha256(text.encode()).hexdigest()[:32]


def event_key(member_id: str, event_id: str) -> str:
    """The log's key of an event: nobody can squat another member's event id."""
    return hashlib.sha256(f"{member_id}\0{event_id}".encode()).hexdigest()


def check(pattern: re.Pattern[str], value: object, field: str) -> str:
    """Return `value` if it is a string of that shape.

    Raises:
        Malformed: reason `invalid_params`, naming the field.
    """
    if not isinstance(value, str) or not pattern.match(value):
        raise Malformed("invalid_params", f"{field} does not have the right form.", field=field)
    return value


# Bidirectional controls, zero-width and other invisible formatting: they make one name look like
# another, or turn the line around (attack 65, situation 86).
_INVISIBLE: Final = {"Cf", "Cc", "Cs", "Co", "Zl", "Zp"}
# What draws nothing by any other category: fillers, joiners, variation selectors, noncharacters.
# Code points without a character are *not* hidden, but for those that never draw: what one
# Python does not know yet, a later one does, and two installs must not judge one name apart.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2065\u2800\u3164\uffa0") | frozenset(
    chr(code)
    for code in (
        *range(0x180B, 0x1810),
        *range(0xFDD0, 0xFDF0),
        *range(0xFE00, 0xFE10),
        *range(0xFFF0, 0xFFF9),
        *range(0xE0000, 0xE1000),
        *(plane * 0x10000 + end for plane in range(17) for end in (0xFFFE, 0xFFFF)),
    )
)


def clean_name(value: object, field: str = "name", chars_max: int = NAME_CHARS_MAX) -> str:
    """Return a display name that deceives nobody: NFC, no controls, one line, bounded.

    Raises:
        Malformed: not a string, too long, or nothing visible is left.
    """
    if not isinstance(value, str):
        raise Malformed("invalid_params", f"{field} must be text.", field=field)
    if len(value) > 4 * chars_max:
        raise Malformed("invalid_params", f"{field} is longer than {chars_max}.", field=field)
    shown = "".join(c for c in value if c in "\t\n" or not _is_hidden(c))
    shown = " ".join(unicodedata.normalize("NFC", shown).split())
    marks = sum(unicodedata.category(c) in {"Mn", "Me"} for c in shown)
    if not shown or marks * 2 > len(shown):
        raise Malformed("invalid_params", f"{field} has nothing visible in it.", field=field)
    if len(shown) > chars_max:
        raise Malformed("invalid_params", f"{field} is longer than {chars_max}.", field=field)
    return shown


def _is_hidden(character: str) -> bool:
    return character in _BLANK or unicodedata.category(character) in _INVISIBLE


def handle_from(name: str) -> str:
    """A handle made of a display name: lower case, words joined by `-`. Never empty."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", name).casefold())
    return ("-".join(words) or "member")[: HANDLE_CHARS_MAX // 2].strip("-") or "member"


def unique_handle(wanted: str, place: str, taken: frozenset[str]) -> str:
    """`wanted`, or `wanted@place`, or with a number: the first that nobody in the room has.

    Comparison folds case and compatibility forms, so that look-alikes by case are one.
    """
    base = wanted[: HANDLE_CHARS_MAX // 2]
    tries = [base, f"{base}@{handle_from(place)}"]
    for candidate in tries:
        if fold_handle(candidate) not in taken:
            return candidate
    number = 2
    while fold_handle(f"{base}-{number}") in taken:
        number += 1
    return f"{base}-{number}"


def fold_handle(handle: str) -> str:
    """The form in which two handles are compared."""
    return unicodedata.normalize("NFKC", handle).casefold()


def b64(data: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: object, field: str, size_bytes: int | None = None) -> bytes:
    """Decode canonical base64url without padding.

    Raises:
        Malformed: other alphabet, padding, a second spelling of the same bytes, or wrong size.
    """
    wrong = Malformed("invalid_params", f"{field} is not base64url.", field=field)
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise wrong
    if len(text) % 4 == 1:
        raise wrong
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if b64(data) != text or (size_bytes is not None and len(data) != size_bytes):
        raise wrong
    return data
