"""`groups.*`: rooms, their logs, their members. Shapes are those of docs/surface.md."""

import secrets
from collections.abc import Sequence
from typing import Any

from mesh.client.request import REQUEST_S, Request, given


def new_event_id() -> str:
    """An id for an event: keep it, for the same id may be sent again after `OutcomeUnknown`."""
    return "e_" + secrets.token_hex(16)


class Rooms:
    """Rooms of the node. Methods that change a room return `{event, accepted, ...}`."""

    def __init__(self, request: Request) -> None:
        """Made by the connection."""
        self._request = request

    async def capabilities(self) -> dict[str, Any]:
        """What this node's rooms can do: `{version, kinds, limits}`."""
        return await self._request("groups.capabilities")

    async def create(
        self,
        name: str,
        *,
        room_id: str | None = None,
        members: Sequence[dict[str, Any]] | None = None,
        policy: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Make a room on this node; `members` are its own profiles: `{profile, handle?}`."""
        params = given(
            name=name,
            room_id=room_id,
            members=None if members is None else list(members),
            policy=policy,
        )
        room: dict[str, Any] = (await self._request("groups.create", params))["room"]
        return room

    async def list(self) -> Sequence[dict[str, Any]]:
        """All rooms, newest activity first."""
        rooms: Sequence[dict[str, Any]] = (await self._request("groups.list"))["rooms"]
        return rooms

    async def state(self, room_id: str) -> dict[str, Any]:
        """A room with members, authority, turns and outbox."""
        return await self._request("groups.state", {"room_id": room_id})

    async def send(
        self,
        room_id: str,
        text: str,
        *,
        event_id: str | None = None,
        member_id: str | None = None,
        thread_id: str | None = None,
        wait_ms: int | None = None,
    ) -> dict[str, Any]:
        """Say something: `{event, accepted, ...}`, or `{accepted: false, queued: true, state}`.

        Give an `event_id` of your own (`new_event_id`) and keep it: after `OutcomeUnknown` the
        same call with the same id is safe; the room shows it once.
        """
        params = given(
            room_id=room_id,
            event_id=event_id or new_event_id(),
            member_id=member_id,
            payload=given(text=text, thread_id=thread_id),
            wait_ms=wait_ms,
        )
        deadline_s = REQUEST_S + (wait_ms or 0) / 1000
        return await self._request("groups.send", params, deadline_s=deadline_s)

    async def log(self, room_id: str, *, since_seq: int = 0, limit: int = 100) -> dict[str, Any]:
        """A page of the log: `{events, cursor, latest_seq, protected_seq, has_more, ...}`."""
        return await self._request(
            "groups.log", {"room_id": room_id, "since_seq": since_seq, "limit": limit}
        )

    async def rename(self, room_id: str, name: str) -> dict[str, Any]:
        """Give it another name."""
        return await self._request("groups.rename", {"room_id": room_id, "name": name})

    async def leave(self, room_id: str) -> dict[str, Any]:
        """The operator and this install's agents leave."""
        return await self._request("groups.leave", {"room_id": room_id})

    async def disband(self, room_id: str) -> dict[str, Any]:
        """Close it for ever (owner)."""
        return await self._request("groups.disband", {"room_id": room_id})

    async def stop_turns(self, room_id: str, turn_id: str | None = None) -> Sequence[str]:
        """Stop all open turns, or one; returns the turns that are stopping."""
        params = given(room_id=room_id, turn_id=turn_id)
        stopping: Sequence[str] = (await self._request("groups.stop", params))["stopping"]
        return stopping

    async def discard(self, room_id: str, event_id: str) -> bool:
        """Give up a queued message of ours that was not accepted yet."""
        params = {"room_id": room_id, "event_id": event_id}
        return bool((await self._request("groups.discard", params))["discarded"])

    async def add_member(
        self, room_id: str, profile: str, *, handle: str | None = None
    ) -> dict[str, Any]:
        """Seat a profile of this node."""
        return await self._request(
            "groups.member.add", given(room_id=room_id, profile=profile, handle=handle)
        )

    async def remove_member(self, room_id: str, member_id: str) -> dict[str, Any]:
        """Remove a member (the owner, or the member's own install)."""
        return await self._request(
            "groups.member.remove", {"room_id": room_id, "member_id": member_id}
        )

    async def mute_member(self, room_id: str, member_id: str, muted: bool) -> dict[str, Any]:
        """Take a member's word, or give it back (owner)."""
        return await self._request(
            "groups.member.mute", {"room_id": room_id, "member_id": member_id, "muted": muted}
        )

    async def set_policy(self, room_id: str, policy: dict[str, Any]) -> dict[str, Any]:
        """Change the policy: `turns`, `budget`, `invite` (owner)."""
        return await self._request("groups.policy.set", {"room_id": room_id, "policy": policy})
