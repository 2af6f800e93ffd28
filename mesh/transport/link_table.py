"""All links of this node: at most one per install, dialed or accepted, and one to ourselves.

`want` keeps an install dialed until `unwant`, one task each, its addresses in order, with full
jitter between rounds. `accept` admits whoever proves a key; what an install may then do is for
the layers above, which know the grants. `peer_links` holds the rule for two links to one install.

What is promised to the callbacks: `on_up` before the first message of a link and `on_down` after
the last, never two ups without a down; messages of one link in order, each at most once. Nothing
is promised across links: after `on_up` the layer above catches up. The callbacks are plain
functions and must not block; a MeshError raised by `on_message` is the peer's fault and cuts its
link, anything else is ours and ends the table.

Refuses: a second instance of one key while the first is alive (`duplicate_instance`), more links
than LINKS_MAX, more uninvited ones than UNWANTED_LINKS_MAX. Nothing rests on a peer's address.
"""

import asyncio
import contextlib
import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Self

from mesh.core.errors import Malformed, MeshError, PeerFault, Refused
from mesh.core.limits import (
    DIAL_BACKOFF_MAX_S,
    DRAIN_S,
    LINK_PROBE_S,
    LOCAL_QUEUE_MAX,
    SWEEP_S,
    UNWANTED_IDLE_S,
)
from mesh.core.link_messages import LinkMessage
from mesh.ports import Clock, Entropy
from mesh.telemetry import Log, Metrics
from mesh.transport.addresses import Address, vet_url, vetted
from mesh.transport.dialer import Dialer, Socket
from mesh.transport.link_runner import LinkRunner, say_goodbye, shake_hands, socket_under
from mesh.transport.peer_links import LinkState, OnDown, OnUp, PeerLink, PeerLinks
from mesh.wire import link
from mesh.wire.handshake import AcceptorHandshake, DialerHandshake, OurEnd, PeerHello
from mesh.wire.transcript import NONCE_BYTES

OnMessage = Callable[[str, LinkMessage], None]


class LinkTable:
    """The links. `async with` it: inside links live, at the end they are drained."""

    def __init__(
        self,
        *,
        us: Callable[[], OurEnd],
        clock: Clock,
        entropy: Entropy,
        log: Log,
        metrics: Metrics,
        on_up: OnUp,
        on_message: OnMessage,
        on_down: OnDown,
    ) -> None:
        self._us = us
        self._clock = clock
        self._entropy = entropy
        self._log = log
        self._metrics = metrics
        self._on_message = on_message
        self._install_id = us().chain.install_id
        self._tasks = asyncio.TaskGroup()
        self._peers = PeerLinks(
            install_id=self._install_id,
            clock=clock,
            entropy=entropy,
            log=log,
            metrics=metrics,
            tasks=self._tasks,
            on_up=on_up,
            on_down=on_down,
        )
        self._local: deque[LinkMessage] = deque()
        self._local_news = asyncio.Event()
        self._dialer = Dialer()
        self._standing: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self._dialer.__aenter__()
        await self._tasks.__aenter__()
        self._standing = [
            self._tasks.create_task(self._deliver_local()),
            self._tasks.create_task(self._sweep_on()),
        ]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                await self.drain()
            for task in self._standing:
                task.cancel()
            await self._tasks.__aexit__(kind, error, trace)
        finally:
            await self._dialer.__aexit__(None, None, None)

    # ------------------------------------------------------------------ what others ask

    def send(self, install_id: str, message: LinkMessage) -> bool:
        """Queue a message; False if there is no link, or it was cut now for reading too slowly.

        To our own install it is delivered in order, not before the next turn of the loop.

        Raises:
            Malformed: reason `too_large`, the message does not fit a frame.
        """
        if install_id == self._install_id:
            if len(self._local) >= LOCAL_QUEUE_MAX:
                return False
            self._local.append(message)
            self._local_news.set()
            return True
        peer = self._peers.get(install_id)
        return peer is not None and peer.runner is not None and peer.runner.send(message)

    def is_up(self, install_id: str) -> bool:
        """True while a proved link to that install is open. Always true for ourselves."""
        peer = self._peers.get(install_id)
        return install_id == self._install_id or (peer is not None and peer.runner is not None)

    def want(self, install_id: str, addresses: Sequence[str]) -> None:
        """Keep that install dialed. Hints that may not be dialed are left out; order counts."""
        if install_id == self._install_id or self._peers.is_closing:
            return
        peer = self._peers.make(install_id)
        hints = vetted(tuple(addresses), allow_loopback=True)
        if set(hints) != set(peer.addresses):
            # What worked last stays first, if it is still a hint.
            first = peer.addresses[:1]
            peer.addresses = hints
            for address in first:
                peer.prefer(address)
            peer.hear_of()
        peer.is_wanted = True
        if peer.dialing is None:
            peer.dialing = self._tasks.create_task(self._keep_dialing(peer))

    def unwant(self, install_id: str) -> None:
        """Stop dialing; an open link closes when it is idle."""
        peer = self._peers.get(install_id)
        if peer is None:
            return
        peer.is_wanted = False
        if peer.dialing is not None:
            peer.dialing.cancel()
            peer.dialing = None
        self._peers.forget(peer)

    def cut(self, install_id: str, code: int = link.UNWANTED) -> None:
        """Close the link to that install now, if there is one."""
        peer = self._peers.get(install_id)
        if peer is not None and peer.runner is not None:
            peer.runner.cut(code)

    async def ping(self, install_id: str) -> int:
        """Ask that install for a sign of life; the round trip in microseconds.

        Raises:
            Refused: reason `peer_offline`, no link or no answer within LINK_PROBE_S.
        """
        peer = self._peers.get(install_id)
        runner = peer.runner if peer is not None else None
        if runner is None or not await runner.answers(LINK_PROBE_S) or runner.rtt_us is None:
            raise Refused("peer_offline", "That install does not answer.")
        return runner.rtt_us

    def hello_of(self, install_id: str) -> PeerHello | None:
        """What the install at the other end of an open link proved and said of itself."""
        peer = self._peers.get(install_id)
        return peer.runner.peer if peer is not None and peer.runner is not None else None

    @property
    def is_copied(self) -> bool:
        """True once another node was met that runs with our own key (attack 22)."""
        return self._peers.is_copied

    def state(self) -> tuple[LinkState, ...]:
        """Every install that is wanted or linked."""
        return tuple(peer.state() for peer in self._peers.all())

    async def dial_once(self, address: str, expected_install_id: str | None) -> PeerHello:
        """Dial an address that a person or an invitation named; the link stays open.

        Raises:
            MeshError: `peer_offline`, `not_a_node`, `peer_identity_mismatch` (another install,
                or this node itself), `unsupported`, `duplicate_instance`, `busy`.
            Malformed: the address is not one.
        """
        if expected_install_id is not None:
            known = self._peers.get(expected_install_id)
            if known is not None and known.runner is not None:
                return known.runner.peer
        try:
            return await self._dial(vet_url(address), expected_install_id)
        except Refused as refusal:
            known = self._peers.get(str(refusal.fields.get("install_id")))
            if refusal.reason != "conflict" or known is None or known.runner is None:
                raise
            return known.runner.peer

    async def drain(self) -> None:
        """Stop dialing and admitting, send what waits, close every link, within DRAIN_S.

        Messages to ourselves are still delivered, until the table itself ends.
        """
        self._peers.is_closing = True
        for peer in self._peers.all():
            self.unwant(peer.install_id)
        runners = [peer.runner for peer in self._peers.all() if peer.runner is not None]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S), asyncio.TaskGroup() as tasks:
                for runner in runners:
                    tasks.create_task(runner.drain())
        for runner in runners:
            runner.cut(link.DRAIN)

    # ------------------------------------------------------------------ the two ways in

    async def _dial(self, address: Address, expected_install_id: str | None) -> PeerHello:
        try:
            dialed = await self._dialer.open(address)
            handshake = DialerHandshake(
                self._us(), self._entropy.bytes(NONCE_BYTES), dialed.bindings, expected_install_id
            )
            runner = await self._greet(
                dialed.socket,
                handshake,
                is_dialed=True,
                address=address.url,
                is_local=address.is_loopback,
            )
        except Malformed:
            self._metrics.dials.labels("not_a_node").inc()
            raise PeerFault("not_a_node", f"What answers at {address.url} is no node.") from None
        except MeshError as error:
            self._metrics.dials.labels(error.reason).inc()
            raise
        self._metrics.dials.labels("up").inc()
        return runner.peer

    async def admit(
        self, socket: Socket, bindings: tuple[str, ...], *, address: str, is_local: bool
    ) -> LinkRunner:
        """Shake hands on an accepted socket and make it a link. `is_local`: from this machine.

        Raises:
            MeshError: the socket was closed with the code for the reason.
        """
        nonce = self._entropy.bytes(NONCE_BYTES)
        handshake = AcceptorHandshake(self._us(), nonce, bindings)
        try:
            return await self._greet(
                socket, handshake, is_dialed=False, address=address, is_local=is_local
            )
        except MeshError as error:
            self._metrics.handshakes_refused.labels(error.reason).inc()
            raise

    async def _greet(
        self,
        socket: Socket,
        handshake: DialerHandshake | AcceptorHandshake,
        *,
        is_dialed: bool,
        address: str,
        is_local: bool,
    ) -> LinkRunner:
        """Shake hands and seat the link. On any failure the socket is closed, with a code."""
        code = link.LOST
        under = socket_under(socket)
        is_seated = False
        try:
            peer = await shake_hands(socket, handshake, self._clock)
            # Loopback hints are worth something only between nodes of one machine. Nothing else
            # rests on where a connection comes from: a proxy is loopback too.
            hints = vetted(peer.addresses, allow_loopback=is_local)
            peer = dataclasses.replace(peer, addresses=hints)
            runner = LinkRunner(
                socket=socket,
                under=under,
                peer=peer,
                is_dialed=is_dialed,
                address=address,
                clock=self._clock,
                log=self._log,
                metrics=self._metrics,
                deliver=partial(self._on_message, peer.install_id),
            )
            await self._peers.seat(runner)
            is_seated = True
        except MeshError as error:
            code = link.REPLACED if error.reason == "conflict" else link.code_of(error.reason)
            raise
        finally:
            if not is_seated:
                await say_goodbye(socket, under, code)
        return runner

    # ------------------------------------------------------------------ standing tasks

    async def _keep_dialing(self, peer: PeerLink) -> None:
        while True:
            if peer.runner is not None:
                await peer.runner.closed.wait()
                continue
            peer.news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(
                    peer.backoff.next_s() if peer.addresses else DIAL_BACKOFF_MAX_S
                ):
                    await peer.news.wait()
                    continue
            await self._dial_round(peer)

    async def _dial_round(self, peer: PeerLink) -> None:
        """Try each address once, in order, until a link is open, by whichever side."""
        for url in peer.addresses:
            if peer.runner is not None:
                return
            try:
                await self._dial(vet_url(url), peer.install_id)
            except MeshError as error:
                if error.reason != "conflict":
                    peer.reason = error.reason
                self._log.debug(
                    "not reached", install_id=peer.install_id, address=url, reason=error.reason
                )
            else:
                return

    async def _deliver_local(self) -> None:
        while True:
            await self._local_news.wait()
            self._local_news.clear()
            for _ in range(len(self._local)):
                self._on_message(self._install_id, self._local.popleft())
            if self._local:
                self._local_news.set()
            await asyncio.sleep(0)

    async def _sweep_on(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            self.sweep()

    def sweep(self) -> None:
        """Ping, cut the silent, close idle links that nobody wants. Called every SWEEP_S."""
        for peer in self._peers.all():
            if peer.runner is None:
                continue
            peer.runner.tick()
            if not peer.is_wanted and peer.runner.idle_s() > UNWANTED_IDLE_S:
                peer.runner.cut(link.UNWANTED)
