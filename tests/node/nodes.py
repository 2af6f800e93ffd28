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
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

from mesh.client import Connection, connect
from mesh.client.invitations import new_request_id
from mesh.config import read_settings
from mesh.node import Node
from mesh.transport.link_table import LinkTable
from mesh.wire import link
from tests.node.followed import WAIT_S, Followed, eventually
from tests.node.puppets import Puppet, Puppets, puppets
from tests.node.wrong_clock import ImpatientEntropy, WrongClock


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

    async def metrics(self) -> str:
        """What /metrics says."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.url}/metrics", headers=headers) as response,
        ):
            return await response.text()

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
    with puppets() as table:
        # Entered by hand, so that what a test raises stays what it is.
        await tasks.__aenter__()
        world = World(folder, tasks, table)
        try:
            yield world
            await world.ends()
        except asyncio.CancelledError as error:
            # A task of the world failed: leaving the group raises what it raised.
            await tasks.__aexit__(type(error), error, None)
            raise
        except BaseException:
            with suppress(BaseExceptionGroup):
                await world.ends()
                await tasks.__aexit__(None, None, None)
            raise
        else:
            await tasks.__aexit__(None, None, None)
        finally:
            # Nodes of one process restore the log's handlers in whatever order they stop.
            root.handlers[:] = handlers
