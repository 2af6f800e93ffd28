"""Whole nodes in one process: real keys, ports, links and disks, each seen through its surface.

    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id, lend=["echo"])

An `Install` is a home that stays; its node may be stopped and started again, and its clock may
be wrong. `Followed` is what a program sees of a room. Everything waits for what happens, with a
deadline, and nothing waits for time.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import aiohttp

from mesh.client import Connection, RoomEvent, RoomGap, RoomSignal, connect
from mesh.client.invitations import new_request_id
from mesh.config import read_settings
from mesh.core.inputs import Now
from mesh.node import Node
from mesh.system import SystemClock, SystemEntropy
from mesh.transport.link_table import LinkTable
from mesh.wire import link
from tests.node.puppets import Puppet, Puppets, puppets

WAIT_S: Final = 12.0
_LOOK_EVERY_S: Final = 0.01
_REDIAL_S: Final = 0.03

T = TypeVar("T")


async def eventually(ask: Callable[[], Awaitable[T]], holds: Callable[[T], bool]) -> T:
    """Ask until the answer is as wanted, where nothing announces it. Raises AssertionError."""
    answer = await ask()
    try:
        async with asyncio.timeout(WAIT_S):
            while not holds(answer):
                await asyncio.sleep(_LOOK_EVERY_S)
                answer = await ask()
    except TimeoutError:
        raise AssertionError(f"it never became so; the last answer was {answer}") from None
    return answer


class WrongClock:
    """This machine's clocks, with a wall clock that may be wrong."""

    def __init__(self) -> None:
        self.ahead_ms = 0
        self._stopped_at_ms: int | None = None
        self._real = SystemClock()

    def stops_at(self, wall_ms: int) -> None:
        """Show that instant from now on."""
        self._stopped_at_ms = wall_ms

    def now(self) -> Now:
        """Read both clocks; only the wall clock is wrong."""
        real = self._real.now()
        shown_ms = self._stopped_at_ms or real.wall_ms + self.ahead_ms
        return Now(wall_ms=shown_ms, mono_s=real.mono_s)


class ImpatientEntropy(SystemEntropy):
    """Real randomness, but whoever draws a pause draws a short one."""

    def uniform(self, low: float, high: float) -> float:
        """A number between, and small."""
        return max(low, min(_REDIAL_S, super().uniform(low, high)))


class Followed:
    """What one program sees of one room, kept as it comes."""

    def __init__(self, room_id: str) -> None:
        self.room_id = room_id
        self.events: list[RoomEvent] = []
        self.signals: list[dict[str, Any]] = []
        self.gaps: list[RoomGap] = []
        self._news = asyncio.Event()

    def take(self, item: RoomEvent | RoomSignal | RoomGap) -> None:
        """Keep one item of the subscription."""
        match item:
            case RoomEvent():
                self.events.append(item)
            case RoomSignal():
                self.signals.append(item.payload)
            case RoomGap():
                self.gaps.append(item)
        self._news.set()

    async def until(self, holds: Callable[["Followed"], bool]) -> None:
        """Wait until what was seen is as wanted. Raises AssertionError after WAIT_S."""
        try:
            async with asyncio.timeout(WAIT_S):
                while not holds(self):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            seen = [(e.seq, e.kind, e.payload) for e in self.events[-20:]]
            raise AssertionError(f"never seen; the last events were {seen}") from None

    async def event(self, kind: str, **payload: object) -> RoomEvent:
        """The first event of that kind whose payload has those values."""
        await self.until(lambda seen: bool(seen.all(kind, **payload)))
        return self.all(kind, **payload)[0]

    def all(self, kind: str, **payload: object) -> list[RoomEvent]:
        """Every event of that kind whose payload has those values, in order."""
        return [
            e
            for e in self.events
            if e.kind == kind and all(e.payload.get(k) == v for k, v in payload.items())
        ]

    @property
    def texts(self) -> list[str]:
        """What was said, by people and agents, in order."""
        said = {"message.user", "message.member"}
        return [e.payload["text"] for e in self.events if e.kind in said]

    @property
    def seqs(self) -> list[int]:
        """The seqs that were seen, in the order they were seen."""
        return [e.seq for e in self.events]


class Install:
    """One install: a home that stays, and a node that can be stopped and started again."""

    def __init__(self, world: "World", name: str) -> None:
        self.name = name
        self.home: Path = world.folder / name
        self.clock = WrongClock()
        self.node: Node
        self.sdk: Connection
        self._world = world
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start its node, and connect a program to it. Raises what the node raises."""
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stop.clear()
        self._task = self._world.tasks.create_task(self._live(started))
        await started

    async def stop(self) -> None:
        """Stop its node in order; what it kept is found again by `start`."""
        assert self._task is not None
        self._stop.set()
        await self._task
        self._task = None

    async def _live(self, started: asyncio.Future[None]) -> None:
        flags = {"listen": "127.0.0.1:0", "name": self.name, "discovery": False}
        settings = read_settings(self.home, flags, {})
        try:
            node = Node(settings, clock=self.clock, entropy=ImpatientEntropy())
            async with node, connect(self.home) as sdk:
                self.node, self.sdk = node, sdk
                started.set_result(None)
                await self._stop.wait()
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    @property
    def is_running(self) -> bool:
        """True between `start` and `stop`."""
        return self._task is not None

    # --- the node's own names ------------------------------------------------------------------

    @property
    def install_id(self) -> str:
        """Who it is."""
        return self.node.ready.install_id

    @property
    def url(self) -> str:
        """The page's address; `port` follows it."""
        return self.node.ready.url

    @property
    def token(self) -> str:
        """The token in its control.json."""
        return self.node.ready.token

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rpartition(":")[2])

    @property
    def links(self) -> LinkTable:
        """Its links, for a test that plays the network."""
        return self.node.links

    @property
    def log_text(self) -> str:
        """Everything it has written into its log."""
        files = sorted((self.home / "logs").iterdir())
        return "".join(file.read_text("ascii") for file in files)

    async def posts(self, body: bytes, **headers: str) -> Any:
        """POST exactly these bytes to /rpc with the token; returns the decoded answer."""
        said = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.url}/rpc", data=body, headers=said | headers) as response,
        ):
            return json.loads(await response.read())

    async def status_of(self, request: bytes) -> int:
        """Send exactly these bytes to the port; the status of the answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            async with asyncio.timeout(WAIT_S):
                return int((await reader.readline()).split()[1])
        finally:
            writer.close()
            await writer.wait_closed()

    # --- rooms ---------------------------------------------------------------------------------

    async def founds(self, name: str, *profiles: str, **more: Any) -> str:
        """Found a room with these profiles of its own; returns the room's id."""
        seats = [{"profile": profile} for profile in profiles]
        room = await self.sdk.rooms.create(name, members=seats, **more)
        return str(room["room_id"])

    async def invites(self, room_id: str, **terms: Any) -> str:
        """An invitation link."""
        made = await self.sdk.invitations.create(room_id, **terms)
        return str(made["link"])

    async def joins(
        self, host: "Install", room_id: str, *, lend: Sequence[str | dict[str, Any]] = ()
    ) -> dict[str, Any]:
        """Join the host's room by an invitation, lending these; returns the receipt's result."""
        return await self.accepts(await host.invites(room_id), lend=lend)

    async def accepts(
        self, invitation: str, *, lend: Sequence[str | dict[str, Any]] = ()
    ) -> dict[str, Any]:
        """Accept a link, lending these, and see the room; returns the receipt's result."""
        wishes = [{"profile": wish} if isinstance(wish, str) else wish for wish in lend]
        receipt = await self.sdk.invitations.accept(
            invitation, request_id=new_request_id(), lend=wishes
        )
        assert receipt["status"] == "applied", receipt
        result: dict[str, Any] = receipt["result"]
        return result

    async def says(self, room_id: str, text: str, **more: Any) -> dict[str, Any]:
        """Say something, and have it accepted; returns the event."""
        answer = await self.sdk.rooms.send(room_id, text, **more)
        assert answer["accepted"], answer
        event: dict[str, Any] = answer["event"]
        return event

    def follows(self, room_id: str, since_seq: int = 0) -> Followed:
        """Follow a room until the world ends, over restarts of the node too."""
        seen = Followed(room_id)
        self._world.follow(self._follow(seen, since_seq))
        return seen

    async def _follow(self, seen: Followed, since_seq: int) -> None:
        async with (
            connect(self.home) as sdk,
            aclosing(sdk.subscribe(seen.room_id, since_seq)) as items,
        ):
            async for item in items:
                seen.take(item)

    async def member(self, room_id: str, handle: str) -> dict[str, Any]:
        """The member of a room with that handle, as this install shows it."""
        members = (await self.sdk.rooms.state(room_id))["members"]
        found: dict[str, Any] = next(m for m in members if m["handle"] == handle)
        return found

    async def sees_agent(self, room_id: str, handle: str, presence: str = "online") -> None:
        """Wait until that agent is seated and stands so here."""
        await eventually(
            lambda: self.sdk.rooms.state(room_id),
            lambda state: any(
                (m["handle"], m["presence"]) == (handle, presence) for m in state["members"]
            ),
        )

    async def log(self, room_id: str) -> list[dict[str, Any]]:
        """Its whole log of a room."""
        events: list[dict[str, Any]] = []
        while True:
            page = await self.sdk.rooms.log(room_id, since_seq=len(events), limit=1_000)
            events += page["events"]
            if not page["has_more"]:
                return events

    async def has_the_log_of(self, other: "Install", room_id: str) -> list[dict[str, Any]]:
        """Wait until both logs are one, byte for byte by their hashes; returns it."""
        theirs = await other.log(room_id)
        ours = await eventually(
            lambda: self.log(room_id), lambda events: len(events) >= len(theirs)
        )
        assert [e["hash"] for e in ours[: len(theirs)]] == [e["hash"] for e in theirs]
        return ours

    # --- the network ---------------------------------------------------------------------------

    def tears_the_link_to(self, other: "Install") -> None:
        """Tear the link, as a network does; both sides dial again."""
        self.links.cut(other.install_id, link.LOST)

    async def relinks_to(self, other: "Install") -> None:
        """Tear the link, and wait until another one is open."""
        peer = self.links._peers.get(other.install_id)
        before = peer.runner if peer else None
        self.tears_the_link_to(other)

        async def is_another() -> bool:
            peer = self.links._peers.get(other.install_id)
            return peer is not None and peer.runner not in (None, before)

        await eventually(is_another, bool)

    async def is_linked_to(self, other: "Install") -> None:
        """Wait until a link is open."""

        async def is_up() -> bool:
            return self.links.is_up(other.install_id)

        await eventually(is_up, bool)

    # --- agents --------------------------------------------------------------------------------

    async def mounts(self, profile: str, puppet: Puppet) -> Puppet:
        """Mount a puppet under that name."""
        backend = f"puppet_{len(self._world.puppets)}"
        self._world.puppets[backend] = puppet
        await self.sdk.profiles.add({"name": profile, "backend": backend})
        return puppet


class World:
    """All installs of one test, and the tasks they live in."""

    def __init__(self, folder: Path, tasks: asyncio.TaskGroup, table: Puppets) -> None:
        self.folder = folder
        self.tasks = tasks
        self.puppets = table
        self._all: list[Install] = []
        self._followers: list[asyncio.Task[None]] = []

    def follow(self, following: Coroutine[Any, Any, None]) -> None:
        """Run that until the world ends."""
        self._followers.append(self.tasks.create_task(following))

    async def install(self, name: str) -> Install:
        """A fresh install with its node running."""
        made = self.not_started(name)
        await made.start()
        return made

    def not_started(self, name: str) -> Install:
        """A fresh install, without home or node yet."""
        made = Install(self, name)
        self._all.append(made)
        return made

    async def installs(self, *names: str) -> list[Install]:
        """Several of them."""
        return [await self.install(name) for name in names]

    async def ends(self) -> None:
        """Stop everyone who follows, then every node."""
        for follower in self._followers:
            follower.cancel()
        for install in reversed(self._all):
            if install.is_running:
                await install.stop()


@asynccontextmanager
async def a_world(folder: Path) -> AsyncIterator[World]:
    """A world without installs; at its end all of them are stopped in order."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    tasks = asyncio.TaskGroup()
    cut_short: asyncio.CancelledError | None = None
    with puppets() as table:
        # Entered by hand, so that what a test raises stays what it is.
        await tasks.__aenter__()
        world = World(folder, tasks, table)
        try:
            yield world
        except asyncio.CancelledError as error:
            cut_short = error
        finally:
            try:
                if cut_short is None:
                    await world.ends()
            finally:
                await tasks.__aexit__(type(cut_short) if cut_short else None, cut_short, None)
                # Nodes of one process restore the log's handlers in whatever order they stop.
                root.handlers[:] = handlers
