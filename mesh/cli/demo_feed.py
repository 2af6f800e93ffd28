"""What the room shows while one plays with it, told in the terminal as it comes.

Each event is told once, by the first machine that is plugged in; so is each change of presence,
those of one moment in one line. Who said what is taken from the events, never from their texts.
"""

import asyncio
from typing import Any, Final

from mesh.cli.demo_room import DemoRoom
from mesh.cli.demo_screen import Screen
from mesh.cli.demo_watch import Watch
from mesh.client import RoomEvent, RoomItem, RoomSignal

MOMENT_S: Final = 0.1
TEXT_CHARS: Final = 120


class Feed:
    """Listens to the watches of the room."""

    def __init__(self, room: DemoRoom, screen: Screen) -> None:
        self._room = room
        self._screen = screen
        self._members: dict[str, dict[str, Any]] = {}
        self._told_seq = 0
        self._shown: dict[str, str] = {}
        self._moment: dict[tuple[str, str, str], list[str]] = {}

    def begin(self) -> None:
        """From now on; what happened before is known and not told."""
        for event in self._room.watch(self._room.laptop).events:
            self._note(event)
        for watch in self._room.watches.values():
            watch.listeners.append(self._take)

    def _take(self, watch: Watch, item: RoomItem) -> None:
        match item:
            case RoomEvent() if item.seq > self._told_seq:
                self._note(item)
                self._tell(watch, item)
            case RoomSignal() if item.kind == "presence" and self._speaks(watch):
                self._presence(watch, item.payload)
            case RoomSignal() if item.kind == "turn.state" and self._speaks(watch):
                self._waiting(watch, item.payload["turn"])
            case _:
                pass

    def _speaks(self, watch: Watch) -> bool:
        # Plugged in, by our own doing: what a dying node still says is told by the next one.
        plugged = (node for node in self._room.nodes if node.went_up.is_set())
        return next(plugged, None) is watch.node

    def _note(self, event: RoomEvent) -> None:
        self._told_seq = event.seq
        seat = event.payload.get("founder") or event.payload.get("member")
        if event.kind in {"room.created", "member.joined"} and seat:
            self._members[seat["member_id"]] = seat

    def _tell(self, watch: Watch, event: RoomEvent) -> None:
        actor, payload = event.event["actor"], event.payload
        match event.kind:
            case "message.user":
                self._say(watch, event, f'{actor["display_name"]}: "{_short(payload["text"])}"')
            case "message.member":
                home = self._members.get(actor["id"], {}).get("install_name", "?")
                length = len(payload["text"])
                self._say(
                    watch, event, f"@{actor['handle']} answers from {home}: {length} characters"
                )
            case "turn.failed" | "turn.uncertain":
                name = self._name(payload["member_id"])
                self._say(watch, event, f"{name} does not answer: {payload.get('reason', '')}")
            case "grant.revoked":
                self._say(watch, event, f"{self._name(payload['member_id'])} is withdrawn")
            case "route.registered":
                self._say(watch, event, f"{self._name(payload['member_id'])} is ready")
            case "member.joined" | "member.left":
                member = payload.get("member_id") or payload["member"]["member_id"]
                self._say(watch, event, f"{self._name(member)} has {event.kind[7:]}")
            case _:
                pass

    def _say(self, watch: Watch, event: RoomEvent, text: str) -> None:
        self._screen.happened(event.kind, watch.node.name, text, seq=event.seq)

    def _waiting(self, watch: Watch, turn: dict[str, Any]) -> None:
        if turn["state"] == "offline":
            text = f"{self._name(turn['member_id'])} will answer later: {turn['reason']}"
            self._screen.happened("turn.offline", watch.node.name, text, reason=turn["reason"])

    def _presence(self, watch: Watch, shown: dict[str, Any]) -> None:
        member_id, presence = str(shown["member_id"]), str(shown["presence"])
        if self._shown.get(member_id) == presence:
            return
        self._shown[member_id] = presence
        if not self._moment:
            asyncio.get_running_loop().call_later(MOMENT_S, self._tell_presence)
        key = (watch.node.name, presence, str(shown.get("reason") or ""))
        self._moment.setdefault(key, []).append(self._name(member_id))

    def _tell_presence(self) -> None:
        for (node, presence, reason), names in self._moment.items():
            why = f" ({reason})" if reason else ""
            text = f"shows {', '.join(names)}: {presence}{why}"
            self._screen.happened("presence", node, text, presence=presence)
        self._moment.clear()

    def _name(self, member_id: str) -> str:
        seat = self._members.get(member_id, {})
        name = seat.get("display_name") if seat.get("kind") == "person" else None
        return str(name or "@" + str(seat.get("handle", "?")))


def _short(text: str) -> str:
    return text if len(text) <= TEXT_CHARS else text[: TEXT_CHARS - 3] + "..."
