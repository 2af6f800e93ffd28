"""What this install lends: loans, and the grants issued within them.

A loan is the operator's consent: profile, room, member, permissions, end date, and the digests of
what the profile offered and how it ran at that moment. Within it this install (the target)
issues grants of at most a day to the room's home, renews them over the link, never wider and
never past the loan. Revoking is durable, acts here first, and then is told as an event.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from gateway.errors import ProfileMissing
from gateway.mount import MountTable
from mesh.core.canonical import encode
from mesh.core.errors import MeshError, Refused
from mesh.core.event import Event
from mesh.core.grant import Grant, Use, check, issue
from mesh.core.limits import GRANT_TTL_MAX_S, LOAN_TTL_MAX_S
from mesh.core.link_messages import GrantOffer, TurnDispatch
from mesh.core.member import Lent, Member
from mesh.ports import Clock, Links
from mesh.service.open_rooms import OpenRooms
from mesh.service.operator import Operator
from mesh.service.room_runner import RoomRunner
from mesh.stores import GrantRow, GrantStore, LoanRow
from mesh.telemetry import Log

_OWN: Final = ("dispatch", "status", "stop")
_RENEW_EVERY_S: Final = 60.0


def digest(value: object) -> str:
    """Hex SHA-256 of the canonical JSON: how catalogs and policies are compared."""
    return hashlib.sha256(encode(value)).hexdigest()


class Lending:
    """Loans of this install, and the grants it has issued."""

    def __init__(
        self,
        *,
        store: GrantStore,
        mounts: MountTable,
        rooms: OpenRooms,
        links: Links,
        operator: Operator,
        clock: Clock,
        log: Log,
    ) -> None:
        self._store = store
        self._mounts = mounts
        self._rooms = rooms
        self._links = links
        self._operator = operator
        self._clock = clock
        self._log = log
        self._loans: dict[tuple[str, str], LoanRow] = {}
        self._grants: dict[str, GrantRow] = {}
        self._due: set[tuple[str, str]] = set()
        self._news = asyncio.Event()
        self.on_withdrawn: list[Callable[[str, str], None]] = []

    async def load(self) -> None:
        """Read what is stored. Called once, before the rooms open."""
        for loan in await self._store.loans():
            self._loans[loan.room_id, loan.member_id] = loan
        for row in await self._store.grants():
            if row.direction == "issued":
                self._grants[row.grant_id] = row

    # --- consent ---------------------------------------------------------------------------

    def agent(self, profile: str, handle: str | None, lent: Lent | None = None) -> Member:
        """A fresh seat for a profile of this node. Raises Refused `not_found`."""
        status = next((s for s in self._mounts.list() if s.name == profile), None)
        if status is None:
            raise Refused("not_found", f"There is no profile {profile!r} on this node.")
        return self._operator.agent(profile, status.display_name, handle, lent)

    async def seat(self, room_id: str, member: Member) -> None:
        """Store the loan that a new seat needs, before anybody hears of the seat.

        Raises:
            Refused: `backend_failed`, the profile cannot be read now.
        """
        assert member.profile is not None
        now_ms = self._clock.now().wall_ms
        until_ms = member.lent.until_ms if member.lent else 0
        catalog, policy = self._offer(member.profile)
        loan = LoanRow(
            room_id=room_id,
            member_id=member.member_id,
            profile=member.profile,
            permissions=member.lent.permissions if member.lent else _OWN,
            until_ms=until_ms or now_ms + LOAN_TTL_MAX_S * 1_000,
            policy_digest=digest(policy),
            catalog_digest=digest(catalog),
            created_at_ms=now_ms,
        )
        await self._store.put_loan(loan)
        self._loans[room_id, member.member_id] = loan

    async def withdraw(self, room_id: str, member_id: str) -> tuple[str, ...]:
        """Take a loan back: durable and effective here when this returns, then told to the room.

        Raises:
            Refused: `not_found`, this install lends no such member.
        """
        loan = self._loans.get((room_id, member_id))
        if loan is None:
            raise Refused("not_found", "This install lends no such member.")
        now_ms = self._clock.now().wall_ms
        revoked = await self._store.revoke(room_id, member_id, now_ms)
        await self.load()
        for hook in self.on_withdrawn:
            hook(room_id, member_id)
        runner = self._rooms.find(room_id)
        member = runner.state.member(member_id) if runner else None
        if runner is not None and member is not None and not member.withdrawn:
            proposal = self._operator.propose(
                room_id,
                "grant.revoked",
                member_id,
                {"member_id": member_id, "reason": "withdrawn", "grant_ids": list(revoked)},
            )
            try:
                await runner.submit(proposal).kept
            except MeshError as error:  # it is revoked here, whether the room hears it or not
                self._log.warning("lending.untold", room_id=room_id, reason=error.reason)
        return revoked

    # --- the room's log and the links ------------------------------------------------------

    def on_event(self, runner: RoomRunner, event: Event) -> None:
        """A seat of ours needs a grant; a member of ours that left ends its loan."""
        if event.kind == "member.joined":
            member_id = event.payload["member"]["member_id"]
            if (runner.room_id, member_id) in self._loans:
                self._want(runner.room_id, member_id)
        elif event.kind in {"member.left", "room.disbanded"}:
            for room_id, member_id in self._loans:
                if room_id == runner.room_id:
                    self._want(room_id, member_id)

    def on_link_up(self, install_id: str) -> None:
        """The home of some of our seats is there: it may need a grant."""
        for room_id, member_id in self._loans:
            runner = self._rooms.find(room_id)
            if runner is not None and runner.machine.authority_install_id == install_id:
                self._want(room_id, member_id)

    def renew(self, room_id: str, member_id: str) -> None:
        """A grant of that seat was found expired: give its home a fresh one, or end the loan."""
        if (room_id, member_id) in self._loans:
            self._want(room_id, member_id)

    def _want(self, room_id: str, member_id: str) -> None:
        self._due.add((room_id, member_id))
        self._news.set()

    async def run(self) -> None:
        """Issue and renew grants until cancelled."""
        for room_id, member_id in self._loans:
            self._want(room_id, member_id)
        while True:
            try:
                async with asyncio.timeout(_RENEW_EVERY_S):
                    await self._news.wait()
            except TimeoutError:
                self._due |= self._loans.keys()
            self._news.clear()
            due, self._due = self._due, set()
            for room_id, member_id in sorted(due):
                try:
                    await self._settle(room_id, member_id)
                except MeshError as error:
                    self._log.warning("lending.grant", room_id=room_id, reason=error.reason)

    async def _settle(self, room_id: str, member_id: str) -> None:
        """Make one seat and its loan agree: end what has no seat, grant what has one."""
        loan, runner = self._loans[room_id, member_id], self._rooms.find(room_id)
        if loan.withdrawn_at_ms is not None or runner is None:
            return
        seat = runner.state.members.get(member_id)
        if seat is None:
            return  # not seated yet
        closed = runner.state.disbanded_at_ms is not None
        if not seat.present or closed or self._clock.now().wall_ms >= loan.until_ms:
            await self.withdraw(room_id, member_id)
            return
        home = runner.machine.authority_install_id
        if self._links.is_up(home):
            row = self._fresh(room_id, member_id) or await self._issue(runner, loan)
            catalog = encode(row.catalog)
            self._links.send(
                home,
                GrantOffer(room_id=room_id, member_id=member_id, grant=row.token, catalog=catalog),
            )

    def _fresh(self, room_id: str, member_id: str) -> GrantRow | None:
        """A grant of this seat that is good for at least half its life."""
        now_ms = self._clock.now().wall_ms
        for row in self.issued(room_id, member_id):
            half_ms = (row.expires_at_ms - row.issued_at_ms) // 2
            if row.revoked_at_ms is None and now_ms < row.expires_at_ms - half_ms:
                return row
        return None

    async def _issue(self, runner: RoomRunner, loan: LoanRow) -> GrantRow:
        machine, now_s = runner.machine, self._clock.now().wall_ms // 1_000
        home = machine.authority_install_id
        holder = runner.state.key_of(home)
        assert holder is not None, "the log names its authority's key"
        catalog, _policy = self._offer(loan.profile)
        grant = Grant(
            grant_id=self._operator.new_id("g"),
            issuer=self._operator.install_id,
            audience=home,
            holder_key=holder,
            room_id=loan.room_id,
            member_id=loan.member_id,
            authority_install_id=home,
            authority_epoch=runner.state.head.epoch,
            profile=loan.profile,
            catalog_digest=loan.catalog_digest,
            policy_digest=loan.policy_digest,
            permissions=loan.permissions,
            issued_at_s=now_s,
            not_before_s=now_s,
            expires_at_s=min(now_s + GRANT_TTL_MAX_S, loan.until_ms // 1_000),
            continuation=True,
        )
        row = GrantRow(
            grant_id=grant.grant_id,
            direction="issued",
            room_id=loan.room_id,
            member_id=loan.member_id,
            profile=loan.profile,
            permissions=loan.permissions,
            home_install_id=home,
            target_install_id=self._operator.install_id,
            issued_at_ms=now_s * 1_000,
            expires_at_ms=grant.expires_at_s * 1_000,
            token=issue(self._operator.key, grant),
            catalog=catalog,
        )
        await self._store.put_grant(row)
        self._grants[row.grant_id] = row
        return row

    def _offer(self, profile: str) -> tuple[dict[str, Any], dict[str, Any]]:
        try:
            catalog, policy = self._mounts.catalog(profile), self._mounts.policy(profile)
        except ProfileMissing:
            raise Refused("backend_failed", f"The profile {profile} is not mounted.") from None
        return catalog.to_json(), policy.to_json()

    # --- using -----------------------------------------------------------------------------

    def admit(self, runner: RoomRunner, install_id: str, asked: TurnDispatch) -> Member:
        """Verify the grant of a dispatch, in the order of `core.grant`; returns our member.

        Raises:
            MeshError: with the reason of the first step that fails.
        """
        state = runner.state
        member = state.member(asked.member_id)
        if member is None or member.install_id != self._operator.install_id:
            raise Refused("wrong_room", "That member is not homed here.")
        assert member.profile is not None
        holder = state.key_of(install_id)
        catalog, policy = self._offer(member.profile)
        if holder is None:
            raise Refused("proof_required", "That install is not known in the room.")
        grant = check(
            asked.grant,
            self._operator.key.public,
            Use(
                audience=install_id,
                holder_key=holder,
                room_id=runner.room_id,
                member_id=member.member_id,
                profile=member.profile,
                authority_install_id=runner.machine.authority_install_id,
                authority_epoch=state.head.epoch,
                catalog_digest=digest(catalog),
                policy_digest=digest(policy),
                permission="dispatch",
                now_s=self._clock.now().wall_ms // 1_000,
            ),
            self.revoked(),
        )
        if grant.grant_id not in self._grants:
            raise Refused("grant_revoked", "This install does not know that grant.")
        return member

    def revoked(self) -> frozenset[str]:
        """Ids of grants that were revoked here, for ever."""
        return frozenset(i for i, row in self._grants.items() if row.revoked_at_ms is not None)

    async def used(self, token: bytes) -> None:
        """Remember that a grant was used now."""
        now_ms = self._clock.now().wall_ms
        for row in tuple(self._grants.values()):
            if row.token == token:
                self._grants[row.grant_id] = replace(row, last_used_at_ms=now_ms)
                await self._store.used(row.grant_id, now_ms)

    def issued(self, room_id: str | None = None, member_id: str | None = None) -> list[GrantRow]:
        """Grants issued here, the newest first."""
        rows: Iterable[GrantRow] = self._grants.values()
        return sorted(
            (
                row
                for row in rows
                if room_id in {None, row.room_id} and member_id in {None, row.member_id}
            ),
            key=lambda row: -row.issued_at_ms,
        )

    def loan(self, room_id: str, member_id: str) -> LoanRow | None:
        """The loan of a seat, withdrawn ones too."""
        return self._loans.get((room_id, member_id))
