"""The agents behind this node, as clients see them."""

from collections.abc import Callable
from typing import Any, Final

from gateway.errors import ProfileError
from gateway.mount import MountStatus, MountTable
from gateway.profile import ProfileConfig
from mesh.core.errors import Malformed, MeshError, Refused
from mesh.service.lending import digest
from mesh.service.open_rooms import OpenRooms

_FIRST: Final = (
    ("scribe", "Scribe", "Summaries, minutes, who is here, search."),
    ("guide", "Guide", "A short tour of the room."),
    ("echo", "Echo", "Answers with your own words."),
)


async def seed(mounts: MountTable) -> None:
    """Mount the built-in agents, so that a fresh install does something useful."""
    present = {status.name for status in mounts.list()}
    for name, shown, description in _FIRST:
        if name not in present:
            config = {
                "name": name,
                "backend": "builtin",
                "display_name": shown,
                "description": description,
                "options": {"agent": name},
            }
            await mounts.add(ProfileConfig.parse(config))


class Profiles:
    """Add, look at, test and remove profiles of this node."""

    def __init__(
        self, *, mounts: MountTable, rooms: OpenRooms, changed: Callable[[str], None]
    ) -> None:
        self._mounts = mounts
        self._rooms = rooms
        self._changed = changed

    def list(self) -> dict[str, Any]:
        """Every profile with its state."""
        return {"profiles": [self._json(status) for status in self._mounts.list()]}

    def show(self, profile: str) -> dict[str, Any]:
        """One profile with what it offers. Raises Refused `not_found`."""
        status = self._status(profile)
        try:
            catalog: dict[str, Any] | None = self._mounts.catalog(profile).to_json()
        except ProfileError:
            catalog = None
        return {
            **self._json(status),
            "catalog": catalog,
            "catalog_digest": digest(catalog) if catalog is not None else None,
        }

    async def add(self, config: dict[str, Any]) -> dict[str, Any]:
        """Mount a new profile; it is there after a restart too."""
        try:
            status = await self._mounts.add(ProfileConfig.parse(config))
        except ProfileError as error:
            raise _refusal(error) from None
        self._changed("profiles")
        return self._json(status)

    async def test(self, profile: str) -> dict[str, Any]:
        """Ask the agent whether it could answer now."""
        self._status(profile)
        probe = await self._mounts.test(profile)
        self._changed("profiles")
        return {
            "ok": probe.ok,
            "reason": probe.reason,
            "message": probe.message,
            "next": probe.next,
            "latency_ms": probe.latency_ms,
        }

    async def remove(self, profile: str) -> dict[str, Any]:
        """Unmount and forget a profile. One that sits in a room is kept until it leaves."""
        seated = self._seated(profile)
        if seated:
            raise Refused(
                "conflict",
                f"{profile} sits in {len(seated)} room(s).",
                next="Remove it from its rooms first.",
            )
        try:
            await self._mounts.remove(profile)
        except ProfileError as error:
            raise _refusal(error) from None
        self._changed("profiles")
        return {"removed": True}

    def _status(self, profile: str) -> MountStatus:
        for status in self._mounts.list():
            if status.name == profile:
                return status
        raise Refused("not_found", f"There is no profile {profile!r} on this node.")

    def _seated(self, profile: str) -> tuple[str, ...]:
        return tuple(
            runner.room_id
            for runner in self._rooms.all()
            for member in runner.state.present()
            if member.profile == profile and member.install_id == self._rooms.me
        )

    def _json(self, status: MountStatus) -> dict[str, Any]:
        return {
            "name": status.name,
            "display_name": status.display_name,
            "description": status.description,
            "backend": status.backend,
            "state": status.state,
            "reason": status.reason,
            "message": status.message,
            "next": status.next,
            "since_ms": status.since_ms,
            "rooms": [*self._seated(status.name)],
        }


def _refusal(error: ProfileError) -> MeshError:
    made = Malformed if error.reason == "invalid_params" else Refused
    return made(error.reason, error.message, next=error.next)
