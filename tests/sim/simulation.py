"""A seed becomes a run: the model's simulator, driving the product's machines.

`room_sim.Sim` is used as it is: its clocks, its network, its clients, its faults and its
checker. What it knows of elections, owners and growing rooms is not asked for here: one voter,
three installs, and the faults in FAULTS. Replaced are the parts that touch a disk or a driver:
a step performs its duties one by one, in the order of `mesh.core.effects`, and a kill may come
before each of them.
"""

import zlib
from collections.abc import Callable
from typing import Any, Final

from mesh.core.effects import Accepted, StoreEvent
from mesh.core.event import Event, admit, propose
from tests.core.machines import Install, key_of
from tests.sim.adapter import BASE, HOSTS, RoomNode, SimDisk
from tests.sim.checkers import Laws
from tests.sim.link_layer import Out
from tests.sim.models import room_sim

# What a driver owes, in this order. (What is stored is committed before anything is said.)
DUTIES: Final = ("persist", "speak", "show", "reply")
# "curious" is the model's word for a bad member; here the host sends an event that is forged.
FAULTS: Final = ("crash", "cut", "oneway", "link", "heal", "pause", "curious")
KILLS: Final = 0.008

# The simulator makes nodes by this name: ours take the place of the model's.
vars(room_sim)["Node"] = RoomNode
Violation: Final = room_sim.Violation
Sim: Any = room_sim.Sim


class RoomSim(Sim):  # type: ignore[misc]
    """One run. `transcript` is kept where asked for."""

    def __init__(self, seed: int, span_s: float = 60.0, is_recorded: bool = False) -> None:
        self.duties = DUTIES
        self.laws = Laws(self.bad, HOSTS)
        self.transcript: list[str] | None = [] if is_recorded else None
        super().__init__(seed, voters=1, span=span_s)
        self.auto = True  # nobody waits for an owner
        self._add_host("C")
        r = self.r
        self.kinds = [k for k in FAULTS for _ in range(r.choice([0, 1, 1, 4]))] or list(FAULTS)
        for host in HOSTS:
            self.laws.booted(host, self.durable[host])

    def _add_host(self, host: str) -> None:
        r, vid = self.r, f"{host}#0"
        self.rate[host] = 1 + r.uniform(-room_sim.DRIFT, room_sim.DRIFT)
        self.off[host] = r.uniform(0, 1e6)
        self.inc[host], self.wants[host] = 0, (False, None)
        self.host[host] = RoomNode(vid, self.blank(vid), self.clk(host), r)
        self.fence[host], self.images[host], self.up[host] = (vid, 0), [], True
        self.durable[host] = self.host[host].disk.copy()
        self.dress(self.host[host])
        self.at(r.uniform(0, room_sim.HEARTBEAT), self.tick, host)

    def blank(self, vid: str, *_log: Any) -> SimDisk:
        """The disk at the beginning: the host has the founding, a copy some of it."""
        disk = SimDisk(vid)
        events = BASE[BASE.host].disk.events
        have = len(events) if vid[0] == "A" else self.r.choice([0, 3, len(events)])
        for event in events[:have]:
            disk.apply(StoreEvent(event=event))
        return disk

    # --- the parts of the model that this room does not have ---------------------------------

    def grow(self) -> None:
        """The room keeps its one voter."""

    def owner(self) -> None:
        """No certificates are signed."""

    def curious(self) -> None:
        """The host, for once, sends a copy what no honest host sends."""
        host = self.r.choice(HOSTS[1:])
        node = self.host[host]
        if self.up[host] and host not in self.paused and node.machine.state.head.seq > 2:
            self.step(host, node.crooked, self._forgery(node.machine.state.head.seq + 1, node))

    def _forgery(self, seq: int, node: RoomNode) -> Event:
        r, head = self.r, node.machine.state.head
        host, thief = key_of("A"), key_of("mallory")
        kind = r.randrange(5)
        said = propose(
            thief if kind == 1 else host,
            room_id=BASE.room_id,
            event_id=f"forged-{r.getrandbits(32)}",
            kind="message.user",
            member_id=Install(name="A").person().member_id,
            payload={"text": "forged now"},
            cause=None,
            created_at_ms=0,
        )
        return admit(
            thief if kind == 2 else host,
            said,
            epoch={3: 0, 4: 2**40}.get(kind, head.epoch),
            seq=seq,
            prev_hash="0" * 64 if kind == 0 else head.hash,
            admitted_at_ms=node.machine.state.updated_at_ms,
        )

    # --- a step and its duties ----------------------------------------------------------------

    def step(self, h: str, fn: Callable[..., Out], *a: Any) -> None:
        """Take one input, then perform the duties; a kill may come before each."""
        node = self.host[h]
        kill = self.r.random() < KILLS and not self.calm
        kill_at = self.r.randrange(len(DUTIES)) if kill else len(DUTIES)
        node.events.clear()
        self.count["steps"] += 1
        try:
            out = fn(*a)
        except AssertionError as error:
            self.bad(f"I0 {h}: an assertion of the core failed: {error}")
            return
        self._note(h, fn.__name__, a, node)
        for number, duty in enumerate(self.duties):
            if number == kill_at:
                self.count[f"kill_before_{duty}"] += 1
                node.disk = self.durable[h].copy()
                self.crash(h)
                return
            getattr(self, f"_{duty}")(h, node, out)

    def _persist(self, h: str, node: RoomNode, _out: Out) -> None:
        node.disk.commits += 1
        self.durable[h] = node.disk.copy()
        self.fence[h] = (node.id, node.disk.commits)
        self.laws.stored(h, self.durable[h])
        self.check(h, node)

    def _speak(self, h: str, node: RoomNode, out: Out) -> None:
        for _, message in node.left.said:
            self.laws.said(h, message, self.durable[h])
        for target, frame in out + node.speak():
            self.send(h, target, frame)

    def _show(self, h: str, node: RoomNode, _out: Out) -> None:
        node.show(lambda event: self.laws.shown(h, event, self.durable[h]))

    def _reply(self, h: str, node: RoomNode, _out: Out) -> None:
        node.events.clear()
        node.reply()
        for _, status, event_id, digest, entry, reason in node.events:
            if status == "applied":
                event = node.disk.events[entry.seq - 1]
                outcome = Accepted(
                    key=event.proposal.key, seq=event.seq, event=None, idempotent=False
                )
                self.laws.answered(event_id, digest, outcome, self.durable[h])
            elif status in {"rejected", "refused"}:
                self.laws.answered(event_id, digest, str(reason), self.durable[h])
            if status == "refused":
                self.ops.pop((event_id, digest), None)
        self.check(h, node)

    def restart(self, h: str, how: str | None) -> None:
        """A killed install comes back from its disk; so does its subscriber."""
        super().restart(h, how)
        self.laws.booted(h, self.durable[h])

    def run(self) -> Any:
        """The whole run.

        Raises:
            Violation: the first law that does not hold.
        """
        counts = super().run()
        self.laws.final(self.durable)
        return counts

    def _note(self, h: str, what: str, a: tuple[Any, ...], node: RoomNode) -> None:
        if self.transcript is not None:
            about = repr(a[0][:4] if a and isinstance(a[0], tuple) else a)[:120]
            said = zlib.crc32(repr(node.left.said).encode())
            self.transcript.append(
                f"{self.t:.6f} {h} {what} {about} seq {len(node.disk.events)} said {said:08x}"
            )
