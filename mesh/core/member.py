"""Members and seats: who is in a room, what they may do there, and how a seat is read.

A *seat* is the JSON inside `member.joined` and `room.created`; a `Member` is the typed value the
room keeps. Roles: `owner` (everything), `member` (send, mention, seat own agents, invite if the
policy allows, leave), `listener` (read). A role in a text or a name means nothing (attack 66).
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from mesh.core import ids
from mesh.core.errors import Malformed
from mesh.core.limits import ADDRESSES_PER_PEER_MAX, JSON_INT_MAX

ROLES: Final = ("owner", "member", "listener")
PERMISSIONS: Final = ("dispatch", "status", "stop", "hear", "speak")
_FIELDS: Final = frozenset(
    {
        "member_id",
        "handle",
        "display_name",
        "kind",
        "role",
        "install_id",
        "install_name",
        "public_key",
        "addresses",
    }
)
_OPTIONAL: Final = frozenset({"profile", "lent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Lent:
    """What an agent's install allows the room to do with it, and until when (0: no end)."""

    permissions: tuple[str, ...]
    until_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A person or an agent admitted to a room, always homed on one install."""

    member_id: str
    handle: str
    display_name: str
    kind: str
    role: str
    install_id: str
    install_name: str
    public_key: bytes
    addresses: tuple[str, ...]
    profile: str | None = None
    lent: Lent | None = None
    muted: bool = False
    withdrawn: bool = False
    joined_seq: int = 0
    joined_at_ms: int = 0
    left_seq: int = 0
    left_reason: str = ""

    @property
    def present(self) -> bool:
        """True while the member has not left and was not removed."""
        return self.left_seq == 0

    @property
    def is_agent(self) -> bool:
        """True for an agent, false for a person."""
        return self.kind == "agent"

    def may_send(self) -> bool:
        """True if this member's messages are admitted."""
        return self.present and not self.muted and self.role != "listener"

    def with_handle(self, handle: str) -> "Member":
        """The same member under a handle that is unique in its room."""
        return replace(self, handle=handle)

    def to_seat(self) -> dict[str, Any]:
        """The JSON form inside an event's payload."""
        seat: dict[str, Any] = {
            "member_id": self.member_id,
            "handle": self.handle,
            "display_name": self.display_name,
            "kind": self.kind,
            "role": self.role,
            "install_id": self.install_id,
            "install_name": self.install_name,
            "public_key": self.public_key.hex(),
            "addresses": list(self.addresses),
        }
        if self.profile is not None:
            seat["profile"] = self.profile
        if self.lent is not None:
            seat["lent"] = {
                "permissions": list(self.lent.permissions),
                "until": self.lent.until_ms,
            }
        return seat


def parse_seat(value: object) -> Member:
    """Read a seat from outside. Names are cleaned, so that what is shown deceives nobody.

    Raises:
        Malformed: any field missing, unknown, or of the wrong form.
    """
    if not isinstance(value, dict) or not _FIELDS <= value.keys() <= _FIELDS | _OPTIONAL:
        raise Malformed("invalid_params", "The member's seat has wrong fields.", field="member")
    kind, role, key = value["kind"], value["role"], value["public_key"]
    if kind not in ("person", "agent") or role not in ROLES or not isinstance(key, str):
        raise Malformed("invalid_params", "The member's seat has wrong values.", field="member")
    try:
        public_key = bytes.fromhex(key)
    except ValueError:
        public_key = b""
    if len(public_key) != 32 or public_key.hex() != key:  # one key, one spelling
        raise Malformed("invalid_params", "The member's key is not 32 bytes.", field="public_key")
    profile = value.get("profile")
    if (kind == "agent") != (profile is not None):
        raise Malformed("invalid_params", "Agents, and only agents, name a profile.")
    if profile is not None:
        ids.check(ids.PROFILE, profile, "profile")
    handle = ids.check(ids.HANDLE, value["handle"], "handle")
    if ids.clean_name(handle, "handle") != handle:
        # A letter that is not drawn would make it look like another member's (attack 65).
        raise Malformed("invalid_params", "The handle has hidden letters.", field="handle")
    return Member(
        member_id=ids.check(ids.MEMBER, value["member_id"], "member_id"),
        handle=handle,
        display_name=ids.clean_name(value["display_name"], "display_name"),
        kind=kind,
        role=role,
        install_id=ids.check(ids.INSTALL, value["install_id"], "install_id"),
        install_name=ids.clean_name(value["install_name"], "install_name"),
        public_key=public_key,
        addresses=parse_addresses(value["addresses"]),
        profile=profile,
        lent=_parse_lent(value.get("lent")),
    )


def parse_addresses(value: object) -> tuple[str, ...]:
    """Read a bounded list of address hints. Raises Malformed."""
    if not isinstance(value, list) or len(value) > ADDRESSES_PER_PEER_MAX:
        raise Malformed("invalid_params", "Too many addresses.", field="addresses")
    for item in value:
        if not isinstance(item, str) or len(item) > 256 or not item.isprintable():
            raise Malformed("invalid_params", "An address is not a URL.", field="addresses")
    return tuple(value)


def parse_permissions(value: object) -> tuple[str, ...]:
    """Read permissions, in the fixed order of PERMISSIONS. Raises Malformed."""
    if not isinstance(value, list) or any(item not in PERMISSIONS for item in value):
        raise Malformed("invalid_params", "A permission is not known.", field="permissions")
    return tuple(p for p in PERMISSIONS if p in value)


def _parse_lent(value: object) -> Lent | None:
    if value is None:
        return None
    if not isinstance(value, dict) or value.keys() != {"permissions", "until"}:
        raise Malformed("invalid_params", "lent has wrong fields.", field="lent")
    until = value["until"]
    if type(until) is not int or not 0 <= until <= JSON_INT_MAX:
        raise Malformed("invalid_params", "lent.until is out of range.", field="lent")
    return Lent(permissions=parse_permissions(value["permissions"]), until_ms=until)
