"""The operator of this install as a member of rooms: seats, keys, names, proposals.

Everything a person or an agent homed here says becomes a proposal signed by this install.
"""

from collections.abc import Callable, Sequence
from typing import Any

from mesh.core import ids
from mesh.core.errors import Refused
from mesh.core.event import Cause, Proposal, propose
from mesh.core.identity import SigningKey
from mesh.core.member import Lent, Member
from mesh.core.room import RoomState
from mesh.ports import Clock, Entropy


class Operator:
    """Who acts here: the install's key, its names, its addresses."""

    def __init__(
        self,
        *,
        install_id: str,
        key: SigningKey,
        install_name: str,
        display_name: str,
        addresses: Callable[[], Sequence[str]],
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        """`addresses` are where other nodes may reach this one, best first."""
        self.install_id = install_id
        self.key = key
        self.install_name = install_name
        self.display_name = display_name
        self.addresses = addresses
        self._clock = clock
        self._entropy = entropy

    def new_id(self, prefix: str) -> str:
        """A fresh id such as `m_...`."""
        return ids.make(prefix, self._entropy.bytes(ids.ENTROPY_BYTES))

    def new_event_id(self) -> str:
        """A fresh event id for something the operator does."""
        return "e_" + self._entropy.bytes(ids.ENTROPY_BYTES).hex()

    def person(self, role: str, display_name: str | None = None) -> Member:
        """A fresh seat for the operator."""
        name = ids.clean_name(display_name or self.display_name, "display_name")
        return self._seat("person", role, name, ids.handle_from(name), None, None)

    def agent(
        self, profile: str, display_name: str, handle: str | None, lent: Lent | None
    ) -> Member:
        """A fresh seat for a profile of this install."""
        wanted = handle or ids.handle_from(profile)
        name = ids.clean_name(display_name or profile, "display_name")
        return self._seat("agent", "member", name, wanted, profile, lent)

    def _seat(
        self,
        kind: str,
        role: str,
        name: str,
        handle: str,
        profile: str | None,
        lent: Lent | None,
    ) -> Member:
        return Member(
            member_id=self.new_id("m"),
            handle=ids.check(ids.HANDLE, handle, "handle"),
            display_name=name,
            kind=kind,
            role=role,
            install_id=self.install_id,
            install_name=self.install_name,
            public_key=self.key.public,
            addresses=tuple(self.addresses()),
            profile=profile,
            lent=lent,
        )

    def me(self, state: RoomState) -> Member:
        """The operator's person in a room. Raises Refused `forbidden` where there is none."""
        person = state.person_of(self.install_id)
        if person is None:
            raise Refused("forbidden", "You are not a member of this room (any more).")
        return person

    def propose(
        self,
        room_id: str,
        kind: str,
        member_id: str,
        payload: dict[str, Any],
        *,
        event_id: str | None = None,
        cause: Cause | None = None,
    ) -> Proposal:
        """A signed proposal of a member homed here. Raises Malformed."""
        return propose(
            self.key,
            room_id=room_id,
            event_id=event_id or self.new_event_id(),
            kind=kind,
            member_id=member_id,
            payload=payload,
            cause=cause,
            created_at_ms=self._clock.now().wall_ms,
        )
