"""A room with one of each: who owns, who belongs, who listens, who left, an agent and a turn.

What tests of admission judge against. Made once: judging changes nothing.
"""

from functools import cache
from typing import Any

from mesh.core import ids
from mesh.core.admission import judge
from mesh.core.authority import answer_cause
from mesh.core.event import Cause, Proposal, propose
from mesh.core.member import Member
from mesh.core.room import RoomState
from tests.core.machines import Install, entropy, key_of
from tests.core.world import START_MS, World

OWNER, MEMBER, LISTENER, AGENT, GONE, STRANGER, HOST = (
    "owner", "member", "listener", "agent", "gone", "stranger", "host",
)
AUTHORS = (OWNER, MEMBER, LISTENER, AGENT, GONE, STRANGER, HOST)


class Room:
    """A room with one of each: owner, member with an agent, listener, one who left."""

    def __init__(self) -> None:
        world = World("desktop", "laptop", "server")
        self.agent = world.seat("laptop", "echo")
        self.invitation_id = world.invite("laptop")
        listens = world.invite("desktop", role="listener")
        world.add("phone")
        world.link("desktop", "phone")
        world.redeem("phone", world.redemption("phone", listens, role="listener"))
        self.gone = world["server"].person
        world.do("server", "member.left", {"member_id": self.gone.member_id, "reason": "left"})
        world.say("laptop", "@echo hello")
        self.state: RoomState = world["desktop"].machine.state
        (self.turn,) = self.state.open_turns()
        self.room_id = world.room_id
        self.homes = {OWNER: "desktop", MEMBER: "laptop", LISTENER: "phone", AGENT: "laptop",
                      GONE: "server", STRANGER: "mallory", HOST: "desktop"}

    def person(self, author: str) -> Member:
        """The person of the author's install."""
        found = self.state.person_of(Install(name=self.homes[author]).install_id)
        assert found is not None
        return found

    def author_id(self, author: str) -> str:
        """What stands as `member_id` in a proposal of that author."""
        install = Install(name=self.homes[author])
        fixed = {AGENT: self.agent.member_id, GONE: self.gone.member_id, HOST: install.install_id,
                 STRANGER: install.person().member_id}
        return fixed.get(author) or self.person(author).member_id

    def propose(self, author: str, kind: str, payload: dict[str, Any], **more: Any) -> Proposal:
        """A proposal of that author, signed by its install."""
        fields: dict[str, Any] = {
            "room_id": self.room_id, "event_id": "e", "kind": kind, "payload": payload,
            "member_id": self.author_id(author), "cause": None, "created_at_ms": START_MS,
        }
        return propose(key_of(self.homes[author]), **fields | more)

    def verdict(self, author: str, kind: str, payload: dict[str, Any], **more: Any) -> str:
        """`ok`, or the reason of the refusal."""
        refusal = judge(self.state, self.propose(author, kind, payload, **more), START_MS)
        return refusal.reason if refusal else "ok"


    def valid(self, kind: str, author: str) -> dict[str, Any]:
        """A payload of that kind that is right, if the author is."""
        agent_id, turn = self.agent.member_id, self.turn
        moved = {"turn_id": turn.turn_id, "member_id": agent_id}
        payloads: dict[str, dict[str, Any]] = {
            "room.renamed": {"name": "Lab"},
            "room.disbanded": {},
            "member.left": {"member_id": agent_id, "reason": "removed"},
            "member.muted": {"member_id": agent_id, "muted": True},
            "message.user": {"text": "hello"},
            "message.member": {"text": "hello", "turn_id": turn.turn_id},
            "turn.cancelled": moved,
            "invitation.issued": {
                "invitation_id": ids.make("i", entropy("another")),
                "secret_sha256": "ab" * 32,
                "role": "member",
                "uses": 1,
                "expires_at": START_MS + 1_000,
                "issuer_member_id": self.author_id(author),
            },
            "invitation.revoked": {"invitation_id": self.invitation_id},
            "grant.revoked": {"member_id": agent_id, "reason": "withdrawn"},
            "policy.changed": {"policy": {"budget": 3}},
            "turn.admitted": {
                "turn_id": ids.make("t", entropy("another")),
                "member_id": agent_id,
                "root": "e",
                "trigger_event_id": "e",
                "trigger_seq": 1,
                "attempt": 1,
                "hop": 1,
            },
            "route.registered": {
                "member_id": agent_id,
                "target_install_id": self.agent.install_id,
                "profile": "echo",
                "catalog_digest": "ab" * 32,
                "grant_sha256": "cd" * 32,
                "permissions": ["dispatch"],
                "expires_at": START_MS,
            },
            "route.revoked": {"member_id": agent_id, "reason": "expired"},
            "proposal.voided": {"event_id": "e", "member_id": agent_id},
        }
        return payloads.get(kind, moved)

    def cause(self, kind: str) -> Cause | None:
        """The cause that an event of that kind carries here."""
        return answer_cause(self.turn) if kind == "message.member" else None


@cache
def room() -> Room:
    """The room, made once."""
    return Room()
