"""The demo's room: what its three machines do with each other, each through its own node.

Each action here is one that a person can do too, asked of the node of the one who does it. What
comes of it is seen on the others, by their watches. Nothing is printed here: `demo_story` tells,
`demo_checks` judges.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from mesh.cli.demo_nodes import DemoNode
from mesh.cli.demo_watch import Watch, answers_to
from mesh.client.invitations import new_request_id
from mesh.client.rooms import new_event_id

ROOM_NAME: Final = "Kitchen table"
PEOPLE: Final = {"laptop": "You", "desktop": "You (desktop)", "friend": "Friend"}
"""The machines, in the order in which they start, and what their operators are called."""
LENT: Final = {"desktop": "guide", "friend": "echo"}
PERMISSIONS: Final = ("dispatch", "stop", "status")
INVITATION_S: Final = 3_600
_FRIDAY: Final = 4
_EVENING: Final = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message: its id, who said it, when (loop time), and whether the room's host has it."""

    event_id: str
    text: str
    node: DemoNode
    at_s: float
    accepted: bool


class DemoRoom:
    """One room on three nodes. Made by `open_room`; `watches` has one per node that is in it."""

    def __init__(self, nodes: Sequence[DemoNode], tasks: asyncio.TaskGroup) -> None:
        self.nodes = tuple(nodes)
        self.laptop, self.desktop, self.friend = self.nodes
        self.room_id = ""
        self.watches: dict[str, Watch] = {}
        self._tasks = tasks
        self._beside: list[asyncio.Task[None]] = []

    # --- coming together ---------------------------------------------------------------------

    async def make(self) -> dict[str, Any]:
        """The laptop makes the room and seats @scribe."""
        room = await self.laptop.sdk.rooms.create(
            ROOM_NAME, members=[{"profile": "scribe", "handle": "scribe"}]
        )
        self.room_id = str(room["room_id"])
        self._watch(self.laptop)
        return room

    async def invite(self) -> dict[str, Any]:
        """The laptop makes an invitation link for one use."""
        return await self.laptop.sdk.invitations.create(
            self.room_id, ttl_seconds=INVITATION_S, uses=1, role="member"
        )

    async def join(self, guest: DemoNode, link: str, until_ms: int) -> dict[str, Any]:
        """A guest accepts, and lends its agent; returns the receipt."""
        profile = LENT[guest.name]
        lend = {
            "profile": profile,
            "handle": profile,
            "permissions": list(PERMISSIONS),
            "until": until_ms,
        }
        receipt = await guest.sdk.invitations.accept(
            link, request_id=new_request_id(), display_name=guest.person, lend=[lend]
        )
        if receipt["status"] == "applied":
            self._watch(guest)
        return receipt

    def watch(self, node: DemoNode) -> Watch:
        """What that machine shows."""
        return self.watches[node.name]

    # --- talking -----------------------------------------------------------------------------

    async def say(self, node: DemoNode, text: str) -> Said:
        """The person at that machine says something."""
        event_id = new_event_id()
        at_s = asyncio.get_running_loop().time()
        answer = await node.sdk.rooms.send(self.room_id, text, event_id=event_id, wait_ms=500)
        accepted = bool(answer["accepted"])
        return Said(event_id=event_id, text=text, node=node, at_s=at_s, accepted=accepted)

    async def heard(self, said: Said, at: DemoNode) -> int:
        """Wait until that machine shows the message; milliseconds since it was said."""
        await self.watch(at).event(
            f"the message of {said.node.name}", lambda e: e.event["event_id"] == said.event_id
        )
        return self.since_ms(said)

    async def answer(self, said: Said, at: DemoNode) -> dict[str, Any]:
        """Wait until that machine shows an answer to the message; returns its event."""
        watch = self.watch(at)

        def found() -> dict[str, Any] | None:
            answers = answers_to(said.event_id, [e.event for e in watch.events])
            return answers[0] if answers else None

        return await watch.until(f"an answer to {said.text!r}", found)

    @staticmethod
    def since_ms(said: Said) -> int:
        """Milliseconds since it was said."""
        return round((asyncio.get_running_loop().time() - said.at_s) * 1_000)

    # --- coming and going ----------------------------------------------------------------------

    async def lent_member(self) -> dict[str, Any]:
        """The friend's agent, as the friend's own node shows it."""
        state = await self.friend.sdk.rooms.state(self.room_id)
        lent = [m for m in state["members"] if m["mine"] and m["kind"] == "agent"]
        present = [m for m in lent if m["presence"] != "left"]
        assert present, "the friend's agent has a seat until the friend leaves"
        return dict(present[-1])

    async def withdraw(self) -> Sequence[str]:
        """The friend takes back what it lends; returns the grants that ended."""
        member = await self.lent_member()
        return await self.friend.sdk.grants.withdraw(self.room_id, str(member["member_id"]))

    async def lend_again(self) -> None:
        """The friend gives up the withdrawn seat, and lends its agent in a new one."""
        member = await self.lent_member()
        await self.friend.sdk.rooms.remove_member(self.room_id, str(member["member_id"]))
        profile = LENT[self.friend.name]
        await self.friend.sdk.rooms.add_member(self.room_id, profile, handle=profile)

    # --- tasks ---------------------------------------------------------------------------------

    def beside(self, job: Coroutine[Any, Any, None]) -> None:
        """Run a job beside, until it or the room ends."""
        self._beside.append(self._tasks.create_task(job))

    def end(self) -> None:
        """End all that runs beside."""
        for task in self._beside:
            task.cancel()

    def _watch(self, node: DemoNode) -> None:
        watch = self.watches[node.name] = Watch(node, self.room_id)
        self.beside(watch.follow())


@asynccontextmanager
async def open_room(nodes: Sequence[DemoNode]) -> AsyncIterator[DemoRoom]:
    """A room whose watches end with the block."""
    tasks = asyncio.TaskGroup()
    # Entered by hand, so that what the caller's block raises stays what it is.
    await tasks.__aenter__()
    room = DemoRoom(nodes, tasks)
    try:
        yield room
    finally:
        room.end()
        try:
            await tasks.__aexit__(None, None, None)
        except BaseExceptionGroup as faults:
            raise faults.exceptions[0] from None


def next_friday(now: datetime | None = None) -> datetime:
    """Friday evening, at least a day ahead, in local time."""
    local = (now or datetime.now(UTC)).astimezone()
    days = (_FRIDAY - local.weekday()) % 7 or 7
    return (local + timedelta(days=days)).replace(hour=_EVENING, minute=0, second=0, microsecond=0)
