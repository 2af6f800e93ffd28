"""One room over several installs: links that a test cuts and heals, and what people do.

`World` carries what nodes say, as the bytes of the codec, over links that keep their order and
lose nothing until they are cut. Time stands still until a test lets it pass.
"""

import hashlib
from collections import deque
from typing import Any

from mesh.core import effects, ids, inputs
from mesh.core.authority import answer_cause
from mesh.core.event import Cause, Proposal, propose
from mesh.core.link_messages import Redeem, RedeemResult, TurnReport, WireProposal
from mesh.core.member import Member
from mesh.core.policy import Policy
from mesh.wire import codec
from tests.core.gate import inputs_of
from tests.core.machines import Install, Node, entropy

START_MS = 1_790_000_000_000


class World:
    """One room over several installs. The first name hosts it and its person owns it."""

    def __init__(self, host: str, *names: str, policy: Policy | None = None) -> None:
        self.wall_ms = START_MS
        self.mono_s = 100.0
        self.room_id = ids.make("r", entropy("room", host, *names))
        self.host = host
        self.nodes: dict[str, Node] = {}
        self.wire: deque[tuple[str, str, bytes]] = deque()
        self._up: set[frozenset[str]] = set()
        self._counts: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self.add(host)
        self._found(policy or Policy())
        for name in names:
            self.join(name)

    @property
    def now(self) -> inputs.Now:
        """Both clocks, the same for everybody."""
        return inputs.Now(wall_ms=self.wall_ms, mono_s=self.mono_s)

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def pass_s(self, seconds: float) -> None:
        """Let time pass, and tell every machine that it did."""
        self.wall_ms += int(seconds * 1000)
        self.mono_s += seconds
        for node in self.nodes.values():
            node.round(self.now)
        self.settle()

    def add(self, name: str) -> Node:
        """An install that keeps the room, or an empty copy of it."""
        install = Install(name=name)
        host = Install(name=self.host).install_id
        self.nodes[name] = Node(install, self.room_id, host)
        self._names[install.install_id] = name
        return self.nodes[name]

    def restart(self, name: str) -> Node:
        """Kill a node and start it anew from its disk. Its links are gone."""
        for other in list(self.nodes):
            self.cut(name, other)
        old = self.nodes[name]
        new = Node(old.install, self.room_id, old.machine.authority_install_id, old.disk)
        self.nodes[name] = new
        return new

    # --- links -----------------------------------------------------------------------------

    def link(self, one: str, other: str) -> None:
        """Open a link; both ends are told."""
        self._up.add(frozenset({one, other}))
        for here, there in ((one, other), (other, one)):
            up = inputs.LinkUp(install_id=self.nodes[there].install.install_id)
            self.nodes[here].round(self.now, up)
        self.settle()

    def cut(self, one: str, other: str) -> None:
        """Cut a link: what is on it is lost; both ends are told."""
        pair = frozenset({one, other})
        if pair not in self._up:
            return
        self._up.discard(pair)
        for node in (self.nodes[one], self.nodes[other]):
            self._collect(node.install.name)
        self.wire = deque(w for w in self.wire if frozenset(w[:2]) != pair)
        for here, there in ((one, other), (other, one)):
            down = inputs.LinkDown(install_id=self.nodes[there].install.install_id)
            self.nodes[here].round(self.now, down)
        self.settle()

    def heal(self) -> None:
        """Link every copy with the host."""
        for name in self.nodes:
            if name != self.host and frozenset({name, self.host}) not in self._up:
                self.link(self.host, name)

    def settle(self, steps_max: int = 100_000) -> None:
        """Carry messages until nobody has anything to say."""
        for _ in range(steps_max):
            for name in self.nodes:
                self._collect(name)
            if not self.wire:
                return
            self.carry()
        raise AssertionError("the nodes never stop talking")

    def carry(self) -> None:
        """Deliver the oldest message on the wire."""
        source, target, frame = self.wire.popleft()
        node, sender = self.nodes[target], self.nodes[source].install.install_id
        message = codec.decode(frame)
        if isinstance(message, RedeemResult):
            node.redeemed[message.request_id] = message
        else:
            node.round(self.now, *inputs_of(sender, message))

    def _collect(self, name: str) -> None:
        node = self.nodes[name]
        queued, node.out = node.out, []
        for install_id, message in queued:
            target = self._names.get(install_id, "")
            if frozenset({name, target}) in self._up:
                self.wire.append((name, target, codec.encode(message)))

    # --- what people and agents do ---------------------------------------------------------

    def propose(
        self,
        name: str,
        kind: str,
        payload: dict[str, Any],
        *,
        member_id: str | None = None,
        event_id: str | None = None,
        cause: Cause | None = None,
    ) -> Proposal:
        """A proposal signed by an install, by default of its person."""
        install = Install(name=name)
        if event_id is None:
            self._counts[name] = self._counts.get(name, 0) + 1
            event_id = f"{name}-{self._counts[name]}"
        return propose(
            install.key,
            room_id=self.room_id,
            event_id=event_id,
            kind=kind,
            member_id=member_id or self.nodes[name].person.member_id,
            payload=payload,
            cause=cause,
            created_at_ms=self.wall_ms,
        )

    def submit(self, name: str, proposal: Proposal) -> int:
        """Hand a proposal to its home; returns the ticket of the answer."""
        node = self.nodes[name]
        ticket = node.ticket()
        node.round(self.now, inputs.Submitted(proposal=proposal, ticket=ticket))
        self.settle()
        return ticket

    def do(self, name: str, kind: str, payload: dict[str, Any], **more: Any) -> int:
        """Propose and submit at once."""
        return self.submit(name, self.propose(name, kind, payload, **more))

    def say(self, name: str, text: str, event_id: str | None = None) -> int:
        """The person of an install says something."""
        return self.do(name, "message.user", {"text": text}, event_id=event_id)

    def seat(self, name: str, handle: str, profile: str = "echo") -> Member:
        """An install seats an agent of its own."""
        agent = Install(name=name).agent(handle, profile)
        payload = {"member": agent.to_seat()}
        self.do(name, "member.joined", payload, member_id=agent.member_id)
        return agent

    def answer(self, name: str, turn_id: str, text: str) -> int:
        """The agent of a turn, homed on that install, answers."""
        turn = self.nodes[name].machine.state.turns[turn_id]
        return self.do(
            name,
            "message.member",
            {"text": text, "turn_id": turn_id},
            member_id=turn.member_id,
            event_id=turn_id,
            cause=answer_cause(turn),
        )

    def report(
        self, name: str, turn_id: str, state: str, reason: str = "", message: str = ""
    ) -> None:
        """The install of an agent tells the host what became of a turn."""
        turn = self.nodes[self.host].machine.state.turns[turn_id]
        said = TurnReport(
            room_id=self.room_id,
            turn_id=turn_id,
            member_id=turn.member_id,
            state=state,
            reason=reason,
            message=message,
        )
        if name == self.host:
            node = self.nodes[name]
            node.round(self.now, *inputs_of(node.install.install_id, said))
        else:
            self.nodes[name].out.append((self.nodes[self.host].install.install_id, said))
        self.settle()

    def invite(self, name: str, *, uses: int = 1, role: str = "member", ttl_s: int = 3_600) -> str:
        """The person of an install makes an invitation; returns its id."""
        invitation_id = ids.make("i", entropy("invitation", self.wall_ms, self._counts))
        payload = {
            "invitation_id": invitation_id,
            "secret_sha256": hashlib.sha256(secret_of(invitation_id)).hexdigest(),
            "role": role,
            "uses": uses,
            "expires_at": self.wall_ms + ttl_s * 1_000,
            "issuer_member_id": self.nodes[name].person.member_id,
        }
        self.do(name, "invitation.issued", payload)
        return invitation_id

    def redemption(
        self, name: str, invitation_id: str, *lend: Member, role: str = "member"
    ) -> Redeem:
        """What a guest sends to come in with agents."""
        person = Install(name=name).person(role=role)
        seats = [
            self.propose(
                name,
                "member.joined",
                {"member": member.to_seat()}
                | ({} if member.is_agent else {"invitation_id": invitation_id}),
                member_id=member.member_id,
                event_id="join",
            )
            for member in (person, *lend)
        ]
        return Redeem(
            request_id=f"{name}-joins",
            room_id=self.room_id,
            invitation_id=invitation_id,
            secret=secret_of(invitation_id),
            proposals=tuple(WireProposal(p.raw, p.signature) for p in seats),
        )

    def redeem(self, name: str, redeem: Redeem) -> RedeemResult:
        """Send a redemption over a link; returns the host's verdict."""
        self.nodes[name].redeemed.pop(redeem.request_id, None)
        self.nodes[name].out.append((self.nodes[self.host].install.install_id, redeem))
        self.settle()
        return self.nodes[name].redeemed[redeem.request_id]

    def join(self, name: str, *lend: Member) -> None:
        """Invite an install, link it and let its person come in, with agents if given."""
        invitation_id = self.invite(self.host)
        self.add(name)
        self.link(self.host, name)
        result = self.redeem(name, self.redemption(name, invitation_id, *lend))
        assert result.state == "applied", result
        # A guest keeps a copy once it is in: it asks for the log.
        self.cut(self.host, name)
        self.link(self.host, name)

    def _found(self, policy: Policy) -> None:
        node = self.nodes[self.host]
        founder = node.install.person(role="owner")
        payload = {
            "name": "Den",
            "authority_gateway_id": node.install.install_id,
            "founder": founder.to_seat(),
            "voters": [f"{node.install.install_id}#0"],
            "lease_ms": 3_000,
            "policy": policy.to_json(),
        }
        ticket = self.do(
            self.host, "room.created", payload, member_id=founder.member_id, event_id="create"
        )
        assert isinstance(node.answers[ticket], effects.Accepted), node.answers[ticket]


def secret_of(invitation_id: str) -> bytes:
    """The secret of an invitation that `World.invite` made."""
    return entropy("secret", invitation_id) * 2
