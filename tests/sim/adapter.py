"""Shows the product's RoomMachine in the shape of the model's `Node`: handle, tick, disk, events.

One install hosts the room (A), two keep copies (B, C). What the model calls a *request* is a
message that the person of one install sends: `e7` belongs to the install that 7 falls to. The
messages between installs are the product's own, as bytes, over `link_layer`. The model's entries
are made from the stored events, with the real hashes as their body, so that the model's checker
compares what is really on the disks.

The driver's duty is split for the simulator: a call takes inputs and changes the disk in memory;
then `speak`, `show` and `reply` perform the rest of the round, and a kill may come before each.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from mesh.core import effects, inputs
from mesh.core.authority import answer_cause
from mesh.core.errors import MeshError, PeerFault
from mesh.core.event import Event, Proposal, propose
from mesh.core.link_messages import LinkMessage, TurnReport
from mesh.core.room_machine import RoomMachine
from mesh.core.turn import Turn, TurnState
from mesh.wire import codec
from tests.core.gate import inputs_of
from tests.core.machines import Disk, Install, frames
from tests.core.world import START_MS, World
from tests.sim.link_layer import Happened, LinkLayer, Out
from tests.sim.models import room_spec

HOSTS: Final = "ABC"
HANDLES: Final = {"A": "scribe", "B": "echo", "C": "muse"}
AUTHORITY: Final = Install(name="A").install_id
VOTER: Final = {Install(name=h).install_id: f"{h}#0" for h in HOSTS}
INSTALL: Final = {voter: install_id for install_id, voter in VOTER.items()}
FIRST: Final = room_spec.mk(
    room_spec.GENESIS, 0, 1, "conf",
    body=room_spec.Conf(("A#0",), room_spec.LEASE, ""),
)
REPORT_EVERY_S: Final = 3.0


def base() -> World:
    """A room with a person and an agent from each of three installs, before anything happens."""
    world = World(*HOSTS)
    for name, handle in HANDLES.items():
        world.seat(name, handle)
    return world


BASE: Final = base()


def home_of(event_id: str) -> str:
    """The install whose person sends the message with this id."""
    return HOSTS[int(event_id[1:]) % len(HOSTS)]


def text_of(event_id: str, digest: str) -> str:
    """What the message says. One in three asks an agent."""
    luck = zlib.crc32(event_id.encode()) % 9
    return f"{event_id} {digest}" + (f" @{list(HANDLES.values())[luck]}" if luck < 3 else "")


class SimDisk(Disk):
    """The disk of an install, with what the model's simulator asks of a disk."""

    def __init__(self, vid: str) -> None:
        super().__init__()
        self.vid, self.commits, self.promised, self.voted = vid, 0, 0, None
        self.log: list[Any] = []
        self.parked: tuple[Any, ...] = ()
        self.cert, self.head, self.confs = None, (0, 0, room_spec.GENESIS), ()

    def copy(self) -> "SimDisk":
        """The disk as it is now."""
        made = SimDisk(self.vid)
        made.events, made.log = list(self.events), list(self.log)
        made.outbox, made.refused = dict(self.outbox), dict(self.refused)
        made.commits, made.promised = self.commits, self.promised
        made.voted, made.cert = self.voted, self.cert
        return made

    def apply(self, effect: effects.Effect) -> None:
        """Perform an effect of the first kind, and keep the model's log beside the real one."""
        super().apply(effect)
        if isinstance(effect, effects.StoreEvent):
            self.promised = max(self.promised, effect.event.epoch)
            self.log.append(self._entry(effect.event))

    def _entry(self, event: Event) -> Any:
        if event.seq == 1:
            return FIRST
        asked = event.kind == "message.user" and event.proposal.event_id[0] == "e"
        return room_spec.mk(
            self.log[-1].hash,
            event.epoch,
            event.seq,
            "event" if asked else "noop",
            event.proposal.event_id if asked else event.proposal.key[:12],
            event.payload["text"].split()[1] if asked else "",
            (event.hash, event.prev_hash),
        )


@dataclass(slots=True)
class Round:
    """What is left to do of a round once the disk was changed."""

    said: list[tuple[str, LinkMessage]] = field(default_factory=list)
    shown: list[Event] = field(default_factory=list)
    answers: list[effects.Answer] = field(default_factory=list)


class RoomNode:
    """One install. The public names are the model's, whatever they mean to us."""

    def __init__(
        self,
        vid: str,
        disk: SimDisk,
        clock: Callable[[], float],
        rnd: Random,
        bugs: frozenset[str] = frozenset(),
    ) -> None:
        self.id, self.disk, self.clock, self.rnd, self.bugs = vid, disk, clock, rnd, bugs
        self.events: list[tuple[Any, ...]] = []
        self.dropped, self.settled = 0, 0
        self.install = Install(name=vid[0])
        self.role = "authority" if vid[0] == "A" else "follower"
        self.booted = False
        self.machine = RoomMachine(
            BASE.room_id,
            me=self.install.install_id,
            key=self.install.key,
            authority_install_id=AUTHORITY,
            events=iter(list(disk.events)),
            waiting=self.recall(disk),
        )
        self.links = LinkLayer(vid, () if vid[0] == "A" else ("A#0",))
        self.left = Round()
        self._asked: dict[int, tuple[str, str]] = {}
        self._due_s: dict[str, float] = {}
        self._late_s: dict[str, float] = {}
        self._told_early: list[tuple[Any, ...]] = []
        self._tickets = 0

    def recall(self, disk: SimDisk) -> tuple[Proposal, ...]:
        """What waits in the outbox since before the start."""
        return tuple(disk.outbox.values())

    # --- what the model asks of a node -------------------------------------------------------

    def lease_ok(self) -> bool:
        """The host of a room with one voter always leads."""
        return self.role == "authority"

    def solo(self) -> bool:
        """A room with one voter has nobody else to lead it."""
        return True

    def confs(self) -> tuple[Any, ...]:
        """The configuration of a room that never changes it."""
        return tuple(self.disk.log[:1])

    def voters(self) -> tuple[str, ...]:
        """The one voter, once the log is here."""
        return ("A#0",) if self.disk.log else ()

    def handle(self, message: tuple[Any, ...]) -> Out:
        """A message of the network, or a client's request."""
        if message[0] == "request":
            return self._request(message[3], message[4])
        happened, out = self.links.handle(message, self.clock())
        return out + self._take(happened)

    def tick(self) -> Out:
        """Time has passed: links, agents, deadlines."""
        out: Out = []
        if not self.booted:
            self.booted = True
            if self.role == "authority":
                self.events.append(("authority", 1))
        happened, frames = self.links.tick(self.clock(), self.rnd.getrandbits(32))
        return out + frames + self._take(happened) + self._round(*self._agent())

    # --- rounds -----------------------------------------------------------------------------

    def speak(self) -> Out:
        """The second duty: what was said becomes frames of links that are up."""
        said, self.left.said = self.left.said, []
        out: Out = []
        for install_id, message in said:
            out += self.links.frame(VOTER[install_id], codec.encode(message))
        return out

    def show(self, tell: Callable[[Event], None]) -> None:
        """The third duty: subscribers see the events."""
        shown, self.left.shown = self.left.shown, []
        for event in shown:
            tell(event)

    def reply(self) -> None:
        """The last duty: callers are told, as facts for the model's checker."""
        answers, self.left.answers = self.left.answers, []
        self.events += self._told_early
        self._told_early = []
        for answer in answers:
            if answer.ticket in self._asked:
                self.events.append(self._reply(*self._asked.pop(answer.ticket), answer.outcome))

    def crooked(self, event: Event) -> Out:
        """The host sends what no honest host sends: refused whole, and the link is closed."""
        put = inputs.Appended(install_id=AUTHORITY, event=event, latest_seq=event.seq)
        try:
            done = self.machine.step(put, self._now())
        except PeerFault:
            happened, out = self.links.hang_up("A#0")
            return out + self._take(happened)
        self.perform(done)
        return []

    def _now(self) -> inputs.Now:
        clock_s = self.clock()
        return inputs.Now(wall_ms=START_MS + int(clock_s * 1_000), mono_s=clock_s)

    def _take(self, happened: list[Happened]) -> Out:
        puts: list[inputs.Input] = []
        for news in happened:
            install_id = INSTALL[news.peer]
            if news.what == "up":
                puts.append(inputs.LinkUp(install_id=install_id))
            elif news.what == "down":
                puts.append(inputs.LinkDown(install_id=install_id))
            else:
                puts += inputs_of(install_id, codec.decode(news.data))
        return self._round(*puts) if puts else []

    def _round(self, *puts: inputs.Input) -> Out:
        now = self._now()
        done: list[effects.Effect] = []
        for put in (*puts, inputs.RoundEnded()):
            try:
                done += self.machine.step(put, now)
            except PeerFault as fault:
                self.events.append(("BUG", f"{self.id} blames an honest host: {fault}"))
        self.perform(done)
        return []

    def perform(self, done: list[effects.Effect] | tuple[effects.Effect, ...]) -> None:
        """The first duty now, on the disk in memory; the others when they are asked for."""
        for effect in done:
            self.disk.apply(effect)
            match effect:
                case effects.StoreEvent() if self.role == "authority":
                    self.events.append(("wrote", self.disk.log[-1]))
                case effects.Send():
                    self.left.said.append((effect.install_id, effect.message))
                case effects.Stream():
                    self.left.said += [
                        (effect.install_id, m) for m in frames(self.machine, self.disk, effect)
                    ]
                case effects.Deliver():
                    self.left.shown.append(effect.event)
                case effects.Answer():
                    self.left.answers.append(effect)

    # --- clients ----------------------------------------------------------------------------

    def _request(self, event_id: str, digest: str) -> Out:
        if home_of(event_id) != self.id[0]:
            self._told_early.append(("reply", "not_authority", event_id, digest, None, None))
            return []
        person = self.machine.state.person_of(self.install.install_id)
        if person is None:  # an empty copy that does not know its own person yet
            self._told_early.append(("reply", "pending", event_id, digest, None, None))
            return []
        payload = {"text": text_of(event_id, digest)}
        proposal = self._propose("message.user", person.member_id, event_id, payload, None)
        put = self._submitted(proposal)
        self._asked[put.ticket] = (event_id, digest)
        return self._round(put)

    def _submitted(self, proposal: Proposal) -> inputs.Submitted:
        self._tickets += 1
        return inputs.Submitted(proposal=proposal, ticket=self._tickets)

    def _propose(
        self, kind: str, member_id: str, event_id: str, payload: dict[str, Any], turn: Turn | None
    ) -> Proposal:
        return propose(
            self.install.key,
            room_id=BASE.room_id,
            event_id=event_id,
            kind=kind,
            member_id=member_id,
            payload=payload,
            cause=answer_cause(turn) if turn else None,
            created_at_ms=self._now().wall_ms,
        )

    def _reply(
        self, event_id: str, digest: str, outcome: effects.Accepted | MeshError
    ) -> tuple[Any, ...]:
        """An outcome in the model's words. A driver compares a known id with what is stored."""
        if isinstance(outcome, effects.Accepted):
            entry = self.disk.log[outcome.seq - 1]
            status = "applied" if entry.dig == digest else "rejected"
            return ("reply", status, event_id, digest, entry, "local")
        # A conflict with what waits in the outbox rests on nothing final yet: the client asks on.
        waits = any(p.event_id == event_id for p in self.disk.outbox.values())
        status = "pending" if waits else "refused"
        return ("reply", status, event_id, digest, None, outcome.reason)

    # --- agents -----------------------------------------------------------------------------

    def _agent(self) -> list[inputs.Input]:
        """The agent of this install acts on its open turns, the same way however often asked."""
        puts: list[inputs.Input] = []
        now_s = self.clock()
        for turn in self.machine.state.open_turns():
            member = self.machine.state.members[turn.member_id]
            if member.install_id == self.install.install_id:
                due_s = self._due_s.setdefault(turn.turn_id, now_s + self.rnd.uniform(0, 2))
                if now_s >= due_s:
                    self._due_s[turn.turn_id] = now_s + REPORT_EVERY_S
                    puts += self._act(turn)
        # A run that was stopped may not know it yet, and report its end.
        for turn_id in [i for i, at_s in self._late_s.items() if now_s >= at_s]:
            del self._late_s[turn_id]
            puts += self._report(self.machine.state.turns[turn_id], "passed")
        return puts

    def _act(self, turn: Turn) -> list[inputs.Input]:
        luck = zlib.crc32(turn.turn_id.encode()) % 20
        puts: list[inputs.Input] = []
        if luck > 16:  # a person stops it; it may pass, or be answered late, all the same
            puts.append(self._stop(turn))
        if luck == 17:
            self._late_s[turn.turn_id] = self.clock() + 1.0
            return puts
        if luck in (13, 14, 15, 16):
            running = luck in (15, 16) and turn.state is not TurnState.RUNNING
            end = "failed" if luck == 14 else "passed"
            return self._report(turn, "running" if running else end)
        if luck != 19:
            other = list(HANDLES.values())[luck % 3]
            text = f"thanks, @{other}" if luck < 10 else "done"
            payload = {"text": text, "turn_id": turn.turn_id}
            answer = self._propose("message.member", turn.member_id, turn.turn_id, payload, turn)
            puts.append(self._submitted(answer))
        return puts

    def _stop(self, turn: Turn) -> inputs.Submitted:
        person = self.machine.state.person_of(self.install.install_id)
        assert person is not None
        payload = {"turn_id": turn.turn_id, "member_id": turn.member_id}
        event_id = f"stop:{turn.turn_id}"
        return self._submitted(
            self._propose("turn.cancelled", person.member_id, event_id, payload, None)
        )

    def _report(self, turn: Turn, state: str) -> list[inputs.Input]:
        report = TurnReport(
            room_id=BASE.room_id,
            turn_id=turn.turn_id,
            member_id=turn.member_id,
            state=state,
            reason="backend_failed" if state == "failed" else "",
        )
        if self.role == "authority":
            return inputs_of(self.install.install_id, report)
        self.left.said.append((AUTHORITY, report))
        return []
