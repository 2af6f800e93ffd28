"""The authority's side of turns: which install answers for a member, and under which grant.

A turn goes to the install its member is homed on, and to no other: unreachable is an answer
(`peer_offline`), a namesake elsewhere is not (situation 41). Dispatch is at least once: whenever
a link comes up every open turn of that install is sent again, and with each offer of a grant
those that have not begun; the target's inbox makes each run once.
"""

import hashlib
from collections.abc import Callable, Coroutine
from typing import Any, Final

from mesh.core.canonical import decode_object
from mesh.core.errors import MeshError, Refused
from mesh.core.event import Event
from mesh.core.grant import Grant, Use, check, read
from mesh.core.inputs import RouteOffered, TurnProgressed
from mesh.core.limits import TURN_DEADLINE_MS
from mesh.core.link_messages import GrantOffer, TurnDispatch
from mesh.core.turn import Turn, TurnState
from mesh.ports import Clock, Links
from mesh.service.lending import digest
from mesh.service.open_rooms import OpenRooms
from mesh.service.operator import Operator
from mesh.service.room_runner import RoomRunner
from mesh.stores import GrantRow, GrantStore
from mesh.telemetry import Log

_MOVES: Final = frozenset({"turn.admitted", "route.registered"})
_WAITING: Final = frozenset({TurnState.QUEUED, TurnState.RUNNING})

Spawn = Callable[[Coroutine[Any, Any, None]], None]


class Routing:
    """Grants this install holds, and the turns it dispatches with them."""

    def __init__(
        self,
        *,
        store: GrantStore,
        rooms: OpenRooms,
        links: Links,
        operator: Operator,
        clock: Clock,
        spawn: Spawn,
        log: Log,
    ) -> None:
        self._store = store
        self._rooms = rooms
        self._links = links
        self._operator = operator
        self._clock = clock
        self._spawn = spawn
        self._log = log
        self._held: dict[tuple[str, str], GrantRow] = {}

    async def load(self) -> None:
        """Read what is stored. Called once, before the rooms open."""
        for row in await self._store.grants():
            # What this install lends to a room of its own is stored once, as issued.
            own = row.home_install_id == row.target_install_id and row.revoked_at_ms is None
            if row.direction == "held" or own:
                self._keep(row)

    def _keep(self, row: GrantRow) -> None:
        key = (row.room_id, row.member_id)
        held = self._held.get(key)
        if held is None or held.issued_at_ms <= row.issued_at_ms:
            self._held[key] = row

    def held(self) -> tuple[GrantRow, ...]:
        """The newest grant held for each member."""
        return tuple(self._held.values())

    # --- grants ----------------------------------------------------------------------------

    def on_offer(self, install_id: str, offer: GrantOffer) -> None:
        """A lender hands over a grant. What does not verify is refused and logged, no more."""
        try:
            runner = self._rooms.get(offer.room_id)
            grant = self._verify(runner, install_id, offer)
            catalog = decode_object(offer.catalog)
        except MeshError as error:
            self._log.warning("routing.offer", install_id=install_id, reason=error.reason)
            return
        self._spawn(self._register(runner, grant, offer.grant, catalog))

    def _verify(self, runner: RoomRunner, install_id: str, offer: GrantOffer) -> Grant:
        member = runner.state.member(offer.member_id)
        if member is None or not member.is_agent or member.install_id != install_id:
            raise Refused("wrong_room", "The grant is for a member that is not theirs.")
        assert member.profile is not None
        catalog_digest = digest(decode_object(offer.catalog))
        unverified, _signed, _signature = read(offer.grant)
        return check(
            offer.grant,
            runner.state.key_of(install_id),
            Use(
                audience=self._operator.install_id,
                holder_key=self._operator.key.public,
                room_id=runner.room_id,
                member_id=member.member_id,
                profile=member.profile,
                authority_install_id=runner.machine.authority_install_id,
                authority_epoch=runner.state.head.epoch,
                catalog_digest=catalog_digest,
                # How the profile runs is the target's own affair; it compares at each dispatch.
                policy_digest=unverified.policy_digest,
                permission="dispatch",
                now_s=self._clock.now().wall_ms // 1_000,
            ),
            frozenset(),
        )

    async def _register(
        self, runner: RoomRunner, grant: Grant, token: bytes, catalog: dict[str, Any]
    ) -> None:
        held = self._held.get((grant.room_id, grant.member_id))
        own = grant.issuer == self._operator.install_id
        if held is None or held.grant_id != grant.grant_id:
            row = GrantRow(
                grant_id=grant.grant_id,
                direction="issued" if own else "held",
                room_id=grant.room_id,
                member_id=grant.member_id,
                profile=grant.profile,
                permissions=grant.permissions,
                home_install_id=grant.audience,
                target_install_id=grant.issuer,
                issued_at_ms=grant.issued_at_s * 1_000,
                expires_at_ms=grant.expires_at_s * 1_000,
                token=token,
                catalog=catalog,
            )
            if not own:  # else it is stored already
                await self._store.put_grant(row)
            self._keep(row)
        runner.put(
            RouteOffered(
                member_id=grant.member_id,
                grant_id=grant.grant_id,
                grant_sha256=hashlib.sha256(token).hexdigest(),
                catalog_digest=grant.catalog_digest,
                permissions=grant.permissions,
                expires_at_ms=grant.expires_at_s * 1_000,
            )
        )
        # Offers come again and again, so a dispatch that was lost is made up for here.
        for turn in runner.state.open_turns(grant.member_id):
            if turn.state is TurnState.QUEUED:
                self._dispatch(runner, turn)

    # --- turns -----------------------------------------------------------------------------

    def on_event(self, runner: RoomRunner, event: Event) -> None:
        """A turn was admitted, or a member got its route: dispatch what can be dispatched."""
        if runner.machine.is_authority and event.kind in _MOVES:
            member_id = event.payload["member_id"]
            for turn in runner.state.open_turns(member_id):
                if event.kind != "turn.admitted" or turn.turn_id == event.payload["turn_id"]:
                    self._dispatch(runner, turn)

    def on_link_up(self, install_id: str) -> None:
        """Send that install everything it still owes an answer to."""
        for runner, turn in self._owed(install_id):
            self._dispatch(runner, turn)

    def on_link_down(self, install_id: str) -> None:
        """Show that what waits for that install waits for its machine."""
        for runner, turn in self._owed(install_id):
            self._progress(runner, turn, "offline", "peer_offline")

    def start(self) -> None:
        """After a start: our own agents are here, the others come by their links."""
        self.on_link_up(self._operator.install_id)
        for runner in self._rooms.all():
            if runner.machine.is_authority:
                for turn in runner.state.open_turns():
                    home = runner.state.members[turn.member_id].install_id
                    if not self._links.is_up(home):
                        self._progress(runner, turn, "offline", "peer_offline")

    def _owed(self, install_id: str) -> list[tuple[RoomRunner, Turn]]:
        return [
            (runner, turn)
            for runner in self._rooms.all()
            if runner.machine.is_authority
            for turn in runner.state.open_turns()
            if runner.state.members[turn.member_id].install_id == install_id
        ]

    def _dispatch(self, runner: RoomRunner, turn: Turn) -> None:
        if turn.state not in _WAITING:
            return
        member = runner.state.members[turn.member_id]
        held = self._held.get((runner.room_id, turn.member_id))
        if not self._links.is_up(member.install_id):
            self._progress(runner, turn, "offline", "peer_offline")
        elif held is None or self._clock.now().wall_ms >= held.expires_at_ms:
            return  # its install hands over a fresh grant, and that dispatches what is open
        elif member.member_id in runner.state.routes:
            self._links.send(
                member.install_id,
                TurnDispatch(
                    room_id=runner.room_id,
                    turn_id=turn.turn_id,
                    member_id=turn.member_id,
                    trigger_seq=turn.trigger_seq,
                    root=turn.root,
                    hop=turn.hop,
                    attempt=turn.attempt,
                    grant=held.token,
                    deadline_ms=TURN_DEADLINE_MS,
                ),
            )

    def _progress(self, runner: RoomRunner, turn: Turn, state: str, reason: str) -> None:
        try:
            runner.put(TurnProgressed(turn_id=turn.turn_id, state=state, reason=reason))
        except Refused:
            self._log.warning("routing.busy", room_id=runner.room_id)
