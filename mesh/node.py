"""The composition root: builds everything, starts it in order, drains it in reverse.

    home, lock, keys -> storage -> agents -> links -> rooms -> services -> edge -> port -> ready
    stop: port and pages first, then links, rooms, agents, storage; the lock last

Only this file constructs storage and transport. It holds one of the two broad excepts: a fault
in a background job is written down with its traceback and stops that job, not the node.
"""

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Final

from gateway.mount import MountTable
from gateway.profile import ProfileConfig
from mesh.config import Settings
from mesh.core.errors import MeshError
from mesh.core.event import Event
from mesh.core.link_messages import (
    GrantOffer,
    LinkMessage,
    Preview,
    PreviewResult,
    Redeem,
    RedeemResult,
    TurnDispatch,
)
from mesh.http.app import EdgeParts, make_app
from mesh.http.browser_session import BrowserSessions
from mesh.http.own_hosts import OwnHosts
from mesh.http.sockets import HttpSockets
from mesh.http.well_known import document
from mesh.port import LAN_SETTING, Port
from mesh.rpc.methods import METHODS
from mesh.rpc.surface import Surface
from mesh.service.conversation import Conversation
from mesh.service.invitations import Invitations
from mesh.service.joining import Joining
from mesh.service.lending import Lending
from mesh.service.loans import Loans
from mesh.service.node_facts import Followers, Identity, NodeFacts
from mesh.service.open_rooms import OpenRooms
from mesh.service.operator import Operator
from mesh.service.peers import Peers
from mesh.service.profiles import Profiles
from mesh.service.reach import Reach
from mesh.service.room_runner import RoomRunner
from mesh.service.routing import Routing
from mesh.service.turns import TurnDesk
from mesh.storage import home as homes
from mesh.storage import keystore
from mesh.storage.certificate import Certificate, given_certificate, open_certificate
from mesh.storage.database import Database
from mesh.storage.event_store import DiskEventStore
from mesh.storage.grant_store import DiskGrantStore
from mesh.storage.invitation_notes import DiskInvitationNotes
from mesh.storage.peer_store import DiskPeerStore
from mesh.storage.receipt_store import DiskReceiptStore
from mesh.storage.session_store import DiskSessionStore
from mesh.storage.settings_store import DiskSettings
from mesh.storage.turn_inbox import DiskTurnInbox
from mesh.system import SystemClock, SystemEntropy, hostname, person_name
from mesh.telemetry import LogFile, Metrics, Redaction, libraries_into, make_log
from mesh.transport.acceptor import Acceptor
from mesh.transport.discovery import Discovery
from mesh.transport.link_table import LinkTable
from mesh.transport.listener import Listener
from mesh.wire.handshake import BOOT_ID_BYTES, VERSION_MAX, VERSION_MIN, OurEnd, PeerHello

_FIRST_PROFILES: Final = (
    ("scribe", "Scribe", "Summaries, minutes, who is here, search."),
    ("guide", "Guide", "A short tour of the room."),
    ("echo", "Echo", "Answers with your own words."),
)
_SEEDED: Final = "profiles_seeded"
_INCARNATION: Final = "incarnation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What is known once the node answers."""

    url: str
    lan_urls: tuple[str, ...]
    fingerprint: str
    install_id: str
    token: str
    login_link: Callable[[], Awaitable[tuple[str, int]]]
    stop: Callable[[], None]


def version() -> str:
    """The installed version."""
    return metadata.version("roommesh")


class Node:
    """One running node. `async with` it; it is ready inside."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._clock = SystemClock()
        self._entropy = SystemEntropy()
        self._metrics = Metrics()
        self._redaction = Redaction()
        self._token = secrets.token_urlsafe(32)
        self._boot_id = self._entropy.bytes(BOOT_ID_BYTES)
        self._started_at_ms = self._clock.now().wall_ms
        self._jobs = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()
        self._stop = asyncio.Event()

    # --- life ------------------------------------------------------------------------------

    async def __aenter__(self) -> "Node":
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._log.info("node.draining")
        await self._stack.aclose()

    async def _start(self) -> None:
        home = homes.open_home(self._settings.home)
        self._stack.enter_context(homes.lock_home(home))
        (home / "logs").mkdir(mode=0o700, exist_ok=True)
        log_file = LogFile(home / "logs" / "node.log")
        self._stack.callback(log_file.close)
        self._redaction.hide(self._token)
        self._log = make_log(log_file.write, self._redaction, lambda: self._clock.now().wall_ms)
        self._stack.enter_context(libraries_into(self._log))
        self._identity = keystore.open_identity(home, self._entropy.bytes)
        self._certificate = self._open_certificate()
        await self._open_storage()
        await self._open_agents()
        await self._open_mesh()
        await self._open_edge()
        homes.write_control(
            home,
            {
                "url": self.port.loopback(),
                "token": self._token,
                "pid": os.getpid(),
                "install_id": self._identity.chain.install_id,
                "boot_id": self._boot_id.hex(),
                "version": version(),
            },
        )
        self._stack.callback(homes.remove_control, home)
        self._log.info("node.ready", url=self.port.loopback(), version=version())

    async def until_stopped(self) -> None:
        """Wait for `stop`."""
        await self._stop.wait()

    def stop(self) -> None:
        """Begin to drain."""
        self._stop.set()

    @property
    def ready(self) -> Ready:
        """What the terminal says about this node."""
        return Ready(
            url=self.port.loopback(),
            lan_urls=tuple(self.port.lan()),
            fingerprint=self.port.fingerprint(),
            install_id=self._identity.chain.install_id,
            token=self._token,
            login_link=self.sessions.login_link,
            stop=self.stop,
        )

    # --- parts, in the order in which they start ---------------------------------------------

    def _open_certificate(self) -> Certificate:
        cert, key = self._settings.tls_cert, self._settings.tls_key
        if cert is not None and key is not None:
            return given_certificate(cert, key)
        return open_certificate(self._settings.home, hostname(), self._started_at_ms)

    async def _open_storage(self) -> None:
        self._database = await self._stack.enter_async_context(
            Database(self._settings.home / "mesh.db")
        )
        self._events = DiskEventStore(self._database)
        self._grants = DiskGrantStore(self._database)
        self._saved = DiskSettings(self._database)
        incarnation = await self._saved.get(_INCARNATION)
        if incarnation is None:
            incarnation = self._entropy.bytes(16).hex()
            await self._saved.put(_INCARNATION, incarnation)
        self._incarnation = incarnation

    async def _open_agents(self) -> None:
        await self._stack.enter_async_context(self._jobs)
        self._stack.callback(self._cancel_jobs)
        self._mounts = await self._stack.enter_async_context(
            MountTable(self._settings.home / "profiles", clock=lambda: self._clock.now().wall_ms)
        )
        if await self._saved.get(_SEEDED) is None:
            present = {status.name for status in self._mounts.list()}
            for name, shown, description in _FIRST_PROFILES:
                if name not in present:
                    await self._mounts.add(
                        ProfileConfig.parse(
                            {
                                "name": name,
                                "backend": "builtin",
                                "display_name": shown,
                                "description": description,
                                "options": {"agent": name},
                            }
                        )
                    )
            await self._saved.put(_SEEDED, "true")

    async def _open_mesh(self) -> None:
        install_id, key = self._identity.chain.install_id, self._identity.key
        loop = asyncio.get_running_loop()
        self.followers = Followers(loop.call_soon)
        await self._open_port()
        self.reach = Reach(
            advertised=[*self._settings.advertise, *filter(None, [self._settings.public_url])],
            lan=lambda: self.port.lan(),
            loopback=lambda: self.port.loopback_link(),
        )
        self.links = LinkTable(
            us=self._us,
            clock=self._clock,
            entropy=self._entropy,
            log=self._log,
            metrics=self._metrics,
            on_up=self._on_up,
            on_message=self._on_message,
            on_down=self._on_down,
        )
        self.operator = Operator(
            install_id=install_id,
            key=key,
            install_name=self._settings.name,
            display_name=person_name(),
            addresses=lambda: self.reach.addresses(),
            clock=self._clock,
            entropy=self._entropy,
        )
        self.rooms = OpenRooms(
            me=install_id,
            key=key,
            store=self._events,
            links=self.links,
            clock=self._clock,
            changed=self.followers.changed,
            log=self._log,
        )
        self._make_services()
        for load in (self.lending.load, self.routing.load, self.peers.load, self.invitations.load):
            await load()
        await self._stack.enter_async_context(self.links)
        await self._stack.enter_async_context(self.rooms)
        self.peers.refresh()
        await self.turns.load()
        await self.joining.load()
        self.routing.start()
        self.spawn(self.lending.run())

    def _make_services(self) -> None:
        common: dict[str, Any] = {"rooms": self.rooms, "clock": self._clock}
        self.lending = Lending(
            store=self._grants,
            mounts=self._mounts,
            links=self.links,
            operator=self.operator,
            log=self._log,
            **common,
        )
        self.routing = Routing(
            store=self._grants,
            links=self.links,
            operator=self.operator,
            spawn=self.spawn,
            log=self._log,
            **common,
        )
        self.turns = TurnDesk(
            inbox=DiskTurnInbox(self._database),
            events=self._events,
            links=self.links,
            mounts=self._mounts,
            lending=self.lending,
            operator=self.operator,
            spawn=self.spawn,
            log=self._log,
            **common,
        )
        self.peers = Peers(
            store=DiskPeerStore(self._database),
            links=self.links,
            spawn=self.spawn,
            states=self.links.state,
            changed=self.followers.changed,
            **common,
        )
        self.conversation = Conversation(
            rooms=self.rooms,
            store=self._events,
            operator=self.operator,
            lends=self.lending,
            incarnation=self._incarnation,
            spawn=self.spawn,
        )
        self.invitations = Invitations(
            conversation=self.conversation,
            operator=self.operator,
            notes=DiskInvitationNotes(self._database),
            links=self.links,
            reach=self.reach,
            entropy=self._entropy,
            spawn=self.spawn,
            changed=self.followers.changed,
            **common,
        )
        self.joining = Joining(
            lending=self.lending,
            peers=self.peers,
            receipts=DiskReceiptStore(self._database),
            operator=self.operator,
            links=self.links,
            dials=self.links,
            entropy=self._entropy,
            spawn=self.spawn,
            log=self._log,
            **common,
        )
        for watcher in (self.peers, self.lending, self.routing, self.turns, self):
            self.rooms.watch(watcher)

    async def _open_port(self) -> None:
        self.sessions = BrowserSessions(
            store=DiskSessionStore(self._database),
            clock=self._clock,
            entropy=self._entropy,
            install_id=self._identity.chain.install_id,
            url=lambda: self._settings.public_url or self.port.loopback(),
        )
        await self.sessions.load()
        discovery = None
        if self._settings.discovery:
            discovery = await self._stack.enter_async_context(
                Discovery(
                    install_id=self._identity.chain.install_id,
                    clock=self._clock,
                    log=self._log,
                    metrics=self._metrics,
                    on_sighting=lambda _sighting: self.followers.changed("links"),
                )
            )
        self._discovery = discovery
        self._listener = Listener(
            lambda: self._sockets.protocol(),
            self._certificate.context,
            port=self._settings.listen[1],
            log=self._log,
            metrics=self._metrics,
        )
        self.port = Port(
            listener=self._listener,
            certificate=self._certificate,
            discovery=discovery,
            saved=self._saved,
            name=self._settings.name,
            changed=self.followers.changed,
        )

    async def _open_edge(self) -> None:
        acceptor = Acceptor(
            self.links,
            certificate_sha256=lambda: self._certificate.sha256,
            public_hosts=self._public_hosts,
            log=self._log,
        )
        app = make_app(
            EdgeParts(
                surface=self._surface(),
                methods=METHODS,
                sessions=self.sessions,
                hosts=OwnHosts(
                    hostname=hostname(),
                    public_url=self._settings.public_url,
                    advertised=self._settings.advertise,
                ),
                token=self._token,
                clock=self._clock,
                entropy=self._entropy,
                log=self._log,
                metrics=self._metrics,
                problems=self._problems,
                well_known=document(
                    chain=self._identity.chain,
                    key=self._identity.key,
                    version=version(),
                    link_versions=range(VERSION_MIN, VERSION_MAX + 1),
                ),
                link=acceptor.accept,
            )
        )
        self._sockets = HttpSockets(app)
        await self._sockets.start()
        self._stack.push_async_callback(self._sockets.close)
        await self._stack.enter_async_context(self._listener)
        await self.port.open(await self._wants_lan())

    def _surface(self) -> Surface:
        profiles = Profiles(mounts=self._mounts, rooms=self.rooms, changed=self.followers.changed)
        facts = NodeFacts(
            identity=Identity(
                install_id=self._identity.chain.install_id,
                boot_id=self._boot_id.hex(),
                version=version(),
                name=self._settings.name,
                operator_name=self.operator.display_name,
                home=str(self._settings.home),
                started_at_ms=self._started_at_ms,
            ),
            network=self.port,
            rooms=self.rooms,
            peers=self.peers,
            profiles=profiles,
            states=self.links.state,
            sightings=lambda: self._discovery.sightings if self._discovery else (),
            storage=self._storage_facts,
            warnings=lambda: (),
            problems=self._problems,
            clock=self._clock,
        )
        return Surface(
            rooms=self.conversation,
            invitations=self.invitations,
            joining=self.joining,
            peers=self.peers,
            grants=Loans(
                lending=self.lending, routing=self.routing, rooms=self.rooms, clock=self._clock
            ),
            profiles=profiles,
            node=facts,
            followers=self.followers,
            sessions=self.sessions,
        )

    # --- small answers -----------------------------------------------------------------------

    async def _wants_lan(self) -> bool:
        if self._settings.origins.get("lan") != "default":
            return self._settings.lan
        return await self._saved.get(LAN_SETTING) == "true"

    def _us(self) -> OurEnd:
        return OurEnd(
            key=self._identity.key,
            chain=self._identity.chain,
            boot_id=self._boot_id,
            name=self._settings.name,
            addresses=self.reach.addresses(),
        )

    def _public_hosts(self) -> tuple[str, ...]:
        from urllib.parse import urlsplit

        name = urlsplit(self._settings.public_url).hostname
        return (name,) if name else ()

    def _problems(self) -> list[str]:
        failure = self._database.failure
        return [f"{failure.reason}: {failure.message}"] if failure else []

    def _storage_facts(self) -> dict[str, int]:
        facts = self._database.statistics()
        return {
            "events": facts.writer.events,
            "commits": facts.writer.commits,
            "queue": facts.writer.queue_length,
        }

    # --- links and facts -------------------------------------------------------------------

    def _on_up(self, hello: PeerHello) -> None:
        self.peers.on_link_up(hello)
        self.rooms.on_link_up(hello.install_id)
        for service in (self.lending, self.routing, self.turns):
            service.on_link_up(hello.install_id)

    def _on_down(self, install_id: str, _reason: str) -> None:
        self.rooms.on_link_down(install_id)
        self.routing.on_link_down(install_id)
        self.peers.on_link_down(install_id)

    def _on_message(self, install_id: str, message: LinkMessage) -> None:
        match message:
            case TurnDispatch():
                self.turns.on_dispatch(install_id, message)
            case GrantOffer():
                self.routing.on_offer(install_id, message)
            case Preview():
                self.invitations.on_preview(install_id, message)
            case PreviewResult():
                self.joining.on_preview_result(message)
            case RedeemResult():
                if not self.invitations.on_result(message):
                    self.joining.on_result(message)
            case Redeem() if self.invitations.on_redeem(install_id, message):
                pass  # relayed, or refused here
            case _:
                self.rooms.on_message(install_id, message)

    def on_event(self, runner: RoomRunner, event: Event) -> None:
        """Pages list rooms and invitations by their own notices."""
        if event.kind.startswith("invitation.") or event.kind == "member.joined":
            self.followers.changed("invitations")
        if event.kind.startswith(("room.", "member.")):
            self.followers.changed("rooms")

    # --- jobs ------------------------------------------------------------------------------

    def spawn(self, job: Coroutine[Any, Any, None]) -> None:
        """Run a job in the background; it ends with the node."""
        task = self._jobs.create_task(self._guarded(job))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _guarded(self, job: Coroutine[Any, Any, None]) -> None:
        try:
            await job
        except MeshError as error:
            self._log.warning("job.refused", reason=error.reason, why=error.message)
        except Exception as fault:  # noqa: BLE001 - the supervisor of background jobs
            self._log.error("job.failed", exc_info=fault)

    def _cancel_jobs(self) -> None:
        for task in tuple(self._running):
            task.cancel()


async def serve(settings: Settings, on_ready: Callable[[Ready], Awaitable[None]]) -> None:
    """Run a node until SIGTERM, SIGINT or `Ready.stop`. Raises MeshError if it cannot start."""
    async with Node(settings) as node:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, node.stop)
        node.spawn(_told(on_ready, node.ready))
        await node.until_stopped()


async def _told(on_ready: Callable[[Ready], Awaitable[None]], ready: Ready) -> None:
    await on_ready(ready)


async def _say(ready: Ready) -> None:
    lines = [f"roommesh is ready: {ready.url}"]
    lines += [f"  on your network: {url}" for url in ready.lan_urls]
    if ready.lan_urls:
        lines.append(f"  certificate SHA-256: {ready.fingerprint}")
    lines.append("  open the page: roommesh open")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def run(settings: Settings, on_ready: Callable[[Ready], Awaitable[None]] = _say) -> None:
    """Run a node in this process until it is told to stop. Raises MeshError."""
    asyncio.run(serve(settings, on_ready))
