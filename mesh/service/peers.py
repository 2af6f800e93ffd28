"""Other installs: who we have met, and which links this node keeps because a room needs them.

A room needs a link between its authority and every install that has a member in it. Whoever can
dial does; the other side's addresses come from its seat in the log and, fresher, from its last
handshake. An install that a room needs is remembered with its key chain, and nothing follows
from that; any other is forgotten with its link, for anybody can make keys and come by.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from mesh.core.errors import Refused
from mesh.core.event import Event
from mesh.core.limits import ADDRESSES_PER_PEER_MAX
from mesh.ports import Clock, Links
from mesh.service.open_rooms import OpenRooms
from mesh.service.room_runner import RoomRunner
from mesh.stores import PeerRow, PeerStore
from mesh.wire.handshake import PeerHello

_MOVES = frozenset({"room.created", "member.joined", "member.left", "room.disbanded"})

Spawn = Callable[[Coroutine[Any, Any, None]], None]


class LinkStates(Protocol):
    """What is shown of a link; `transport.peer_links.LinkState` has it."""

    @property
    def install_id(self) -> str:
        """The other install."""
        ...

    @property
    def name(self) -> str:
        """How it calls itself."""
        ...

    @property
    def state(self) -> str:
        """up, or why not."""
        ...

    @property
    def address(self) -> str:
        """Where it was reached, or tried."""
        ...

    @property
    def since_ms(self) -> int:
        """Wall time of the last change."""
        ...

    @property
    def reason(self) -> str:
        """Why it is down."""
        ...

    @property
    def rtt_us(self) -> int | None:
        """Microseconds of the last round trip, if it is up and was measured."""
        ...


class Sighted(Protocol):
    """A hint that an install may be near; `transport.discovery.Sighting` has it."""

    @property
    def install_id(self) -> str:
        """Who it claims to be."""
        ...

    @property
    def name(self) -> str:
        """How it calls itself."""
        ...

    @property
    def addresses(self) -> Sequence[str]:
        """Where it says it is."""
        ...


class Peers:
    """The installs we have met, and the links that rooms need."""

    def __init__(
        self,
        *,
        store: PeerStore,
        rooms: OpenRooms,
        links: Links,
        clock: Clock,
        spawn: Spawn,
        states: Callable[[], Sequence[LinkStates]],
        changed: Callable[[str], None],
    ) -> None:
        self._store = store
        self._rooms = rooms
        self._links = links
        self._clock = clock
        self._spawn = spawn
        self._states = states
        self._changed = changed
        self._met: dict[str, PeerRow] = {}
        self._stored: set[str] = set()
        self._wanted: set[str] = set()
        self._write = asyncio.Lock()

    async def load(self) -> None:
        """Read what is stored."""
        self._met = {row.install_id: row for row in await self._store.all()}
        self._stored = set(self._met)

    # --- links -----------------------------------------------------------------------------

    def on_link_up(self, hello: PeerHello) -> None:
        """Remember where and who it is."""
        row = PeerRow(
            install_id=hello.install_id,
            name=hello.name,
            public_keys=tuple(key.hex() for key in hello.chain.keys),
            addresses=tuple(hello.addresses)[:ADDRESSES_PER_PEER_MAX],
            last_seen_ms=self._clock.now().wall_ms,
        )
        self._met[row.install_id] = row
        if row.install_id in self._wanted:
            self._spawn(self._keep(row))
        self._changed("links")

    def on_link_down(self, install_id: str) -> None:
        """Somebody may want to look again."""
        if install_id not in self._wanted | self._stored:
            self._met.pop(install_id, None)
        self._changed("links")

    def on_sighting(self, sighting: Sighted) -> None:
        """An install we look for says where it is: a hint to dial, never more."""
        if sighting.install_id in self._wanted:
            hints = self.addresses(sighting.install_id, sighting.addresses)
            self._links.want(sighting.install_id, hints)
        self._changed("links")

    async def _keep(self, row: PeerRow) -> None:
        self._stored.add(row.install_id)
        async with self._write:  # two links of one peer are written in the order they came
            await self._store.put(row)

    def on_event(self, runner: RoomRunner, event: Event) -> None:
        """Members decide which links are needed."""
        if event.kind in _MOVES:
            self.refresh()

    def refresh(self) -> None:
        """Want exactly the links that the rooms of this install need."""
        needed: dict[str, list[str]] = {}
        for runner in self._rooms.all():
            state, machine = runner.state, runner.machine
            others = state.installs() if machine.is_authority else {machine.authority_install_id}
            gone = state.head.seq > 0 and self._rooms.me not in state.installs()
            if gone or (state.disbanded_at_ms is not None and machine.is_authority):
                others = frozenset()
            for install_id in others - {self._rooms.me}:
                seats = [m for m in state.members.values() if m.install_id == install_id]
                known = needed.setdefault(install_id, [])
                known += [a for m in reversed(seats) for a in m.addresses if a not in known]
        for install_id in self._wanted - needed.keys():
            self._links.unwant(install_id)
        for install_id, seats_say in needed.items():
            self._want(install_id, seats_say)
        self._wanted = set(needed)

    def want(self, install_id: str, addresses: Sequence[str]) -> None:
        """Keep a link that no room of ours needs yet (a guest that is joining)."""
        self._want(install_id, addresses)
        self._wanted.add(install_id)

    def _want(self, install_id: str, hints: Sequence[str]) -> None:
        self._links.want(install_id, self.addresses(install_id, hints))
        met = self._met.get(install_id)
        if met is not None and install_id not in self._stored:
            self._spawn(self._keep(met))

    def addresses(self, install_id: str, hints: Sequence[str]) -> list[str]:
        """Where to dial: what the peer said last, then the hints."""
        met = self._met.get(install_id)
        first = list(met.addresses) if met else []
        return [*first, *(a for a in hints if a not in first)][:ADDRESSES_PER_PEER_MAX]

    # --- what others ask -------------------------------------------------------------------

    def list(self) -> list[dict[str, Any]]:
        """Every install we have met or want a link to."""
        states = {s.install_id: s for s in self._states()}
        named = sorted(self._met.keys() | self._wanted | states.keys())
        return [self._json(install_id, states.get(install_id)) for install_id in named]

    def show(self, install_id: str) -> dict[str, Any]:
        """One of them. Raises Refused `not_found`."""
        for peer in self.list():
            if peer["install_id"] == install_id:
                return peer
        raise Refused("not_found", "We have not met that install.")

    def rtt_us(self, install_id: str) -> int:
        """The last measured round trip of a link. Raises Refused `peer_offline`."""
        for link in self._states():
            if link.install_id == install_id and link.rtt_us is not None:
                return link.rtt_us
        raise Refused("peer_offline", "There is no link to that install now.")

    def _json(self, install_id: str, link: LinkStates | None) -> dict[str, Any]:
        met = self._met.get(install_id)
        up = self._links.is_up(install_id)
        return {
            "install_id": install_id,
            "name": met.name if met else (link.name if link else ""),
            "addresses": list(met.addresses) if met else [],
            "link": "up" if up else "down",
            "address": link.address if link else "",
            "since_ms": link.since_ms if link else (met.last_seen_ms if met else 0),
            "reason": "" if up or link is None else link.reason,
            "last_seen_ms": met.last_seen_ms if met else 0,
            "rooms": [r.room_id for r in self._rooms.all() if install_id in r.state.installs()],
        }
