"""What a node says of itself: who, where, how it stands, and what its operator should know."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mesh.core.errors import Refused
from mesh.core.limits import SUBSCRIBERS_MAX
from mesh.ports import Connection
from mesh.service.open_rooms import OpenRooms
from mesh.service.peers import LinkStates, Sighted
from mesh.service.profiles import Profiles
from mesh.service.subscriptions import notification


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What does not change while the node runs."""

    install_id: str
    boot_id: str
    version: str
    name: str
    operator_name: str
    home: str
    started_at_ms: int


class Network(Protocol):
    """The port, as seen from here."""

    def loopback(self) -> str:
        """The address on this machine."""
        ...

    def lan(self) -> Sequence[str]:
        """Addresses open to the network; none while it is closed."""
        ...

    def fingerprint(self) -> str:
        """The certificate's SHA-256, as a person compares it."""
        ...

    async def set_lan(self, enabled: bool) -> None:
        """Open or close the port to the network, and remember it."""
        ...


class NodeFacts:
    """Answers `node.*`, and tells pages that something has changed."""

    def __init__(
        self,
        *,
        identity: Identity,
        network: Network,
        rooms: OpenRooms,
        profiles: Profiles,
        states: Callable[[], Sequence[LinkStates]],
        sightings: Callable[[], Sequence[Sighted]],
        storage: Callable[[], dict[str, int]],
        problems: Callable[[], Sequence[str]],
    ) -> None:
        self._identity = identity
        self._network = network
        self._rooms = rooms
        self._profiles = profiles
        self._states = states
        self._sightings = sightings
        self._storage = storage
        self._problems = problems

    def info(self) -> dict[str, Any]:
        """Who this node is, and where it listens."""
        lan_urls = list(self._network.lan())
        return {
            "install_id": self._identity.install_id,
            "boot_id": self._identity.boot_id,
            "version": self._identity.version,
            "name": self._identity.name,
            "operator": {"member_name": self._identity.operator_name},
            "listen": [self._network.loopback(), *lan_urls],
            "lan": bool(lan_urls),
            "lan_urls": lan_urls,
            "fingerprint": self._network.fingerprint(),
            "started_at_ms": self._identity.started_at_ms,
            "home": self._identity.home,
        }

    def status(self) -> dict[str, Any]:
        """How it stands now."""
        problems = list(self._problems())
        return {
            "install_id": self._identity.install_id,
            "name": self._identity.name,
            "ready": not problems,
            "rooms": len(self._rooms.all()),
            "links": [
                {
                    "install_id": s.install_id,
                    "name": s.name,
                    "state": s.state,
                    "address": s.address,
                    "since_ms": s.since_ms,
                    "reason": s.reason,
                }
                for s in self._states()
            ],
            "profiles": self._profiles.list()["profiles"],
            "sightings": [
                {"install_id": s.install_id, "name": s.name, "address": next(iter(s.addresses), "")}
                for s in self._sightings()
            ],
            "storage": self._storage(),
            "warnings": [*problems, *self._stopped_rooms()],
        }

    def _stopped_rooms(self) -> list[str]:
        broken = self._rooms.broken
        return [f"Room {room_id} has stopped: {why}" for room_id, why in broken.items()]

    async def set_lan(self, enabled: bool) -> dict[str, Any]:
        """Let other machines connect, or not."""
        await self._network.set_lan(enabled)
        info = self.info()
        return {k: info[k] for k in ("lan", "lan_urls", "fingerprint")}


class Followers:
    """Pages that want to know when a list has changed. A burst is told once for each word."""

    def __init__(self, later: Callable[[Callable[[], None]], object]) -> None:
        """`later` calls a function on the next turn of the loop."""
        self._later = later
        self._connections: set[Connection] = set()
        self._due: set[str] = set()

    def follow(self, connection: Connection) -> None:
        """Tell this connection until it closes. Raises Refused `busy` above SUBSCRIBERS_MAX."""
        if connection in self._connections:
            return
        if len(self._connections) >= SUBSCRIBERS_MAX:
            raise Refused("busy", "Too many pages follow this node already.")
        self._connections.add(connection)
        connection.on_close(lambda: self._connections.discard(connection))

    def changed(self, what: str) -> None:
        """Something is another: `rooms`, `links`, `profiles` or `invitations`."""
        if not self._due:
            self._later(self._tell)
        self._due.add(what)

    def _tell(self) -> None:
        due, self._due = sorted(self._due), set()
        for what in due:
            message = notification({"type": "node.changed", "what": what})
            for connection in tuple(self._connections):
                connection.notify(message)
