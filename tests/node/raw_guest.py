"""Installs without a node: keys and a real link, saying whatever a test wants them to say."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

from mesh.core import ids
from mesh.core.event import Proposal, propose
from mesh.core.identity import KeyChain, SigningKey
from mesh.core.invitation import InvitationLink
from mesh.core.link_messages import (
    LinkMessage,
    Propose,
    Redeem,
    RedeemResult,
    Verdict,
    WireProposal,
)
from mesh.core.member import Member
from mesh.system import SystemEntropy
from mesh.telemetry import Metrics, Redaction, make_log
from mesh.transport.link_table import LinkTable
from mesh.wire.handshake import OurEnd
from tests.node.followed import WAIT_S
from tests.node.wrong_clock import WrongClock

M = TypeVar("M")


class RawGuest:
    """An install that has a key and a link table, and no manners of its own."""

    def __init__(self, name: str = "stranger") -> None:
        self.name = name
        self.key = SigningKey.from_seed(secrets.token_bytes(32))
        self.install_id = ids.install_id(self.key.public)
        self.heard: list[tuple[str, LinkMessage]] = []
        self._news = asyncio.Event()
        us = OurEnd(
            key=self.key,
            chain=KeyChain(keys=(self.key.public,)),
            boot_id=secrets.token_bytes(16),
            name=name,
        )
        clock = WrongClock()
        self.links = LinkTable(
            us=lambda: us,
            clock=clock,
            entropy=SystemEntropy(),
            log=make_log(lambda line: None, Redaction(), lambda: clock.now().wall_ms),
            metrics=Metrics(),
            on_up=lambda hello: None,
            on_message=self._hear,
            on_down=lambda install_id, reason: self._news.set(),
        )

    def _hear(self, install_id: str, message: LinkMessage) -> None:
        self.heard.append((install_id, message))
        self._news.set()

    async def hears(
        self, kind: type[M], holds: Callable[[M], bool] = lambda message: True
    ) -> M:
        """Wait for a message of that type. Raises TimeoutError."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for _, message in self.heard:
                    if isinstance(message, kind) and holds(message):
                        return message
                self._news.clear()
                await self._news.wait()

    async def meets(self, link: InvitationLink) -> str:
        """Open a link to whoever invited; returns its install id."""
        expected = ids.install_id(link.inviter_key)
        hello = await self.links.dial_once(link.addresses[0], expected)
        return hello.install_id

    def seat(self, role: str = "member", kind: str = "person") -> Member:
        """A fresh seat of this install."""
        return Member(
            member_id=ids.make("m", secrets.token_bytes(16)),
            handle=self.name,
            display_name=self.name,
            kind=kind,
            role=role,
            install_id=self.install_id,
            install_name=self.name,
            public_key=self.key.public,
            addresses=(),
            profile="helper" if kind == "agent" else None,
        )

    def asks_for(self, link: InvitationLink, seat: Member) -> Proposal:
        """The signed seat, as a redemption carries it."""
        payload: dict[str, object] = {"member": seat.to_seat()}
        if not seat.is_agent:
            payload["invitation_id"] = link.invitation_id
        return propose(
            self.key,
            room_id=link.room_id,
            event_id="join",
            kind="member.joined",
            member_id=seat.member_id,
            payload=payload,
            cause=None,
            created_at_ms=time.time_ns() // 1_000_000,
        )

    def redemption(self, link: InvitationLink, *proposals: Proposal) -> Redeem:
        """A redemption with these seats, or with one ordinary person."""
        made = proposals or (self.asks_for(link, self.seat()),)
        return Redeem(
            request_id="q_" + secrets.token_hex(8),
            room_id=link.room_id,
            invitation_id=link.invitation_id,
            secret=link.secret,
            proposals=tuple(WireProposal(p.raw, p.signature) for p in made),
        )

    async def redeems(self, link: InvitationLink, *proposals: Proposal) -> RedeemResult:
        """Redeem over the link, once; returns the room's answer."""
        inviter = await self.meets(link)
        asked = self.redemption(link, *proposals)
        assert self.links.send(inviter, asked)
        return await self.hears(RedeemResult, lambda r: r.request_id == asked.request_id)

    def message(
        self, room_id: str, member_id: str, text: str, kind: str = "message.user"
    ) -> Proposal:
        """A signed message that claims to be of that member."""
        return propose(
            self.key,
            room_id=room_id,
            event_id=secrets.token_hex(8),
            kind=kind,
            member_id=member_id,
            payload={"text": text},
            cause=None,
            created_at_ms=time.time_ns() // 1_000_000,
        )

    async def proposes(self, install_id: str, proposal: Proposal) -> Verdict:
        """Forward a proposal to a room's host; returns its verdict on this one."""
        # The same bytes may be asked about twice: only what is heard from now on counts.
        self.heard.clear()
        wire = WireProposal(proposal.raw, proposal.signature)
        assert self.links.send(install_id, Propose(room_id=proposal.room_id, proposals=(wire,)))
        return await self.hears(Verdict, lambda verdict: verdict.key == proposal.key)

    async def is_cut_by(self, install_id: str) -> None:
        """Wait until the other side has ended the link."""
        async with asyncio.timeout(WAIT_S):
            while self.links.is_up(install_id):
                self._news.clear()
                await self._news.wait()

    async def redeems_with(self, link: InvitationLink, secret: bytes) -> RedeemResult:
        """Redeem with another secret."""
        return await self.redeems(replace(link, secret=secret))


@asynccontextmanager
async def a_raw_guest(name: str = "stranger") -> AsyncIterator[RawGuest]:
    """A raw guest whose links live inside."""
    guest = RawGuest(name)
    async with guest.links:
        yield guest
