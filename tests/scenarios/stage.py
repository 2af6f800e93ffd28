"""Plays a scenario: plain sentences drive RoomMachines, and what happens is printed under them.

A scenario is a text. Lines that begin with `#` tell the story. A line that begins with `>` is
done, and the lines under it are what followed: the events that were added to the host's log,
what callers were told, and who does not have the events yet. `play` makes the whole text anew
from its `#` and `>` lines; the test compares, and a change of behaviour is read as a diff.

    > room HOST NAME...           a room, its first install hosts it
    > NAME lends HANDLE           an install seats an agent
    > NAME says TEXT              also: says TEXT (as ID)
    > HANDLE answers TEXT         HANDLE passes, HANDLE fails REASON, HANDLE starts
    > cut NAME, link NAME, restart NAME       the link between NAME and the host
    > HANDLE is not reached       the host's dispatcher finds no link
    > NAME invites, NAME joins by N, NAME revokes N
    > NAME renames to TEXT, NAME removes NAME, NAME stops HANDLE, NAME leaves
    > an hour passes
    > what NAME sees              presence and turns, as that install shows them
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from mesh.core import inputs
from mesh.core.effects import Accepted
from mesh.core.event import Event
from mesh.core.member import Member
from mesh.core.turn import Turn
from tests.core.world import World

HOUR_S: Final = 3_600.0


class Stage:
    """One scenario while it is played."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._printed = 0
        self._behind: list[str] = []
        self._waiting: dict[tuple[str, int], str] = {}
        self._invitations: list[str] = []

    @property
    def world(self) -> World:
        """The room's installs. The first sentence makes them."""
        assert self._world is not None, "a scenario begins with `> room HOST NAME...`"
        return self._world

    def do(self, sentence: str) -> Iterator[str]:
        """Do what a sentence says; yields the lines that follow.

        Raises:
            AssertionError: no sentence of that form is known.
        """
        for pattern, act in SENTENCES:
            words = pattern.fullmatch(sentence)
            if words:
                yield from act(self, *words.groups()) or ()
                yield from self._news()
                return
        raise AssertionError(f"nobody knows how to play: {sentence}")

    # --- the sentences ------------------------------------------------------------------------

    def room(self, names: str) -> None:
        self._world = World(*names.split())

    def lends(self, name: str, handle: str) -> None:
        self.world.seat(name, handle)

    def says(self, name: str, text: str, event_id: str | None) -> Iterator[str]:
        yield from self._told(name, self.world.say(name, text, event_id=event_id))

    def answers(self, handle: str, text: str) -> Iterator[str]:
        member, turn = self._turn(handle)
        home = self._home(member)
        yield from self._told(home, self.world.answer(home, turn.turn_id, text))

    def reports(self, handle: str, verb: str, reason: str | None) -> None:
        member, turn = self._turn(handle)
        states = {"starts": "running", "passes": "passed", "fails": "failed"}
        self.world.report(self._home(member), turn.turn_id, states[verb], reason or "")

    def not_reached(self, handle: str) -> None:
        _, turn = self._turn(handle)
        host = self.world[self.world.host]
        moved = inputs.TurnProgressed(turn_id=turn.turn_id, state="offline", reason="peer_offline")
        host.round(self.world.now, moved)
        self.world.settle()

    def cut(self, name: str) -> None:
        self.world.cut(self.world.host, name)

    def link(self, name: str) -> None:
        self.world.link(self.world.host, name)

    def restart(self, name: str) -> None:
        self.world.restart(name)
        self._waiting = {k: v for k, v in self._waiting.items() if k[0] != name}

    def invites(self, name: str) -> Iterator[str]:
        self._invitations.append(self.world.invite(name))
        yield f"  invitation {len(self._invitations)}"

    def joins(self, name: str, number: str) -> Iterator[str]:
        world, invitation_id = self.world, self._invitations[int(number) - 1]
        if name not in world.nodes:
            world.add(name)
        world.link(world.host, name)
        result = world.redeem(name, world.redemption(name, invitation_id))
        yield f"  {name} is told: {result.state}{_because(result.reason, result.message)}"
        world.cut(world.host, name)
        if result.state == "applied":
            world.link(world.host, name)

    def revokes(self, name: str, number: str) -> Iterator[str]:
        payload = {"invitation_id": self._invitations[int(number) - 1]}
        yield from self._told(name, self.world.do(name, "invitation.revoked", payload))

    def renames(self, name: str, text: str) -> Iterator[str]:
        yield from self._told(name, self.world.do(name, "room.renamed", {"name": text}))

    def removes(self, name: str, handle: str) -> Iterator[str]:
        payload = {"member_id": self._member(handle).member_id, "reason": "removed"}
        yield from self._told(name, self.world.do(name, "member.left", payload))

    def leaves(self, name: str) -> Iterator[str]:
        payload = {"member_id": self.world[name].person.member_id, "reason": "left"}
        yield from self._told(name, self.world.do(name, "member.left", payload))

    def stops(self, name: str, handle: str) -> Iterator[str]:
        member, turn = self._turn(handle)
        payload = {"turn_id": turn.turn_id, "member_id": member.member_id}
        yield from self._told(name, self.world.do(name, "turn.cancelled", payload))

    def hour(self) -> None:
        self.world.pass_s(HOUR_S)

    def sees(self, name: str) -> Iterator[str]:
        machine = self.world[name].machine
        for member in machine.state.members.values():
            presence, _, reason = machine.present_as(member)
            yield f"  {member.handle}: {presence}{_because(reason)}"
        for turn in machine.state.open_turns():
            seen, handle = machine.live.seen(turn), machine.state.members[turn.member_id].handle
            yield f"  {handle} has a turn: {seen.state}{_because(seen.reason)}"
        yield from (f"  waits here: {p.payload.get('text', p.kind)}" for p in
                    self.world[name].disk.outbox.values())
        yield from (f"  was refused: {reason}" for reason in self.world[name].disk.refused.values())

    # --- what follows -------------------------------------------------------------------------

    def _told(self, name: str, ticket: int) -> Iterator[str]:
        outcome = self.world[name].answers.get(ticket)
        if outcome is None:
            self._waiting[name, ticket] = name
            yield f"  {name} is told: kept, it waits for {self.world.host}"
        elif isinstance(outcome, Accepted):
            again = ", as before" if outcome.idempotent else ""
            yield f"  {name} is told: applied at {outcome.seq}{again}"
        else:
            yield f"  {name} is told: refused{_because(outcome.reason, outcome.message)}"

    def _news(self) -> Iterator[str]:
        log = self.world[self.world.host].disk.events
        for event in log[self._printed :]:
            yield self._line(event)
        self._printed = len(log)
        for name, ticket in list(self._waiting):
            if ticket in self.world[name].answers:
                del self._waiting[name, ticket]
                yield from self._told(name, ticket)
        state = self.world[self.world.host].machine.state
        behind = [
            f"{name} has {len(node.disk.events)} of {len(log)}"
            for name, node in self.world.nodes.items()
            if state.key_of(node.install.install_id)  # strangers have nothing, and get nothing
            if [e.hash for e in node.disk.events] != [e.hash for e in log]
        ]
        if behind != self._behind:
            yield f"  ({'; '.join(behind)})" if behind else "  (all have the same log)"
        self._behind = behind

    def _line(self, event: Event) -> str:
        state, payload = self.world[self.world.host].machine.state, event.payload
        handles = {m.member_id: m.handle for m in state.members.values()}
        author = handles.get(event.proposal.member_id, self.world.host)
        about = handles.get(str(payload.get("member_id")), "")
        if "text" in payload:
            return f"  {event.seq:>2} {author}: {payload['text']}"
        if event.kind == "member.joined":
            about = handles[payload["member"]["member_id"]]
        elif event.kind.startswith("room."):
            about = str(payload.get("name", ""))
        elif event.kind.startswith("turn."):
            about = f"{about}{_because(str(payload.get('reason', '')), payload.get('message', ''))}"
        elif event.kind.startswith("invitation."):
            about = f"by {author}"
        return f"  {event.seq:>2} {event.kind} {about}".rstrip()

    def _member(self, handle: str) -> Member:
        members = self.world[self.world.host].machine.state.members.values()
        return next(m for m in members if m.handle == handle)

    def _turn(self, handle: str) -> tuple[Member, Turn]:
        """The youngest turn of an agent, open or not: some answer late."""
        member = self._member(handle)
        turns = self.world[self.world.host].machine.state.turns.values()
        return member, [t for t in turns if t.member_id == member.member_id][-1]

    def _home(self, member: Member) -> str:
        nodes = self.world.nodes.items()
        return next(n for n, node in nodes if node.install.install_id == member.install_id)


def _because(reason: str, message: object = "") -> str:
    told = ": ".join(str(part) for part in (reason, message) if part)
    return f" ({told})" if told else ""


_NAME, _HANDLE = r"([a-z]+)", r"@([\w.@-]+)"
SENTENCES: Final[list[tuple[re.Pattern[str], Callable[..., Iterator[str] | None]]]] = [
    (re.compile(pattern.replace("NAME", _NAME).replace("HANDLE", _HANDLE)), act)
    for pattern, act in (
        ("room (.+)", Stage.room),
        ("NAME lends HANDLE", Stage.lends),
        (r"NAME says (.+?)(?: \(as (\S+)\))?", Stage.says),
        ("HANDLE answers (.+)", Stage.answers),
        ("HANDLE (starts|passes|fails) ?(.+)?", Stage.reports),
        ("HANDLE is not reached", Stage.not_reached),
        ("cut NAME", Stage.cut),
        ("link NAME", Stage.link),
        ("restart NAME", Stage.restart),
        ("NAME invites", Stage.invites),
        (r"NAME joins by (\d+)", Stage.joins),
        (r"NAME revokes (\d+)", Stage.revokes),
        ("NAME renames to (.+)", Stage.renames),
        ("NAME removes HANDLE", Stage.removes),
        ("NAME leaves", Stage.leaves),
        ("NAME stops HANDLE", Stage.stops),
        ("an hour passes", Stage.hour),
        ("what NAME sees", Stage.sees),
    )
]


def play(text: str) -> str:
    """The scenario with everything that follows from its sentences, made anew."""
    stage = Stage()
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("#") or (not line and (not lines or lines[-1])):
            lines.append(line)
        elif line.startswith("> "):
            lines.append(line)
            lines += stage.do(line[2:])
    return "\n".join(lines).rstrip("\n") + "\n"
