"""A network in memory: link messages between installs, in order, each a later turn of the loop.

It keeps the promises of `transport.link_table` (an up before the first message, a down after the
last, nothing of a cut link arrives) and lets a test cut, hold back, drop and count.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mesh.core.errors import MeshError, PeerFault, Refused
from mesh.core.identity import KeyChain
from mesh.core.link_messages import LinkMessage
from mesh.transport.peer_links import LinkState
from mesh.wire.handshake import PeerHello

Drop = Callable[[str, str, LinkMessage], bool]
"""(from, to, message) -> True if the network loses it."""


class Socketed(Protocol):
    """Whoever is told what its links report; `service.assembly.Switchboard` is."""

    def on_up(self, hello: PeerHello) -> None:
        """A link is open."""

    def on_message(self, install_id: str, message: LinkMessage) -> None:
        """A message came."""

    def on_down(self, install_id: str, reason: str) -> None:
        """A link is gone."""


@dataclass(kw_only=True)
class Plug:
    """One install on the panel."""

    hello: PeerHello
    told: Socketed
    is_plugged: bool = True
    wants: dict[str, tuple[str, ...]] = field(default_factory=dict)
    faults: list[MeshError] = field(default_factory=list)


class Panel:
    """Every install, and which of them are linked now."""

    def __init__(self) -> None:
        self.drops: Drop = lambda sender, to, message: False
        self.is_held = False
        self.sent: list[tuple[str, str, LinkMessage]] = []
        self._plugs: dict[str, Plug] = {}
        self._links: dict[frozenset[str], int] = {}
        self._made = 0
        self._queue: deque[tuple[int, str, str, LinkMessage]] = deque()

    def plug_in(self, hello: PeerHello, told: Socketed) -> None:
        """Put an install on the network; links that are wanted come up."""
        wants = self._plugs[hello.install_id].wants if hello.install_id in self._plugs else {}
        self._plugs[hello.install_id] = Plug(hello=hello, told=told, wants=dict(wants))
        self.settle()

    def pull(self, install_id: str) -> None:
        """Take an install off the network, with all its links."""
        self._plugs[install_id].is_plugged = False
        for pair in [pair for pair in self._links if install_id in pair]:
            self._end(pair)

    def put_back(self, install_id: str) -> None:
        """Plug it in again."""
        self._plugs[install_id].is_plugged = True
        self.settle()

    def cut(self, one: str, other: str) -> None:
        """End the link of two, which comes back at once where it is wanted."""
        if frozenset({one, other}) in self._links:
            self._end(frozenset({one, other}))
        self.settle()

    def release(self) -> None:
        """Let go what was held back."""
        self.is_held = False
        self._later()

    def to(self, install_id: str, kind: type[Any]) -> list[Any]:
        """Messages of a type that were sent to an install, lost ones too."""
        return [m for _, to, m in self.sent if to == install_id and isinstance(m, kind)]

    def faults_of(self, install_id: str) -> list[MeshError]:
        """What an install could not accept from its peers."""
        return self._plugs[install_id].faults

    # --- what links do -------------------------------------------------------------------------

    def is_up(self, one: str, other: str) -> bool:
        """True while they are linked; always for an install and itself."""
        return one == other or frozenset({one, other}) in self._links

    def send(self, sender: str, to: str, message: LinkMessage) -> bool:
        """Queue a message on the link of two."""
        if not self.is_up(sender, to):
            return False
        self.sent.append((sender, to, message))
        if not self.drops(sender, to, message) and self.is_up(sender, to):
            self._queue.append((self._number(sender, to), sender, to, message))
            self._later()
        return True

    def want(self, sender: str, to: str, addresses: Sequence[str]) -> None:
        """Keep the link of two."""
        self._plugs[sender].wants[to] = tuple(addresses)
        asyncio.get_running_loop().call_soon(self.settle)

    def unwant(self, sender: str, to: str) -> None:
        """Keep it no longer; it stays open while the other wants it."""
        self._plugs[sender].wants.pop(to, None)
        pair = frozenset({sender, to})
        if pair in self._links and not self._is_wanted(pair):
            asyncio.get_running_loop().call_soon(self._end_if_open, pair)

    def dial(self, sender: str, address: str, expected: str | None) -> PeerHello:
        """Open a link to whoever lives at `panel://INSTALL_ID`. Raises MeshError."""
        found = self._plugs.get(address.removeprefix("panel://"))
        if found is None or not found.is_plugged or not self._plugs[sender].is_plugged:
            raise Refused("peer_offline", "Nobody answers there.")
        if expected not in {None, found.hello.install_id}:
            raise PeerFault("peer_identity_mismatch", "Another install answers there.")
        if not self.is_up(sender, found.hello.install_id):
            self._begin(frozenset({sender, found.hello.install_id}))
        return found.hello

    def states(self, install_id: str) -> tuple[LinkState, ...]:
        """Every install that this one wants or is linked to."""
        linked = {next(iter(pair - {install_id})) for pair in self._links if install_id in pair}
        return tuple(
            LinkState(
                install_id=other,
                name=self._plugs[other].hello.name if other in self._plugs else "",
                state="up" if other in linked else "down",
                address=f"panel://{other}",
                since_ms=1,
                reason="" if other in linked else "peer_offline",
                rtt_us=7 if other in linked else None,
            )
            for other in sorted(linked | self._plugs[install_id].wants.keys())
        )

    def settle(self) -> None:
        """Open what is wanted and possible."""
        for sender, plug in self._plugs.items():
            for to in plug.wants:
                pair = frozenset({sender, to})
                if len(pair) == 2 and pair not in self._links and self._may_link(pair):
                    self._begin(pair)

    # --- inside --------------------------------------------------------------------------------

    def _may_link(self, pair: frozenset[str]) -> bool:
        return all(i in self._plugs and self._plugs[i].is_plugged for i in pair)

    def _is_wanted(self, pair: frozenset[str]) -> bool:
        one, other = pair
        return other in self._plugs[one].wants or one in self._plugs[other].wants

    def _number(self, sender: str, to: str) -> int:
        return 0 if sender == to else self._links[frozenset({sender, to})]

    def _begin(self, pair: frozenset[str]) -> None:
        self._made += 1
        self._links[pair] = self._made
        one, other = sorted(pair)
        self._plugs[one].told.on_up(self._plugs[other].hello)
        self._plugs[other].told.on_up(self._plugs[one].hello)

    def _end(self, pair: frozenset[str]) -> None:
        del self._links[pair]
        one, other = sorted(pair)
        self._plugs[one].told.on_down(other, "peer_offline")
        self._plugs[other].told.on_down(one, "peer_offline")

    def _end_if_open(self, pair: frozenset[str]) -> None:
        if pair in self._links and not self._is_wanted(pair):
            self._end(pair)

    def _later(self) -> None:
        asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        if self.is_held or not self._queue:
            return
        number, sender, to, message = self._queue.popleft()
        if sender == to or self._links.get(frozenset({sender, to})) == number:
            plug = self._plugs[to]
            try:
                plug.told.on_message(sender, message)
            except MeshError as fault:  # the table cuts the link of a peer that breaks the rules
                plug.faults.append(fault)
                if sender != to:
                    self._end(frozenset({sender, to}))
        if self._queue:
            self._later()


class PanelLinks:
    """The links of one install: `ports.Links` and `service.joining.Dials`."""

    def __init__(self, panel: Panel, install_id: str) -> None:
        self._panel = panel
        self._me = install_id

    def send(self, install_id: str, message: LinkMessage) -> bool:
        """Queue a message."""
        return self._panel.send(self._me, install_id, message)

    def is_up(self, install_id: str) -> bool:
        """True while linked."""
        return self._panel.is_up(self._me, install_id)

    def want(self, install_id: str, addresses: Sequence[str]) -> None:
        """Keep it dialed."""
        if install_id != self._me:
            self._panel.want(self._me, install_id, addresses)

    def unwant(self, install_id: str) -> None:
        """Stop."""
        self._panel.unwant(self._me, install_id)

    async def dial_once(self, address: str, expected_install_id: str | None) -> PeerHello:
        """Dial. Raises MeshError."""
        await asyncio.sleep(0)
        return self._panel.dial(self._me, address, expected_install_id)

    def state(self) -> Sequence[LinkState]:
        """Every install that is wanted or linked."""
        return self._panel.states(self._me)


def a_hello(install_id: str, public_key: bytes, name: str) -> PeerHello:
    """What a handshake proves of an install on the panel."""
    return PeerHello(
        install_id=install_id,
        chain=KeyChain(keys=(public_key,)),
        boot_id=bytes(16),
        name=name,
        addresses=(f"panel://{install_id}",),
        version=1,
        binding="plain:loopback",
        clock_ahead_ms=0,
    )
