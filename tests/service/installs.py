"""Installs without sockets: every service over real stores, joined by a network in memory.

    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")

A test reaches into the services themselves (`host.rooms`, `guest.turns`, ...). An install may be
stopped and started again on the same stores. A job that breaks is kept in `faults`, and fails
the test at the end unless it was expected.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from gateway.mount import MountTable
from gateway.profile import ProfileConfig
from mesh.core import ids
from mesh.core.errors import MeshError
from mesh.core.event import Event
from mesh.core.identity import SigningKey
from mesh.core.room import RoomState
from mesh.service.assembly import Parts, Services, Switchboard, assemble
from mesh.service.node_facts import Followers
from mesh.service.profiles import seed
from mesh.service.reach import Reach
from mesh.service.room_runner import RoomRunner
from mesh.storage.database import Database
from mesh.storage.event_store import DiskEventStore
from mesh.storage.grant_store import DiskGrantStore
from mesh.storage.invitation_notes import DiskInvitationNotes
from mesh.storage.peer_store import DiskPeerStore
from mesh.storage.receipt_store import DiskReceiptStore
from mesh.storage.turn_inbox import DiskTurnInbox
from tests.node.puppets import Puppet, Puppets, puppets
from tests.node.wrong_clock import ImpatientEntropy, WrongClock
from tests.service.panel import Panel, PanelLinks, a_hello

WAIT_S: Final = 8.0


class KeptLog:
    """A log that keeps its lines as (event, values)."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, object]]] = []

    def events(self) -> list[str]:
        """What happened, without the values."""
        return [event for event, _ in self.lines]

    def debug(self, event: str, **values: object) -> None:
        """Keep a line."""
        self.lines.append((event, values))

    info = warning = error = debug


class Client:
    """A client's connection: it keeps what it is told, and may be closed."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.closed = False
        self.is_roomy = asyncio.Event()
        self.is_roomy.set()
        self.callbacks: list[Callable[[], None]] = []
        self._news = asyncio.Event()

    def notify(self, message: bytes) -> None:
        """Take one notification."""
        if not self.closed:
            self.told.append(json.loads(message)["params"])
            self._news.set()

    async def drain(self) -> None:
        """Wait until the test says that there is room."""
        await self.is_roomy.wait()

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call it at the end."""
        if self.closed:
            callback()
        else:
            self.callbacks.append(callback)

    def close(self) -> None:
        """The end."""
        self.closed = True
        callbacks, self.callbacks = self.callbacks, []
        for callback in callbacks:
            callback()

    def seqs(self) -> list[int]:
        """The seqs of the events it was told, in order."""
        return [t["seq"] for t in self.told if t["type"] == "group.event"]

    def signals(self, kind: str) -> list[dict[str, Any]]:
        """The signals of a kind."""
        payloads = [t["payload"] for t in self.told if t["type"] == "group.signal"]
        return [payload for payload in payloads if payload["kind"] == kind]

    async def until(self, holds: Callable[["Client"], bool]) -> None:
        """Wait until what it was told is as wanted. Raises TimeoutError."""
        async with asyncio.timeout(WAIT_S):
            while not holds(self):
                self._news.clear()
                await self._news.wait()


class Install:
    """One install: keys and stores that stay, services that start and stop."""

    def __init__(self, house: "House", name: str, number: int) -> None:
        self.name = name
        self.key = SigningKey.from_seed(bytes([number]) * 32)
        self.install_id = ids.install_id(self.key.public)
        self.clock = WrongClock()
        self.log = KeptLog()
        self.links = PanelLinks(house.panel, self.install_id)
        self.changed: list[str] = []
        self.faults: list[Exception] = []
        self.refusals: list[MeshError] = []
        self.verify: Callable[[str], Awaitable[object | None]] | None = None
        self.services: Services
        self.database: Database
        self._house = house
        self._stack: AsyncExitStack | None = None
        self._names: dict[asyncio.Task[None], str] = {}

    @property
    def is_running(self) -> bool:
        """True between `start` and `stop`."""
        return self._stack is not None

    async def start(self) -> None:
        """Open the stores and start the services, in the order of the composition root."""
        self._stack = stack = AsyncExitStack()
        folder = self._house.folder / self.name
        folder.mkdir(mode=0o700, exist_ok=True)
        self.database = await stack.enter_async_context(Database(folder / "mesh.db"))
        self._jobs = await stack.enter_async_context(asyncio.TaskGroup())
        stack.callback(self._cancel_jobs)
        mounts = MountTable(folder / "profiles", clock=lambda: self.clock.now().wall_ms)
        self.mounts = await stack.enter_async_context(mounts)
        await seed(self.mounts)
        followers = Followers(asyncio.get_running_loop().call_soon)
        switchboard = Switchboard(followers)
        self.switchboard, self.followers = switchboard, followers
        self.services = assemble(self._parts(followers))
        switchboard.connect(self.services)
        await self.services.load()
        await stack.enter_async_context(self.services.rooms)
        hello = a_hello(self.install_id, self.key.public, self.name)
        self._house.panel.plug_in(hello, switchboard)
        stack.callback(self._house.panel.pull, self.install_id)
        await self.services.resume()
        self.spawn(self.services.lending.run())

    def _parts(self, followers: Followers) -> Parts:
        here = f"panel://{self.install_id}"
        return Parts(
            install_id=self.install_id,
            key=self.key,
            install_name=self.name,
            display_name=f"{self.name} person",
            incarnation="0" * 32,
            events=DiskEventStore(self.database),
            grants=DiskGrantStore(self.database),
            inbox=DiskTurnInbox(self.database),
            peers=DiskPeerStore(self.database),
            receipts=DiskReceiptStore(self.database),
            notes=DiskInvitationNotes(self.database),
            mounts=self.mounts,
            links=self.links,
            reach=Reach(advertised=(), lan=lambda: (), loopback=lambda: here, page=lambda: here),
            port=self._house.port,
            followers=followers,
            clock=self.clock,
            entropy=ImpatientEntropy(),
            log=self.log,
            spawn=self.spawn,
            verify=self.verify,
        )

    async def stop(self) -> None:
        """Stop in order; the stores stay."""
        assert self._stack is not None
        stack, self._stack = self._stack, None
        await stack.aclose()

    async def dies(self) -> None:
        """Stop as a killed process does: what it was about to do is not done."""
        self._cancel_jobs()
        await turns_of_the_loop(3)
        await self.stop()

    def spawn(self, job: Coroutine[Any, Any, None]) -> None:
        """Run a job in the background, as the node does."""
        task = self._jobs.create_task(self._guarded(job))
        self._names[task] = str(getattr(job, "__qualname__", job))
        task.add_done_callback(self._names.pop)
        # One that is cancelled before it began would be missed with a warning.
        task.add_done_callback(lambda _: job.close())

    async def _guarded(self, job: Coroutine[Any, Any, None]) -> None:
        try:
            await job
        except MeshError as refusal:
            self.refusals.append(refusal)
        except Exception as fault:  # noqa: BLE001 - the node's supervisor does the same
            self.faults.append(fault)

    def jobs_under_way(self, name: str) -> int:
        """How many background jobs of that function have not ended."""
        return sum(name in job for job in self._names.values())

    def _cancel_jobs(self) -> None:
        for task in tuple(self._names):
            task.cancel()

    # --- what tests do with it -------------------------------------------------------------------

    @property
    def rooms(self) -> Any:
        """What its operator does in rooms (`service.conversation`)."""
        return self.services.conversation

    def room(self, room_id: str) -> RoomRunner:
        """A room's runner."""
        return self.services.rooms.get(room_id)

    def state(self, room_id: str) -> RoomState:
        """What its log of a room says."""
        return self.room(room_id).state

    async def founds(self, name: str, *profiles: str, **policy: Any) -> str:
        """Found a room; wait until its agents can be asked."""
        seats = [{"profile": profile} for profile in profiles]
        room_id = str((await self.rooms.create(name, None, seats, policy))["room"]["room_id"])
        await self.until(room_id, lambda state: len(state.routes) == len(profiles))
        return room_id

    async def joins(
        self, host: "Install", room_id: str, *lend: str, request_id: str = "join"
    ) -> dict[str, Any]:
        """Join the host's room, lending these; wait until they can be asked."""
        link = (await host.services.invitations.create(room_id, 3_600, 1, "member"))["link"]
        wishes = [{"profile": profile} for profile in lend]
        before = len(host.state(room_id).routes)
        receipt = await self.services.joining.accept(link, request_id, None, wishes)
        assert receipt["status"] == "applied", receipt
        await host.until(room_id, lambda state: len(state.routes) == before + len(lend))
        await self.catches_up(host, room_id)
        result: dict[str, Any] = receipt["result"]
        return result

    async def says(self, room_id: str, text: str, event_id: str | None = None) -> dict[str, Any]:
        """Say something."""
        event_id = event_id or self.services.operator.new_event_id()
        answer: dict[str, Any] = await self.rooms.send(
            room_id, event_id, {"text": text}, None, None
        )
        return answer

    async def until(self, room_id: str, holds: Callable[[RoomState], bool]) -> None:
        """Wait until the room's log here is as wanted. Raises TimeoutError."""
        async with asyncio.timeout(WAIT_S):
            await self.room(room_id).until(holds)

    async def catches_up(self, other: "Install", room_id: str) -> None:
        """Wait until its log is as long as the other's is now."""
        seq = other.state(room_id).head.seq
        await self.until(room_id, lambda state: state.head.seq >= seq)

    async def events(self, room_id: str, *kinds: str) -> list[Event]:
        """Its log of a room, or those kinds of it, as stored."""
        log: list[Event] = []
        while page := await self.room(room_id).page(len(log), 1_000):
            log += page
        return [event for event in log if not kinds or event.kind in kinds]

    async def texts(self, room_id: str) -> list[str]:
        """What was said, in order."""
        said = await self.events(room_id, "message.user", "message.member")
        return [event.payload["text"] for event in said]

    async def follows(self, room_id: str, since_seq: int = 0) -> Client:
        """A client that reads a room, and hears its signals from now on."""
        client = Client()
        await self.rooms.subscribe(room_id, since_seq, client)
        reader = self.room(room_id).subscriptions._readers[client]
        await eventually(lambda: reader.live)
        return client

    async def mounts_puppet(self, profile: str, puppet: Puppet) -> Puppet:
        """Mount a puppet under that name."""
        backend = f"puppet_{len(self._house.puppets)}"
        self._house.puppets[backend] = puppet
        await self.mounts.add(ProfileConfig.parse({"name": profile, "backend": backend}))
        return puppet

    def member_id(self, room_id: str, handle: str) -> str:
        """The member with that handle."""
        return next(m.member_id for m in self.state(room_id).present() if m.handle == handle)


class House:
    """All installs of a test."""

    def __init__(self, folder: Path, table: Puppets) -> None:
        self.folder = folder
        self.puppets = table
        self.panel = Panel()
        self.port: Any = None
        self.all: list[Install] = []

    async def install(self, name: str) -> Install:
        """A fresh install, running."""
        made = Install(self, name, len(self.all) + 1)
        self.all.append(made)
        await made.start()
        return made

    async def installs(self, *names: str) -> list[Install]:
        """Several of them."""
        return [await self.install(name) for name in names]

    def unplug(self, install: Install) -> None:
        """Take it off the network."""
        self.panel.pull(install.install_id)

    def replug(self, install: Install) -> None:
        """Put it back."""
        self.panel.put_back(install.install_id)

    def relink(self, one: Install, other: Install) -> None:
        """Cut their link; another one comes up at once."""
        self.panel.cut(one.install_id, other.install_id)

    def sent(self, to: Install, kind: type[Any]) -> Sequence[Any]:
        """Messages of a type that were sent to an install."""
        return self.panel.to(to.install_id, kind)


async def turns_of_the_loop(count: int = 50) -> None:
    """Let everything that is due happen; for showing that something does *not*."""
    for _ in range(count):
        await asyncio.sleep(0)


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait where nothing announces it. Raises TimeoutError."""
    async with asyncio.timeout(WAIT_S):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


@asynccontextmanager
async def a_house(folder: Path) -> AsyncIterator[House]:
    """A house without installs. At its end they stop, and no job may have broken."""
    with puppets() as table:
        house = House(folder, table)
        try:
            yield house
        finally:
            for install in reversed(house.all):
                if install.is_running:
                    await install.stop()
    assert not [fault for install in house.all for fault in install.faults]
