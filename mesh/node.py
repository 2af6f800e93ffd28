"""The composition root: builds everything, starts it in order, drains it in reverse.

    home, lock, keys -> storage -> agents -> links -> rooms -> services -> edge -> port -> ready
    stop: port and pages first, then rooms and links, agents, storage; the lock last

Only this file constructs storage and transport. It holds one of the two broad excepts: a fault
in a background job is written down with its traceback and stops that job, not the node.
"""

import asyncio
import os
import secrets
import signal
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, Final
from urllib.parse import urlsplit

from gateway.mount import MountTable
from mesh.config import Settings
from mesh.core.errors import MeshError
from mesh.http.app import EdgeParts, make_app
from mesh.http.browser_session import BrowserSessions
from mesh.http.own_hosts import OwnHosts
from mesh.http.sockets import HttpSockets
from mesh.http.well_known import document
from mesh.ports import Clock, Entropy
from mesh.ready import OnReady, Ready, version
from mesh.rpc.methods import METHODS
from mesh.rpc.surface import Surface
from mesh.service.assembly import Parts, Services, Switchboard, assemble
from mesh.service.network_port import NetworkPort
from mesh.service.node_facts import Followers, Identity, NodeFacts
from mesh.service.profiles import seed
from mesh.service.reach import Reach
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
from mesh.system import SystemClock, SystemEntropy, hostname, network_ips, person_name
from mesh.telemetry import LogFile, Metrics, Redaction, libraries_into, make_log
from mesh.transport.acceptor import Acceptor
from mesh.transport.discovery import Discovery
from mesh.transport.link_table import LinkTable
from mesh.transport.listener import Listener
from mesh.wire.handshake import VERSION_MAX, VERSION_MIN, OurEnd
from mesh.wire.transcript import BOOT_ID_BYTES

_SEEDED: Final = "profiles_seeded"
_INCARNATION: Final = "incarnation"


def certificate_of(settings: Settings, now_ms: int) -> Certificate:
    """The operator's certificate if one was given, else the home's own."""
    if settings.tls_cert is not None and settings.tls_key is not None:
        return given_certificate(settings.tls_cert, settings.tls_key)
    return open_certificate(settings.home, hostname(), now_ms)


class Node:
    """One running node. `async with` it; it is ready inside."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._clock = clock or SystemClock()
        self._entropy = entropy or SystemEntropy()
        self._metrics = Metrics()
        self._redaction = Redaction()
        self._token = secrets.token_urlsafe(32)
        self._boot_id = self._entropy.bytes(BOOT_ID_BYTES)
        self._started_at_ms = self._clock.now().wall_ms
        self._jobs = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()

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
        level, now = self._settings.log_level, self._clock.now
        self._log = make_log(log_file.write, self._redaction, lambda: now().wall_ms, level=level)
        self._stack.enter_context(libraries_into(self._log))
        self._identity = keystore.open_identity(home, self._entropy.bytes)
        self._certificate = certificate_of(self._settings, self._started_at_ms)
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
        await self._stopping.wait()

    @property
    def ready(self) -> Ready:
        """What the terminal says about this node."""
        return Ready(
            url=self.port.loopback(),
            lan_urls=tuple(self.port.lan()),
            fingerprint=self.port.fingerprint(),
            install_id=self._identity.chain.install_id,
            token=self._token,
            login_link=self._browsers.login_link,
            make_owner_key=self._make_owner_key,
            stop=self._stopping.set,
        )

    async def _make_owner_key(self, show: Callable[[str], None]) -> bool:
        if keystore.owner_public(self._settings.home) is not None:
            return False
        entropy = self._entropy.bytes(keystore.OWNER_ENTROPY_BYTES)
        await asyncio.to_thread(keystore.create_owner_key, self._settings.home, entropy, show)
        return True

    # --- parts, in the order in which they start ---------------------------------------------

    async def _open_storage(self) -> None:
        database = Database(self._settings.home / "mesh.db")
        self._database = await self._stack.enter_async_context(database)
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
            await seed(self._mounts)
            await self._saved.put(_SEEDED, "true")

    async def _open_mesh(self) -> None:
        self.followers = Followers(asyncio.get_running_loop().call_soon)
        switchboard = self._switchboard = Switchboard(self.followers)
        self.port = await self._make_port()
        self.reach = Reach(
            advertised=[*self._settings.advertise, *filter(None, [self._settings.public_url])],
            lan=self.port.lan,
            loopback=self.port.loopback_link,
            page=self.port.loopback,
        )
        self.links = LinkTable(
            us=self._us,
            clock=self._clock,
            entropy=self._entropy,
            log=self._log,
            metrics=self._metrics,
            on_up=switchboard.on_up,
            on_message=switchboard.on_message,
            on_down=switchboard.on_down,
        )
        self.services = self._assemble()
        switchboard.connect(self.services)
        await self.services.load()
        await self._stack.enter_async_context(self.links)
        await self._stack.enter_async_context(self.services.rooms)
        await self.services.resume()
        self.spawn(self.services.lending.run())

    def _assemble(self) -> Services:
        events = DiskEventStore(self._database)
        return assemble(
            Parts(
                install_id=self._identity.chain.install_id,
                key=self._identity.key,
                install_name=self._settings.name,
                display_name=person_name(),
                incarnation=self._incarnation,
                events=events,
                grants=DiskGrantStore(self._database),
                inbox=DiskTurnInbox(self._database),
                peers=DiskPeerStore(self._database),
                receipts=DiskReceiptStore(self._database),
                notes=DiskInvitationNotes(self._database),
                mounts=self._mounts,
                links=self.links,
                reach=self.reach,
                port=self.port,
                followers=self.followers,
                clock=self._clock,
                entropy=self._entropy,
                log=self._log,
                spawn=self.spawn,
                verify=events.verify_chain if self._database.was_unclean else None,
            )
        )

    async def _make_port(self) -> NetworkPort:
        self._discovery = None
        if self._settings.discovery:
            self._discovery = await self._stack.enter_async_context(
                Discovery(
                    install_id=self._identity.chain.install_id,
                    clock=self._clock,
                    log=self._log,
                    metrics=self._metrics,
                    on_sighting=self._switchboard.on_sighting,
                )
            )
        self._listener = Listener(
            lambda: self._sockets.protocol(),
            self._certificate.context,
            port=self._settings.listen[1],
            log=self._log,
            metrics=self._metrics,
        )
        return NetworkPort(
            listener=self._listener,
            announcement=self._discovery,
            fingerprint=self._certificate.fingerprint,
            network_ips=network_ips,
            saved=self._saved,
            name=self._settings.name,
            changed=self.followers.changed,
        )

    async def _open_edge(self) -> None:
        self._browsers = BrowserSessions(
            store=DiskSessionStore(self._database),
            clock=self._clock,
            entropy=self._entropy,
            install_id=self._identity.chain.install_id,
            url=lambda: self._settings.public_url or self.port.loopback(),
        )
        await self._browsers.load()
        public_host = urlsplit(self._settings.public_url).hostname
        acceptor = Acceptor(
            self.links,
            certificate_sha256=lambda: self._certificate.sha256,
            public_hosts=lambda: (public_host,) if public_host else (),
            log=self._log,
        )
        app = make_app(
            EdgeParts(
                surface=self._surface(),
                methods=METHODS,
                sessions=self._browsers,
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
        # Accepted links live inside HTTP, whose end waits for them: they say goodbye first.
        app.on_shutdown.append(lambda _app: self.links.drain())
        self._sockets = HttpSockets(app)
        await self._sockets.start()
        self._stack.push_async_callback(self._sockets.close)
        await self._stack.enter_async_context(self._listener)
        chosen = self._settings.origins.get("lan", "default") != "default"
        await self.port.restore(self._settings.lan if chosen else None)

    def _surface(self) -> Surface:
        services = self.services
        facts = NodeFacts(
            identity=Identity(
                install_id=self._identity.chain.install_id,
                boot_id=self._boot_id.hex(),
                version=version(),
                name=self._settings.name,
                operator_name=services.operator.display_name,
                home=str(self._settings.home),
                started_at_ms=self._started_at_ms,
            ),
            network=self.port,
            rooms=services.rooms,
            profiles=services.profiles,
            states=self.links.state,
            sightings=lambda: self._discovery.sightings if self._discovery else (),
            storage=self._storage_facts,
            problems=self._problems,
        )
        return Surface(
            rooms=services.conversation,
            invitations=services.invitations,
            joining=services.joining,
            peers=services.peers,
            grants=services.loans,
            profiles=services.profiles,
            node=facts,
            followers=self.followers,
            sessions=self._browsers,
        )

    # --- small answers -----------------------------------------------------------------------

    def _us(self) -> OurEnd:
        return OurEnd(
            key=self._identity.key,
            chain=self._identity.chain,
            boot_id=self._boot_id,
            name=self._settings.name,
            addresses=self.reach.addresses(),
        )

    def _problems(self) -> list[str]:
        return [str(self._database.failure)] if self._database.failure else []

    def _storage_facts(self) -> dict[str, int]:
        done = self._database.statistics().writer
        return {"events": done.events, "commits": done.commits, "queue": done.queue_length}

    # --- jobs ------------------------------------------------------------------------------

    def spawn(self, job: Coroutine[Any, Any, None]) -> None:
        """Run a job in the background; it ends with the node."""
        task = self._jobs.create_task(self._guarded(job))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(lambda _: job.close())  # also one that was cancelled unbegun

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


async def serve(settings: Settings, on_ready: OnReady) -> None:
    """Run a node until SIGTERM, SIGINT or `Ready.stop`. Raises MeshError if it cannot start."""
    async with Node(settings) as node:
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, node.ready.stop)
        await on_ready(node.ready)
        await node.until_stopped()


def run(settings: Settings, on_ready: OnReady) -> None:
    """Run a node in this process until it is told to stop. Raises MeshError."""
    asyncio.run(serve(settings, on_ready))
