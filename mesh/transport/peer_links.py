"""One install as the link table knows it, and the rules for a second link to it.

At most one link per install is open. When another handshake succeeds while one is:

| the new link                                        | what is done                            |
|-----------------------------------------------------|-----------------------------------------|
| same boot, same side dialed: the other lost the old | the new one replaces it                 |
| same boot, and the lower install id dialed the new  | the new one replaces it                 |
| same boot, and the lower install id dialed the old  | the old one is asked; if it answers, the|
|                                                     | new one is closed, else replaced        |
| another boot, and the old one answers a ping        | `duplicate_instance`: the new is refused|
| another boot, and the old one is silent             | restarted; the new one replaces it      |

Both ends decide by the same rule, so when both dial at once one link survives and neither flaps.
A replaced link is reported down before its successor is reported up: what was queued on it is
gone, and the layer above catches up.
"""

import asyncio
import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from mesh.core.errors import PeerFault, Refused
from mesh.core.limits import LINK_PROBE_S, LINKS_MAX, UNWANTED_LINKS_MAX
from mesh.ports import Clock, Entropy
from mesh.telemetry import Log, Metrics
from mesh.transport.dialer import Backoff
from mesh.transport.link_runner import LinkRunner
from mesh.wire import link
from mesh.wire.handshake import PeerHello

OnUp = Callable[[PeerHello], None]
OnDown = Callable[[str, str], None]

# Ends that say that dialing again at once would only be refused again.
_UNWELCOME: Final = frozenset(
    {"replaced", "duplicate_instance", "busy", "peer_identity_mismatch", "protocol", "unwanted"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkState:
    """What people see of one peer. `state` is up or down; `since_ms` is wall time.

    A link that is up has a reason only when something is wrong: `duplicate_instance`.
    """

    install_id: str
    name: str
    state: str
    address: str
    since_ms: int
    reason: str
    rtt_us: int | None


class Rule(enum.Enum):
    """What to do with a second link."""

    REPLACE = "replace"
    ASK_OLD = "ask the old one"
    ASK_OLD_BOOT = "ask the old one, which is another boot"


@dataclass(slots=True, kw_only=True)
class PeerLink:
    """One install: whether it is wanted, where it may be, the link if there is one.

    `lock` is held while a link is seated, `seating` counts those that hold or await it. `news`
    wakes the dialing task.
    """

    install_id: str
    backoff: Backoff
    since_ms: int
    name: str = ""
    addresses: tuple[str, ...] = ()
    reason: str = "peer_offline"
    is_wanted: bool = False
    seating: int = 0
    runner: LinkRunner | None = None
    dialing: asyncio.Task[None] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_forgettable(self) -> bool:
        """True if nothing of it needs to be remembered."""
        return not self.is_wanted and self.runner is None and not self.seating

    def hear_of(self) -> None:
        """A sign of life or a new hint: the next attempt comes soon."""
        self.backoff.reset()
        self.news.set()

    def prefer(self, address: str) -> None:
        """Try this one first from now on: it was right."""
        rest = tuple(known for known in self.addresses if known != address)
        if len(rest) < len(self.addresses):
            self.addresses = (address, *rest)

    def state(self) -> LinkState:
        """For people and programs."""
        runner = self.runner
        if runner is not None:
            kind, address = "up", runner.address
        else:
            kind, address = "down", self.addresses[0] if self.addresses else ""
        return LinkState(
            install_id=self.install_id,
            name=self.name,
            state=kind,
            address=address,
            since_ms=self.since_ms,
            reason=self.reason,
            rtt_us=runner.rtt_us if runner is not None else None,
        )


def rule_for(our_install_id: str, old: LinkRunner, new: LinkRunner) -> Rule:
    """The table above."""
    assert old.peer.install_id == new.peer.install_id
    if old.peer.boot_id != new.peer.boot_id:
        return Rule.ASK_OLD_BOOT
    if old.is_dialed == new.is_dialed:
        return Rule.REPLACE
    we_are_lower = our_install_id < new.peer.install_id
    return Rule.REPLACE if new.is_dialed == we_are_lower else Rule.ASK_OLD


class PeerLinks:
    """Every install that is wanted or linked, and the one link to each."""

    def __init__(
        self,
        *,
        install_id: str,
        clock: Clock,
        entropy: Entropy,
        log: Log,
        metrics: Metrics,
        tasks: asyncio.TaskGroup,
        on_up: OnUp,
        on_down: OnDown,
    ) -> None:
        self.is_closing = False
        self.is_copied = False
        self._install_id = install_id
        self._clock = clock
        self._entropy = entropy
        self._log = log
        self._metrics = metrics
        self._tasks = tasks
        self._on_up = on_up
        self._on_down = on_down
        self._peers: dict[str, PeerLink] = {}

    def get(self, install_id: str) -> PeerLink | None:
        """The install, if it is known."""
        return self._peers.get(install_id)

    def all(self) -> tuple[PeerLink, ...]:
        """All of them, oldest first."""
        return tuple(self._peers.values())

    def make(self, install_id: str) -> PeerLink:
        """The install; new if it was not known."""
        peer = self._peers.get(install_id)
        if peer is None:
            peer = PeerLink(
                install_id=install_id,
                backoff=Backoff(self._entropy),
                since_ms=self._clock.now().wall_ms,
            )
            self._peers[install_id] = peer
        return peer

    def forget(self, peer: PeerLink) -> None:
        """Drop the install unless something of it is still needed."""
        if peer.is_forgettable:
            self._peers.pop(peer.install_id, None)

    async def seat(self, runner: LinkRunner) -> None:
        """Make this link the one to its install, and drive it; or refuse it.

        Raises:
            PeerFault: `duplicate_instance`.
            Refused: `conflict` (the other link stays; field install_id), `busy`.
        """
        install_id = runner.peer.install_id
        if install_id == self._install_id:
            # Proved with our own key, and not this boot: our home was copied (attack 22).
            self.is_copied = True
            self._log.warning("another node runs with this install's key", address=runner.address)
            raise PeerFault("duplicate_instance", "Another node runs with this install's key.")
        self._check_room(install_id)
        peer = self.make(install_id)
        if not runner.is_dialed:
            peer.hear_of()
        peer.seating += 1
        try:
            async with peer.lock:
                if peer.runner is not None:
                    await self._check_second(peer.runner, runner)
                if self.is_closing:
                    raise Refused("busy", "This node is closing.")
                if peer.runner is not None:
                    self._report_down(peer, peer.runner, link.REPLACED)
                self._report_up(peer, runner)
        finally:
            peer.seating -= 1
            self.forget(peer)

    async def _check_second(self, old: LinkRunner, new: LinkRunner) -> None:
        rule = rule_for(self._install_id, old, new)
        if rule is Rule.REPLACE or not await old.answers(LINK_PROBE_S):
            return
        if rule is Rule.ASK_OLD:
            raise Refused(
                "conflict",
                "A link to that install is open already.",
                install_id=new.peer.install_id,
            )
        self.make(new.peer.install_id).reason = "duplicate_instance"
        self._log.warning(
            "two nodes run with one key",
            install_id=new.peer.install_id,
            name=new.peer.name,
            first=old.address,
            second=new.address,
        )
        raise PeerFault("duplicate_instance", "Two nodes run with that install's key.")

    def _check_room(self, install_id: str) -> None:
        peer = self._peers.get(install_id)
        if self.is_closing:
            raise Refused("busy", "This node is closing.")
        if peer is not None and (peer.is_wanted or peer.runner is not None):
            return
        linked = [known for known in self._peers.values() if known.runner is not None]
        unwanted = sum(not known.is_wanted for known in linked)
        if len(linked) >= LINKS_MAX or unwanted >= UNWANTED_LINKS_MAX:
            raise Refused("busy", "This node has as many links as it takes.")

    async def _drive(self, peer: PeerLink, runner: LinkRunner) -> None:
        code = link.LOST
        try:
            code = await runner.run()
        finally:
            if peer.runner is runner:
                self._report_down(peer, runner, code)

    def _report_up(self, peer: PeerLink, runner: LinkRunner) -> None:
        assert peer.runner is None
        peer.runner = runner
        peer.name = runner.peer.name
        peer.since_ms = self._clock.now().wall_ms
        peer.reason = ""
        if runner.is_dialed:
            peer.prefer(runner.address)
        peer.news.set()
        self._metrics.links_up.inc()
        self._tasks.create_task(self._drive(peer, runner))
        self._on_up(runner.peer)

    def _report_down(self, peer: PeerLink, runner: LinkRunner, code: int) -> None:
        """Unseat a link and say so, once; it delivers nothing any more."""
        assert peer.runner is runner
        reason = link.word_of(code)
        peer.runner = None
        peer.since_ms = self._clock.now().wall_ms
        peer.reason = reason
        runner.cut(code)
        if reason not in _UNWELCOME:
            peer.backoff.reset()
        peer.news.set()
        self._metrics.links_up.dec()
        self._metrics.link_ends.labels(reason).inc()
        self._on_down(peer.install_id, reason)
        self.forget(peer)
