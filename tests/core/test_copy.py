"""A copy: forwards what its members say, and takes in nothing that does not hold."""

from typing import Any

import pytest

from mesh.core import inputs
from mesh.core.effects import Accepted, DropProposal, QueueProposal, RefuseProposal, Send
from mesh.core.errors import MeshError
from mesh.core.event import Event, Proposal
from mesh.core.limits import (
    LINK_FRAME_BYTES_MAX,
    OUTBOX_WINDOW,
    OUTBOX_WINDOW_BYTES,
    TEXT_BYTES_MAX,
)
from mesh.core.link_messages import CatchUp, Propose, Stored
from mesh.wire import codec
from tests.core.machines import Install, Node
from tests.core.world import World

DESKTOP = Install(name="desktop").install_id


def apart() -> World:
    """A host and a copy, both whole, with the link between them cut."""
    world = World("desktop", "laptop")
    world.cut("desktop", "laptop")
    return world


def logs(world: World) -> list[list[str]]:
    """The hashes of every log."""
    return [[e.hash for e in node.disk.events] for node in world.nodes.values()]


def texts(world: World, name: str) -> list[str]:
    """What was said, in the order of the log."""
    return [e.payload["text"] for e in world[name].disk.events if e.kind == "message.user"]


def outcome(world: World, name: str, ticket: int) -> str:
    """What a caller was told: `applied`, a reason, or `waiting`."""
    told = world[name].answers.get(ticket)
    if told is None:
        return "waiting"
    return "applied" if isinstance(told, Accepted) else told.reason


# --- forwarding ---------------------------------------------------------------------------------


def test_what_is_said_offline_waits_and_arrives_in_order() -> None:
    world = apart()
    tickets = [world.say("laptop", f"{n}") for n in range(3)]
    world.say("desktop", "meanwhile")
    assert [outcome(world, "laptop", t) for t in tickets] == ["waiting"] * 3
    assert texts(world, "laptop") == [] and len(world["laptop"].disk.outbox) == 3
    world.heal()
    assert texts(world, "desktop") == ["meanwhile", "0", "1", "2"]
    assert [outcome(world, "laptop", t) for t in tickets] == ["applied"] * 3
    assert not world["laptop"].disk.outbox and logs(world)[0] == logs(world)[1]


def test_the_outbox_survives_a_restart() -> None:
    world = apart()
    world.say("laptop", "before")
    world.restart("laptop")
    world.say("laptop", "after")
    world.heal()
    assert texts(world, "desktop") == ["before", "after"]


def test_one_refusal_does_not_block_what_is_behind_it() -> None:
    """Situation 28."""
    world = apart()
    first = world.say("laptop", "one")
    bad = world.do("laptop", "room.renamed", {"name": "Mine"})
    last = world.say("laptop", "two")
    world.heal()
    assert [outcome(world, "laptop", t) for t in (first, bad, last)] == [
        "applied", "forbidden", "applied",
    ]
    assert texts(world, "laptop") == ["one", "two"]
    assert list(world["laptop"].disk.refused.values()) == ["forbidden"]
    world.restart("laptop")
    world.heal()
    assert texts(world, "desktop") == ["one", "two"], "what was refused is not sent again"


def test_the_same_again_is_the_same_event() -> None:
    """Situation 13, at a copy: while it waits, and when the log has it."""
    world = apart()
    proposal = world.propose("laptop", "message.user", {"text": "a"}, event_id="x")
    early = [world.submit("laptop", proposal) for _ in range(2)]
    other = world.propose("laptop", "message.user", {"text": "b"}, event_id="x")
    conflict = world.submit("laptop", other)
    assert outcome(world, "laptop", conflict) == "conflict"
    world.heal()
    late = world.submit("laptop", proposal)
    seqs = set()
    for ticket in (*early, late):
        told = world["laptop"].answers[ticket]
        assert isinstance(told, Accepted)
        seqs.add(told.seq)
    assert len(seqs) == 1 and texts(world, "desktop") == ["a"]


def test_an_answer_that_was_lost_does_not_double_the_event() -> None:
    """The host has it, the copy was cut before it heard: sent again, known, once."""
    world = World("desktop", "laptop")
    laptop = world["laptop"]
    proposal = world.propose("laptop", "message.user", {"text": "a"}, event_id="x")
    laptop.round(world.now, inputs.Submitted(proposal=proposal, ticket=1))
    (message,) = [m for _, m in laptop.out if isinstance(m, Propose)]
    laptop.out.clear()
    put = inputs.Proposed(install_id=laptop.install.install_id, proposal=proposal)
    world["desktop"].round(world.now, put)
    world["desktop"].out.clear()
    assert message.proposals[0].raw == proposal.raw
    world.restart("laptop")
    world.heal()
    assert texts(world, "desktop") == texts(world, "laptop") == ["a"]
    assert not world["laptop"].disk.outbox


def test_a_large_outbox_travels_in_frames_that_fit() -> None:
    """Ten large texts, said offline, are more than one frame holds."""
    world = apart()
    for n in range(10):
        world.say("laptop", f"{n}" * (TEXT_BYTES_MAX - 16))
    laptop = world["laptop"]
    done = laptop.machine.step(inputs.LinkUp(install_id=DESKTOP), world.now)
    sends = [e.message for e in done if isinstance(e, Send) and isinstance(e.message, Propose)]
    at_once = OUTBOX_WINDOW_BYTES // TEXT_BYTES_MAX
    assert len(sends) > 1 and sum(len(m.proposals) for m in sends) == at_once < 10
    assert all(len(codec.encode(m)) < LINK_FRAME_BYTES_MAX for m in sends)
    world.cut("desktop", "laptop")
    world.restart("laptop")
    world.heal()
    assert len(texts(world, "desktop")) == 10


def test_what_is_on_the_way_is_bounded() -> None:
    world = apart()
    for n in range(OUTBOX_WINDOW + 5):
        world.say("laptop", f"{n}")
    laptop = world["laptop"]
    done = laptop.machine.step(inputs.LinkUp(install_id=DESKTOP), world.now)
    sent = [p for e in done if isinstance(e, Send) and isinstance(e.message, Propose)
            for p in e.message.proposals]
    assert len(sent) == OUTBOX_WINDOW == len(laptop.machine.copy.sent_keys())
    world.restart("laptop")
    world.heal()
    assert texts(world, "desktop") == [f"{n}" for n in range(OUTBOX_WINDOW + 5)]


def test_only_what_was_not_sent_can_be_taken_back() -> None:
    world = apart()
    keep, gone = world.say("laptop", "keep"), world.say("laptop", "gone")
    key = list(world["laptop"].disk.outbox)[1]
    laptop = world["laptop"]

    def discard(ticket: int) -> str:
        laptop.round(world.now, inputs.Discarded(key=key, ticket=ticket))
        return outcome(world, "laptop", ticket)

    assert discard(90) == "applied" and outcome(world, "laptop", gone) == "conflict"
    world.heal()
    assert outcome(world, "laptop", keep) == "applied" and texts(world, "desktop") == ["keep"]
    key = next(iter(world["desktop"].disk.events[-1:])).proposal.key
    assert discard(91) == "conflict", "the log has it"
    world.cut("desktop", "laptop")
    world.say("laptop", "sent")
    key = next(iter(laptop.disk.outbox))
    laptop.machine.step(inputs.LinkUp(install_id=DESKTOP), world.now)
    assert discard(92) == "uncertain", "it was sent: its fate is the host's word"


def test_a_refused_row_can_be_put_away() -> None:
    world = World("desktop", "laptop")
    world.do("laptop", "room.renamed", {"name": "Mine"})
    laptop = world["laptop"]
    (key,) = laptop.disk.refused
    laptop.round(world.now, inputs.Discarded(key=key, ticket=90))
    assert outcome(world, "laptop", 90) == "applied" and not laptop.disk.refused


def test_the_outbox_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.core.copy.OUTBOX_ROWS_MAX", 2)
    world = apart()
    tickets = [world.say("laptop", f"{n}") for n in range(3)]
    assert [outcome(world, "laptop", t) for t in tickets] == ["waiting", "waiting", "busy"]


def test_effects_come_so_that_a_crash_between_leaves_the_truth() -> None:
    """Kept before it is sent; the event and the end of its row in one round."""
    world = World("desktop", "laptop")
    laptop = world["laptop"]
    proposal = world.propose("laptop", "message.user", {"text": "a"})
    done = laptop.round(world.now, inputs.Submitted(proposal=proposal, ticket=1))
    kinds = [type(e).__name__ for e in done]
    assert kinds.index("QueueProposal") < kinds.index("Send")
    assert isinstance(done[0], QueueProposal)
    world.settle()
    event = world["desktop"].disk.events[-1]
    world.restart("laptop")
    again = Node(laptop.install, world.room_id, DESKTOP, world["laptop"].disk.copy())
    assert again.machine.copy.waiting() == ()
    assert event.proposal.key not in again.disk.outbox


# --- following ----------------------------------------------------------------------------------


def test_three_installs_converge_over_any_cuts() -> None:
    world = World("desktop", "laptop", "server")
    for n in range(6):
        world.cut("desktop", ("laptop", "server")[n % 2])
        for name in world.nodes:
            world.say(name, f"{name} {n}")
        world.heal()
    one, two, three = logs(world)
    assert one == two == three
    assert sorted(texts(world, "server")) == sorted(
        f"{name} {n}" for n in range(6) for name in world.nodes
    )
    for node in world.nodes.values():
        assert [e.seq for e in node.shown] == sorted({e.seq for e in node.shown})


def appended(node: Node, event: Event, sender: str = DESKTOP) -> list[Any]:
    """A copy gets an event."""
    put = inputs.Appended(install_id=sender, event=event, latest_seq=event.seq)
    return list(node.machine.step(put, World("x").now))


def behind(have: int) -> tuple[Node, list[Event]]:
    """A copy with a link and some of a host's log, and the rest of it."""
    world = World("desktop", "laptop")
    for n in range(4):
        world.say("desktop", f"{n}")
    events = world["desktop"].disk.events
    node = Node(Install(name="laptop"), world.room_id, DESKTOP)
    node.round(world.now, inputs.LinkUp(install_id=DESKTOP))
    for event in events[:have]:
        for effect in appended(node, event):
            node.disk.apply(effect)
    return node, events[have:]


def test_a_gap_asks_again_once() -> None:
    node, rest = behind(3)
    first, later, latest = appended(node, rest[1]), appended(node, rest[2]), appended(node, rest[0])
    (ask,) = first
    assert isinstance(ask.message, CatchUp) and ask.message.have_seq == 3
    assert later == [] and len(latest) == 2
    (again,) = appended(node, rest[2])
    assert again.message.have_seq == 4


def test_what_is_known_is_skipped() -> None:
    node, rest = behind(3)
    appended(node, rest[0])
    assert appended(node, rest[0]) == []


def test_what_others_send_is_passed_over() -> None:
    """Only the host feeds a copy; nobody else can make it look faulty either."""
    node, rest = behind(3)
    for sender in (Install(name="server").install_id, Install(name="laptop").install_id):
        assert appended(node, rest[0], sender) == []
    judged = inputs.Judged(
        install_id=Install(name="server").install_id, key="00" * 32, state="rejected", seq=0,
        reason="forbidden", message="",
    )
    assert node.machine.step(judged, World("x").now) == ()
    assert node.machine.state.head.seq == 3 and node.machine.copy.faulty == ""


def test_only_what_is_stored_is_acknowledged() -> None:
    node, rest = behind(3)
    now = World("x").now
    put = inputs.Appended(install_id=DESKTOP, event=rest[0], latest_seq=9)
    node.out.clear()
    node.round(now, put)
    node.round(now)
    stored = [m.seq for _, m in node.out if isinstance(m, Stored)]
    assert stored == [4] == [len(node.disk.events)]


def test_nothing_is_forwarded_to_a_faulty_host_until_the_next_link() -> None:
    world = World("desktop", "laptop")
    laptop = world["laptop"]
    laptop.round(world.now, inputs.Declined(install_id=DESKTOP, reason="forbidden"))
    assert laptop.machine.copy.faulty == "forbidden"
    world.say("laptop", "waits")
    assert texts(world, "desktop") == []
    world.cut("desktop", "laptop")
    world.heal()
    assert texts(world, "desktop") == ["waits"] and laptop.machine.copy.faulty == ""


def test_a_refusal_keeps_its_reason_and_an_unknown_one_is_a_refusal() -> None:
    world = apart()
    ticket = world.say("laptop", "a")
    (key,) = world["laptop"].disk.outbox
    put = inputs.Judged(
        install_id=DESKTOP, key=key, state="rejected", seq=0, reason="of a later version",
        message="x" * 600,
    )
    done = world["laptop"].round(world.now, put)
    assert RefuseProposal(key=key, reason="of a later version") in done
    told = world["laptop"].answers[ticket]
    assert isinstance(told, MeshError) and told.reason == "forbidden"
    assert len(told.message) == 500
    assert not any(isinstance(e, DropProposal) for e in done)


def test_applied_is_believed_when_the_event_is_here() -> None:
    world = apart()
    ticket = world.say("laptop", "a")
    (proposal,) = world["laptop"].disk.outbox.values()
    assert isinstance(proposal, Proposal)
    put = inputs.Judged(
        install_id=DESKTOP, key=proposal.key, state="applied", seq=9, reason="", message=""
    )
    assert [type(e).__name__ for e in world["laptop"].round(world.now, put)] == []
    assert outcome(world, "laptop", ticket) == "waiting"
