"""Messages sent while the room's host is killed: which were acknowledged, and what became of all.

The ledger is kept by the sender, outside of every node: an id counts as acknowledged when the
reply came. Afterwards each of these must be in every log, once; those without a reply are sent
again under their own ids, and must be there once as well.
"""

import asyncio
from collections import Counter
from typing import Final

from mesh.cli.demo_nodes import DemoNode
from mesh.cli.demo_room import DemoRoom
from mesh.cli.demo_watch import NotSeen
from mesh.client import ClientError
from mesh.client.rooms import new_event_id

MESSAGES: Final = 60
KILLED_AFTER: Final = 20
"""Acknowledgments after which the host is killed."""


class Burst:
    """The sender's ledger: event id -> text, and which of them were acknowledged."""

    def __init__(self, room: DemoRoom) -> None:
        self._room = room
        self._texts: dict[str, str] = {}
        self._acknowledged: set[str] = set()
        self._enough = asyncio.Event()

    async def cut_short(self, host: DemoNode) -> int:
        """Send to the host, kill it in the middle; returns how many were acknowledged."""
        texts = {new_event_id(): f"message {n} of {MESSAGES}" for n in range(1, MESSAGES + 1)}
        self._texts |= texts
        async with asyncio.TaskGroup() as senders:
            for event_id in texts:
                senders.create_task(self._send(host, event_id))
            await self._enough.wait()
            await host.unplug()
        return len(self._acknowledged)

    async def while_away(self, node: DemoNode) -> str:
        """One message from another machine; returns what that one says became of it."""
        event_id = new_event_id()
        self._texts[event_id] = "said while the host was away"
        answer = await node.sdk.rooms.send(
            self._room.room_id, self._texts[event_id], event_id=event_id, wait_ms=0
        )
        if answer["accepted"] or answer.get("state") != "waiting":
            raise NotSeen(f"{node.name} says {answer} although the host is away")
        # The node has taken it over: from here on nobody sends it again.
        self._acknowledged.add(event_id)
        return str(answer["state"])

    async def finish(self, host: DemoNode) -> int:
        """Send again what had no reply, under its own ids; returns how many."""
        again = [event_id for event_id in self._texts if event_id not in self._acknowledged]
        for event_id in again:
            await self._send(host, event_id)
        return len(again)

    async def missing_on(self, node: DemoNode) -> str:
        """Wait for all of them on a machine, then say what is missing or twice there; or ""."""
        watch = self._room.watch(node)
        wanted = self._texts.keys()
        await watch.until(
            "all messages of the ledger",
            lambda: wanted <= {event.event["event_id"] for event in watch.events} or None,
        )
        counts = Counter(event["event_id"] for event in await watch.log())
        wrong = {event_id: counts[event_id] for event_id in wanted if counts[event_id] != 1}
        return f"{node.name} has {wrong}" if wrong else ""

    async def _send(self, host: DemoNode, event_id: str) -> None:
        try:
            answer = await host.sdk.rooms.send(
                self._room.room_id, self._texts[event_id], event_id=event_id
            )
        except ClientError:
            return  # no reply, no acknowledgment: the ledger says so
        if answer["accepted"]:
            self._acknowledged.add(event_id)
        if len(self._acknowledged) >= KILLED_AFTER:
            self._enough.set()
