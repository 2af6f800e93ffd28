"""Following the answers to one message, piece by piece. Pure.

A message is the root of a chain: agents it addresses get turns, their answers may address others.
The chain is followed by its root until no turn of it is open. Pieces come as signals and may be
missed; the final text is the event, so what was shown is completed or, if it differs, shown whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from mesh.client import RoomEvent, RoomItem, RoomSignal
from mesh.core import ids

ENDS: Final = frozenset(
    {"turn.settled", "turn.passed", "turn.failed", "turn.cancelled", "turn.uncertain"}
)


@dataclass(slots=True, kw_only=True)
class Piece:
    """Something to show: whose, what, and whether it ends what that member says."""

    member_id: str
    text: str
    ends: bool = False


@dataclass(slots=True)
class Answers:
    """The chain that began with `event_id`."""

    event_id: str
    seq: int | None = None
    open: set[str] = field(default_factory=set)
    ended: list[dict[str, Any]] = field(default_factory=list)
    _triggers: list[str] = field(default_factory=list)
    _shown: dict[str, str] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        """The message is in the log, and nobody is answering it (now)."""
        return self.seq is not None and not self.open

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Turns that ended otherwise than with an answer."""
        return [one for one in self.ended if one["state"] not in {"settled", "passed"}]

    def take(self, item: RoomItem) -> Iterator[Piece]:
        """What of this item is to be shown."""
        if isinstance(item, RoomSignal):
            yield from self._take_signal(item)
        elif isinstance(item, RoomEvent):
            yield from self._take_event(item)

    def _take_signal(self, signal: RoomSignal) -> Iterator[Piece]:
        turn_id = signal.payload.get("turn_id")
        if signal.kind == "turn.delta" and turn_id in self.open:
            text = str(signal.payload["text"])
            self._shown[turn_id] = self._shown.get(turn_id, "") + text
            yield Piece(member_id=signal.payload["member_id"], text=text)

    def _take_event(self, found: RoomEvent) -> Iterator[Piece]:
        payload = found.payload
        if found.event["event_id"] == self.event_id and found.kind == "message.user":
            self.seq = found.seq
            self._is_trigger(found)
        elif found.kind == "turn.admitted" and payload["root"] == self.event_id:
            self.open.add(payload["turn_id"])
        elif found.kind == "message.member" and payload["turn_id"] in self.open:
            self._is_trigger(found)
            yield self._completed(payload["turn_id"], found.event["actor"]["id"], payload["text"])
        elif found.kind in ENDS and (payload["turn_id"] in self.open or self._refused(found)):
            self.open.discard(payload["turn_id"])
            self.ended.append(
                {
                    "turn_id": payload["turn_id"],
                    "member_id": payload["member_id"],
                    "state": found.kind.removeprefix("turn."),
                    "reason": payload.get("reason", ""),
                    "message": payload.get("message", ""),
                    "text": self._texts.get(payload["turn_id"], ""),
                }
            )

    def _refused(self, found: RoomEvent) -> bool:
        """True for a turn of the chain that failed without having been admitted.

        It names no root; its id, which is made of what triggered it, tells.
        """
        member_id, turn_id = found.payload["member_id"], found.payload["turn_id"]
        return any(
            ids.turn_id(found.room_id, self.event_id, key, member_id, 1) == turn_id
            for key in self._triggers
        )

    def _is_trigger(self, found: RoomEvent) -> None:
        self._triggers.append(ids.event_key(found.event["actor"]["id"], found.event["event_id"]))

    def _completed(self, turn_id: str, member_id: str, text: str) -> Piece:
        shown = self._shown.get(turn_id, "")
        self._texts[turn_id] = self._shown[turn_id] = text
        rest = text[len(shown) :] if text.startswith(shown) else f"\n{text}"
        return Piece(member_id=member_id, text=rest, ends=True)
