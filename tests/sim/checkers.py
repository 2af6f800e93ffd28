"""Global laws of a room with one authority, checked while it runs and at the end.

    said        nobody speaks of what is not on its own disk (persist, then send)
    shown       a subscriber sees 1, 2, 3, ... of what is stored: no gap, nothing twice
    kept        what an install promised to forward is in the log, or refused, at the end
    I1          one authority: every event is signed by the host
    I4          every copy verifies, by a verifier that shares no code with us
    I5          an id occurs once, and nowhere with other content
    I6          what was called applied is in every log at that seq; what was refused is in none
    I7          what the host has stored once stays as it was
    turns       admitted once, one answer, one end, and a late answer after it; all end
    budget      no root has more turns than its budget
    converged   all logs are the same, all outboxes are empty

The model's checker, unchanged, watches I1 to I9 beside these.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from mesh.core.effects import Accepted
from mesh.core.event import Event
from mesh.core.link_messages import Append, LinkMessage, Propose, Stored, Verdict
from mesh.core.policy import Policy
from tests.sim.adapter import SimDisk
from tests.vectors.built import as_lines, line
from tests.vectors.verify_log import BrokenLogError, verify

ENDS = {"turn.settled", "turn.passed", "turn.failed", "turn.cancelled", "turn.uncertain"}
LATE = {"turn.failed", "turn.cancelled", "turn.uncertain"}


class Laws:
    """What has been promised so far. `bad` raises, with the instant."""

    def __init__(self, bad: Callable[[str], None], hosts: str) -> None:
        self._bad = bad
        self.entries = 0
        self._cursor = dict.fromkeys(hosts, 0)
        self._host_log: list[str] = []
        self._kept: set[str] = set()
        self._applied: dict[tuple[str, str], tuple[int, str]] = {}
        self._refused: set[tuple[str, str]] = set()

    # --- while it runs ----------------------------------------------------------------------

    def stored(self, host: str, disk: SimDisk) -> None:
        """A commit has ended."""
        self._kept |= disk.outbox.keys()
        if host != "A":
            return
        known = len(self._host_log)
        last = disk.events[known - 1].hash if 0 < known <= len(disk.events) else None
        if known and last != self._host_log[-1]:
            self._bad("I7 what the host had stored is gone")
        self._host_log += [event.hash for event in disk.events[known:]]

    def said(self, host: str, message: LinkMessage, disk: SimDisk) -> None:
        """A message leaves an install, whose disk has this."""
        head_seq = len(disk.events)
        match message:
            case Append() if message.latest_seq > head_seq:
                self._bad(f"said: {host} sends events that its disk lacks")
            case Verdict() if message.state == "applied" and message.seq > head_seq:
                self._bad(f"said: {host} calls applied what its disk lacks")
            case Stored() if message.seq > head_seq:
                self._bad(f"said: {host} calls stored what its disk lacks")
            case Propose():
                waits = {p.raw for p in disk.outbox.values()}
                if any(w.raw not in waits for w in message.proposals):
                    self._bad(f"said: {host} forwards what its disk lacks")

    def booted(self, host: str, disk: SimDisk) -> None:
        """A subscriber comes back with its cursor and reads what the disk has."""
        if self._cursor[host] > len(disk.events):
            self._bad(f"shown: a subscriber of {host} saw what is not stored")
        self._cursor[host] = len(disk.events)

    def shown(self, host: str, event: Event, disk: SimDisk) -> None:
        """A subscriber sees an event."""
        if len(disk.events) < event.seq or disk.events[event.seq - 1].hash != event.hash:
            self._bad(f"shown: {host} shows seq {event.seq}, which is not stored")
        if event.seq != self._cursor[host] + 1:
            self._bad(f"shown: {host} shows seq {event.seq} after {self._cursor[host]}")
        self._cursor[host] = event.seq

    def answered(
        self, event_id: str, digest: str, outcome: Accepted | str, disk: SimDisk
    ) -> None:
        """A client was told that its message is applied, or refused for good."""
        asked = (event_id, digest)
        if isinstance(outcome, str):
            self._refused.add(asked)
            return
        told = (outcome.seq, outcome.key)
        if outcome.seq > len(disk.events):
            self._bad(f"said: {event_id} is called applied before it is stored")
        if self._applied.setdefault(asked, told) != told:
            self._bad(f"I6 {event_id} was told two places")

    # --- at the end -------------------------------------------------------------------------

    def final(self, disks: Mapping[str, SimDisk]) -> None:
        """Everything is healed and quiet: the laws that need the whole."""
        log = disks["A"].events
        for host, disk in disks.items():
            if [e.hash for e in disk.events] != [e.hash for e in log]:
                self._bad(f"converged: {host} has {len(disk.events)} events, A {len(log)}")
            if disk.outbox:
                self._bad(f"converged: {len(disk.outbox)} proposals still wait at {host}")
            try:
                verify(as_lines([line(e) for e in disk.events]).splitlines())
            except BrokenLogError as broken:
                self._bad(f"I4 the log of {host}: {broken}")
            if [e.proposal.raw for e in disk.events] != [e.proposal.raw for e in log]:
                self._bad(f"converged: {host} has other bodies")
        self._promises(log, disks)
        self._turns(log)
        self.entries += sum(len(disk.events) for disk in disks.values())

    def _promises(self, log: list[Event], disks: Mapping[str, SimDisk]) -> None:
        by_id = Counter((e.proposal.member_id, e.proposal.event_id) for e in log)
        if by_id and max(by_id.values()) > 1:
            self._bad("I5 an event id occurs twice")
        said = {
            (e.proposal.event_id, e.payload["text"].split()[1]): e
            for e in log
            if e.kind == "message.user"
        }
        for asked, (seq, key) in self._applied.items():
            event = said.get(asked)
            if event is None or (event.seq, event.proposal.key) != (seq, key):
                self._bad(f"I6 {asked} was called applied at seq {seq}")
        for asked in self._refused & said.keys():
            self._bad(f"I6 {asked} was refused and is in the log")
        refused = {key for disk in disks.values() for key in disk.refused}
        lost = self._kept - {e.proposal.key for e in log} - refused
        if lost:
            self._bad(f"kept: {len(lost)} proposals were kept and are nowhere")

    def _turns(self, log: list[Event]) -> None:
        ends: dict[str, list[str]] = {}
        answers: Counter[str] = Counter()
        roots: Counter[str] = Counter()
        for event in log:
            if event.kind == "turn.admitted":
                turn_id = event.payload["turn_id"]
                if turn_id in ends:
                    self._bad(f"turns: {turn_id} was admitted twice")
                ends[turn_id] = []
                roots[event.payload["root"]] += 1
            elif event.kind == "message.member":
                answers[event.payload["turn_id"]] += 1
            elif event.kind in ENDS and event.payload["turn_id"] in ends:
                ends[event.payload["turn_id"]].append(event.kind)
        for turn_id, kinds in ends.items():
            late = len(kinds) == 2 and kinds[0] in LATE and kinds[1] == "turn.settled"
            if len(kinds) != 1 and not late:
                self._bad(f"turns: {turn_id} ended by {kinds}")
            if answers[turn_id] != kinds.count("turn.settled"):
                self._bad(f"turns: {turn_id} has {answers[turn_id]} answers, {kinds}")
        if roots and max(roots.values()) > Policy().budget:
            self._bad("budget: a root has more turns than its budget")
