"""Who is there: which installs are reachable, as the room's authority sees it.

The authority knows by its own links and tells the copies. A copy whose link to the authority is
down knows only itself; everybody else is shown offline with the reason `host_offline`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from mesh.core.member import Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of one install, since when (wall time, milliseconds)."""

    online: bool
    since_ms: int


class PresenceView:
    """The installs of one room, as seen from `me`."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._seen: dict[str, Seen] = {}

    def online(self) -> frozenset[str]:
        """Installs that are reachable, ourselves included."""
        return frozenset(i for i, seen in self._seen.items() if seen.online) | {self._me}

    def set(self, install_id: str, online: bool, at_ms: int) -> bool:
        """Note one install; True if that is a change."""
        seen = self._seen.get(install_id)
        if seen is not None and seen.online == online:
            return False
        self._seen[install_id] = Seen(online=online, since_ms=at_ms)
        return seen is not None or online

    def set_all(self, online: Iterable[str], at_ms: int) -> frozenset[str]:
        """Note exactly these as online; returns the installs that changed."""
        named = frozenset(online)
        changed = {i for i in named if self.set(i, True, at_ms)}
        return frozenset(
            changed | {i for i in self._seen.keys() - named if self.set(i, False, at_ms)}
        )

    def of(self, member: Member, routed: bool, host_up: bool) -> tuple[str, int, str]:
        """(presence, since_ms, reason) of a member, in the words of docs/surface.md."""
        if not member.present:
            return "left", 0, member.left_reason
        if member.withdrawn:
            return "withdrawn", 0, "withdrawn"
        here = member.install_id == self._me
        seen = self._seen.get(member.install_id, Seen(online=here, since_ms=member.joined_at_ms))
        if not here and not host_up:
            return "offline", seen.since_ms, "host_offline"
        if not (here or seen.online):
            return "offline", seen.since_ms, "peer_offline"
        if member.is_agent and not routed:
            return "joining", member.joined_at_ms, ""
        return "online", seen.since_ms, ""
