"""All services of a node, built in one place from the ports they use.

`Parts` is what the composition root has made; `assemble` only passes it on. `Switchboard` gives
what links and rooms report to the services that want it.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gateway.mount import MountTable
from mesh.core.event import Event
from mesh.core.identity import SigningKey
from mesh.core.link_messages import (
    GrantOffer,
    LinkMessage,
    Preview,
    PreviewResult,
    Redeem,
    RedeemResult,
    TurnDispatch,
)
from mesh.ports import Clock, Entropy, Links
from mesh.service.conversation import Conversation
from mesh.service.invitations import Invitations
from mesh.service.joining import Joining
from mesh.service.lending import Lending
from mesh.service.loans import Loans
from mesh.service.network_port import NetworkPort
from mesh.service.node_facts import Followers
from mesh.service.open_rooms import OpenRooms
from mesh.service.operator import Operator
from mesh.service.peers import LinkStates, Peers, Sighted
from mesh.service.previews import Dials, Previews
from mesh.service.profiles import Profiles
from mesh.service.reach import Reach
from mesh.service.room_runner import RoomRunner
from mesh.service.routing import Routing
from mesh.service.turns import TurnDesk
from mesh.stores import EventStore, GrantStore, InvitationNotes, PeerStore, ReceiptStore, TurnInbox
from mesh.telemetry import Log
from mesh.wire.handshake import PeerHello


class DialingLinks(Links, Dials, Protocol):
    """The link table, as the services see it."""

    def state(self) -> Sequence[LinkStates]:
        """Every install that is wanted or linked."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What services are built from."""

    install_id: str
    key: SigningKey
    install_name: str
    display_name: str
    incarnation: str
    events: EventStore
    grants: GrantStore
    inbox: TurnInbox
    peers: PeerStore
    receipts: ReceiptStore
    notes: InvitationNotes
    mounts: MountTable
    links: DialingLinks
    reach: Reach
    port: NetworkPort
    followers: Followers
    clock: Clock
    entropy: Entropy
    log: Log
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    verify: Callable[[str], Awaitable[object | None]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services of one node."""

    operator: Operator
    rooms: OpenRooms
    lending: Lending
    routing: Routing
    turns: TurnDesk
    peers: Peers
    conversation: Conversation
    invitations: Invitations
    previews: Previews
    joining: Joining
    profiles: Profiles
    loans: Loans

    async def load(self) -> None:
        """Read what is stored, before the rooms open."""
        for service in (self.lending, self.routing, self.peers, self.invitations):
            await service.load()

    async def resume(self) -> None:
        """Go on with what the last process left, once the rooms are open."""
        self.peers.refresh()
        await self.turns.load()
        await self.joining.load()
        self.routing.start()


def assemble(parts: Parts) -> Services:
    """Build every service. Nothing runs yet."""
    world: dict[str, Any] = {"clock": parts.clock, "links": parts.links}
    operator = Operator(
        install_id=parts.install_id,
        key=parts.key,
        install_name=parts.install_name,
        display_name=parts.display_name,
        addresses=parts.reach.addresses,
        clock=parts.clock,
        entropy=parts.entropy,
    )
    rooms = OpenRooms(
        me=parts.install_id,
        key=parts.key,
        store=parts.events,
        changed=parts.followers.changed,
        log=parts.log,
        verify=parts.verify,
        **world,
    )
    world |= {"rooms": rooms}
    lending = Lending(
        store=parts.grants, mounts=parts.mounts, operator=operator, log=parts.log, **world
    )
    routing = Routing(
        store=parts.grants, operator=operator, spawn=parts.spawn, log=parts.log, **world
    )
    peers = Peers(
        store=parts.peers,
        spawn=parts.spawn,
        states=parts.links.state,
        changed=parts.followers.changed,
        **world,
    )
    conversation = Conversation(
        rooms=rooms,
        store=parts.events,
        operator=operator,
        lends=lending,
        incarnation=parts.incarnation,
        spawn=parts.spawn,
    )
    turns = TurnDesk(
        inbox=parts.inbox,
        events=parts.events,
        mounts=parts.mounts,
        lending=lending,
        operator=operator,
        spawn=parts.spawn,
        log=parts.log,
        **world,
    )
    invitations, previews, joining = _guests(parts, conversation, lending, peers, world)
    return Services(
        operator=operator,
        rooms=rooms,
        lending=lending,
        routing=routing,
        turns=turns,
        peers=peers,
        conversation=conversation,
        invitations=invitations,
        previews=previews,
        joining=joining,
        profiles=Profiles(mounts=parts.mounts, rooms=rooms, changed=parts.followers.changed),
        loans=Loans(lending=lending, routing=routing, rooms=rooms, clock=parts.clock),
    )


def _guests(
    parts: Parts,
    conversation: Conversation,
    lending: Lending,
    peers: Peers,
    world: dict[str, Any],
) -> tuple[Invitations, Previews, Joining]:
    """Both sides of an invitation."""
    both: dict[str, Any] = {"operator": conversation.operator, "spawn": parts.spawn, **world}
    invitations = Invitations(
        conversation=conversation,
        notes=parts.notes,
        reach=parts.reach,
        entropy=parts.entropy,
        changed=parts.followers.changed,
        **both,
    )
    previews = Previews(
        peers=peers,
        links=parts.links,
        dials=parts.links,
        entropy=parts.entropy,
        log=parts.log,
    )
    joining = Joining(
        lending=lending,
        peers=peers,
        receipts=parts.receipts,
        previews=previews,
        log=parts.log,
        **both,
    )
    return invitations, previews, joining


class Switchboard:
    """Passes on what links and rooms report. Made before the links, which call it."""

    def __init__(self, followers: Followers) -> None:
        self._followers = followers
        self._services: Services | None = None

    def connect(self, services: Services) -> None:
        """From now on these services are told."""
        self._services = services
        for watcher in (services.peers, services.lending, services.routing, services.turns, self):
            services.rooms.watch(watcher)

    @property
    def _to(self) -> Services:
        assert self._services is not None, "links open after the services are connected"
        return self._services

    def on_sighting(self, sighting: Sighted) -> None:
        """Another install was seen near; what is seen before the start is seen again."""
        if self._services is not None:
            self._services.peers.on_sighting(sighting)

    def on_up(self, hello: PeerHello) -> None:
        """A link is proved. Rooms are told first: what they catch up on comes before turns."""
        self._to.peers.on_link_up(hello)
        self._to.rooms.on_link_up(hello.install_id)
        for service in (self._to.lending, self._to.routing, self._to.turns):
            service.on_link_up(hello.install_id)

    def on_down(self, install_id: str, _reason: str) -> None:
        """A link is gone."""
        self._to.rooms.on_link_down(install_id)
        self._to.routing.on_link_down(install_id)
        self._to.peers.on_link_down(install_id)

    def on_message(self, install_id: str, message: LinkMessage) -> None:
        """One message of a link, to whoever it is for."""
        to = self._to
        match message:
            case TurnDispatch():
                to.turns.on_dispatch(install_id, message)
            case GrantOffer():
                to.routing.on_offer(install_id, message)
            case Preview():
                to.invitations.on_preview(install_id, message)
            case PreviewResult():
                to.previews.on_result(install_id, message)
            case RedeemResult():
                if not to.invitations.on_result(message):
                    to.joining.on_result(install_id, message)
            case Redeem() if to.invitations.on_redeem(install_id, message):
                pass  # relayed, or refused there
            case _:
                to.rooms.on_message(install_id, message)

    def on_event(self, _runner: RoomRunner, event: Event) -> None:
        """Pages list rooms and invitations by notices of their own."""
        if event.kind.startswith("invitation.") or event.kind == "member.joined":
            self._followers.changed("invitations")
        if event.kind.startswith(("room.", "member.")):
            self._followers.changed("rooms")
