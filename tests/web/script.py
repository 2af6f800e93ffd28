"""What happens in the fake rooms when certain words are written.

`@scribe` streams an answer; `slow` makes it take its time; `down` cuts the room's host off for a
while, `gap` sends a gap notice, `cut` closes the page's socket with 4008, `offline` and `online`
move a member, `withdraw` takes a loan back, `join` seats somebody.
"""

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Any

from tests.web.story import ANSWER, HERE, Room, member

if TYPE_CHECKING:
    from tests.web.fake_node import FakeNode

WORDS = 3


def now_ms() -> int:
    """This machine's clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Script:
    """Reacts to messages, in tasks that belong to `run`."""

    def __init__(self, node: "FakeNode") -> None:
        self.node = node
        self.work: asyncio.Queue[tuple[Room, dict[str, Any], str]] = asyncio.Queue()
        self.stopped: set[str] = set()
        self.open: set[str] = set()
        self.numbers = itertools.count(1)

    def heard(self, room: Room, event: dict[str, Any], text: str) -> None:
        """A message came."""
        self.work.put_nowait((room, event, text))

    def stop(self, turn_id: str | None) -> list[str]:
        """Stop one turn, or all."""
        stopping = [turn_id] if turn_id else sorted(self.open)
        self.stopped.update(stopping)
        return stopping

    async def run(self) -> None:
        """Take messages one by one, each answered in its own task."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self.react(*await self.work.get()))

    async def react(self, room: Room, event: dict[str, Any], text: str) -> None:
        """Do what the words ask for."""
        if "@scribe" in text:
            await self.answer(room, event, 0.25 if "slow" in text else 0.03)
        for word, presence in (("offline", "offline"), ("online", "online")):
            if text == word:
                signal: dict[str, Any] = {"kind": "presence", "member_id": "m_" + "d" * 32}
                signal |= {"presence": presence, "since": now_ms(), "reason": "peer_offline"}
                room.members["m_" + "d" * 32] |= {"presence": presence}
                await self.node.publish(room, signal, "group.signal")
        if text == "down":
            await self.cut_host(room)
        if text == "gap":
            gap = {"type": "group.gap", "room_id": room.room_id, "from_seq": 0}
            gap |= {"latest_seq": len(room.events), "state": room.state()}
            for socket in list(self.node.sockets):
                await socket.send_json({"jsonrpc": "2.0", "method": "event", "params": gap})
        if text == "flood":
            for number in range(3_000):
                words = {"text": f"Line **{number}** of many, with `code` and a @scribe."}
                await self.node.publish(
                    room, room.add("message.user", "m_" + "d" * 32, words, now_ms())
                )
        if text == "cut":
            for socket in list(self.node.sockets):
                await socket.close(code=4008, message=b"slow_reader")
        if text == "join":
            guest = member("8", "cleo", "Cleo", "person", (HERE, "tablet"))
            room.seat(guest, now_ms(), invitation_id="i_9")
            await self.node.publish(room, room.events[-1])

    async def cut_host(self, room: Room) -> None:
        """The host is away, and back after a while with what waited."""
        room.link = "down"
        signal: dict[str, Any] = {
            "kind": "authority",
            "gateway_id": "",
            "epoch": 1,
            "since": now_ms(),
        }
        await self.node.publish(room, signal | {"link": "down"}, "group.signal")
        await asyncio.sleep(6)
        room.link = "up"
        await self.node.publish(room, signal | {"link": "up"}, "group.signal")
        for queued in room.outbox:
            payload = {"text": queued["text"]}
            event_id = queued["event_id"]
            event = room.add("message.user", room.me, payload, now_ms(), event_id=event_id)
            self.node.sent[event_id] = event
            await self.node.publish(room, event)
        room.outbox = []

    async def answer(self, room: Room, event: dict[str, Any], pace_s: float) -> None:
        """A turn: admitted, running, pieces, and the event with the whole text."""
        member_id = "m_" + "b" * 32
        turn_id = f"t_{next(self.numbers):032x}"
        self.open.add(turn_id)
        turn = {"turn_id": turn_id, "member_id": member_id, "root": event["event_id"]}
        turn |= {"trigger_seq": event["seq"], "attempt": 1, "hop": 1, "state": "queued"}
        turn |= {"since": now_ms(), "reason": None, "message": None}
        admitted = {**turn, "trigger_event_id": event["event_id"]}
        await self.node.publish(room, room.add("turn.admitted", member_id, admitted, now_ms()))
        await asyncio.sleep(0.4)
        running = {"kind": "turn.state", "turn": turn | {"state": "running"}}
        await self.node.publish(room, running, "group.signal")
        activity = {"kind": "turn.activity", "turn_id": turn_id, "member_id": member_id}
        activity |= {"tool": "search", "text": "the log", "state": "running"}
        await self.node.publish(room, activity, "group.signal")
        await asyncio.sleep(0.6)
        pieces = [ANSWER[at : at + 9] for at in range(0, len(ANSWER), 9)]
        for n, text in enumerate(pieces):
            if turn_id in self.stopped:
                ended = {"turn_id": turn_id, "member_id": member_id}
                event = room.add("turn.cancelled", room.me, ended, now_ms())
                await self.node.publish(room, event)
                return
            delta = {"kind": "turn.delta", "turn_id": turn_id, "member_id": member_id}
            await self.node.publish(room, delta | {"n": n, "text": text}, "group.signal")
            if n % 7 == 0:  # The road may repeat itself: the page must not.
                await self.node.publish(room, delta | {"n": n, "text": text}, "group.signal")
            await asyncio.sleep(pace_s)
        cause = {"root": event["event_id"], "hop": 1, "turn_id": turn_id}
        message = {"text": ANSWER, "turn_id": turn_id}
        final = room.add("message.member", member_id, message, now_ms(), cause=cause)
        await self.node.publish(room, final)
        settled = {"turn_id": turn_id, "member_id": member_id}
        await self.node.publish(room, room.add("turn.settled", member_id, settled, now_ms()))
        self.open.discard(turn_id)
