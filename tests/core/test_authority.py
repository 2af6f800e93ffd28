"""The authority: what it admits, what it refuses, and what follows from what it admits."""

from dataclasses import replace
from typing import Any

import pytest

from mesh.core import inputs
from mesh.core.authority import FOUNDER_EPOCH
from mesh.core.effects import Accepted, Send, StoreEvent
from mesh.core.errors import MeshError
from mesh.core.event import Cause, parse_proposal
from mesh.core.limits import TURN_OFFLINE_WAIT_MS, TURNS_PER_MEMBER_QUEUED_MAX
from mesh.core.link_messages import Verdict
from mesh.core.member import Member
from mesh.core.turn import TurnState
from tests.core.machines import Install, key_of
from tests.core.world import World


def kinds(world: World, name: str = "desktop") -> list[str]:
    """The kinds of the log."""
    return [e.kind for e in world[name].disk.events]


def refused(world: World, name: str, ticket: int) -> str:
    """The reason with which a caller was refused."""
    outcome = world[name].answers[ticket]
    assert isinstance(outcome, MeshError), outcome
    return outcome.reason


def verdict(world: World, sender: str, proposal: Any) -> Verdict:
    """The host's word on a proposal that an install forwards, whoever wrote it."""
    put = inputs.Proposed(install_id=Install(name=sender).install_id, proposal=proposal)
    (sent,) = [e for e in world["desktop"].round(world.now, put)
               if isinstance(e, Send) and isinstance(e.message, Verdict)]
    assert sent.install_id == put.install_id and isinstance(sent.message, Verdict)
    return sent.message


# --- admitting ----------------------------------------------------------------------------------


def test_the_founder_leads_from_epoch_one() -> None:
    world = World("desktop", "laptop")
    epochs = [e.epoch for e in world["desktop"].disk.events]
    assert epochs == [0] + [FOUNDER_EPOCH] * (len(epochs) - 1)


def test_the_same_again_is_answered_as_known() -> None:
    """Situation 13: the first event, not another."""
    world = World("desktop")
    proposal = world.propose("desktop", "message.user", {"text": "a"}, event_id="x")
    first, again = world.submit("desktop", proposal), world.submit("desktop", proposal)
    one, two = (world["desktop"].answers[t] for t in (first, again))
    assert isinstance(one, Accepted) and isinstance(two, Accepted)
    assert (one.idempotent, two.idempotent) == (False, True) and one.seq == two.seq
    assert kinds(world).count("message.user") == 1


def test_the_same_id_with_other_content_is_a_conflict() -> None:
    """Situation 13 and attack 37, as another install sees it."""
    world = World("desktop", "laptop")
    world.say("laptop", "a", event_id="x")
    other = world.propose("laptop", "message.user", {"text": "b"}, event_id="x")
    answer = verdict(world, "laptop", other)
    assert (answer.state, answer.reason) == ("rejected", "conflict")
    same = world.propose("laptop", "message.user", {"text": "a"}, event_id="x")
    assert verdict(world, "laptop", same).state == "applied"
    assert kinds(world).count("message.user") == 1


def test_an_id_is_taken_for_its_member_alone() -> None:
    world = World("desktop", "laptop")
    world.say("desktop", "a", event_id="x")
    world.say("laptop", "b", event_id="x")
    assert kinds(world).count("message.user") == 2


def test_nobody_forwards_for_another_install() -> None:
    world = World("desktop", "laptop", "server")
    proposal = world.propose("laptop", "message.user", {"text": "a"})
    assert verdict(world, "server", proposal).reason == "forbidden"
    forged = replace(proposal, signature=key_of("server").sign("proposal", proposal.raw))
    assert verdict(world, "laptop", forged).reason == "bad_signature"
    assert verdict(world, "laptop", proposal).state == "applied"


def test_a_person_comes_in_by_redeeming_only() -> None:
    world = World("desktop")
    invitation_id = world.invite("desktop")
    world.add("laptop")
    (seat,) = world.redemption("laptop", invitation_id).proposals
    answer = verdict(world, "laptop", parse_proposal(seat.raw, seat.signature))
    assert answer.reason == "forbidden", "the secret was not shown"


def test_what_is_judged_now_is_stamped_now_also_when_the_clock_went_back() -> None:
    """Attack 70: copies judge at the stamp. What they would refuse, the host must."""
    world = World("desktop", "laptop")
    invitation_id = world.invite("desktop", ttl_s=10)
    world.pass_s(60)
    world.say("desktop", "a minute later")
    world.wall_ms -= 60_000
    world.add("server")
    world.link("desktop", "server")
    late = world.redeem("server", world.redemption("server", invitation_id))
    assert (late.state, late.reason) == ("rejected", "invitation_expired")
    world.say("desktop", "and on")
    stamps = [e.admitted_at_ms for e in world["laptop"].disk.events]
    assert stamps == sorted(stamps) and world["laptop"].machine.copy.faulty == ""
    assert len(stamps) == len(world["desktop"].disk.events)


# --- turns --------------------------------------------------------------------------------------


def a_turn(world: World, text: str = "@echo hello") -> str:
    """Somebody asks; returns the id of the youngest open turn."""
    world.say("desktop", text)
    return world["desktop"].machine.state.open_turns()[-1].turn_id


def state_of(world: World, turn_id: str, name: str = "desktop") -> TurnState:
    """Where a turn stands."""
    return world[name].machine.state.turns[turn_id].state


def with_echo() -> tuple[World, Member]:
    """A host, and a laptop with an agent."""
    world = World("desktop", "laptop", "server")
    return world, world.seat("laptop", "echo")


def test_a_mention_admits_a_turn_and_an_answer_settles_it() -> None:
    world, echo = with_echo()
    turn_id = a_turn(world)
    world.report("laptop", turn_id, "running")
    world.answer("laptop", turn_id, "hello")
    assert kinds(world)[-5:] == [
        "message.user", "turn.admitted", "turn.started", "message.member", "turn.settled",
    ]
    assert world["desktop"].disk.events[-2].proposal.member_id == echo.member_id


def test_a_repeated_report_changes_nothing() -> None:
    world, _ = with_echo()
    turn_id = a_turn(world)
    for _again in range(2):
        world.report("laptop", turn_id, "running")
        world.report("laptop", turn_id, "passed")
    assert kinds(world)[-2:] == ["turn.started", "turn.passed"]
    world.report("laptop", turn_id, "failed", "backend_failed", "late")
    assert state_of(world, turn_id) is TurnState.PASSED


def test_nobody_reports_on_another_installs_agent() -> None:
    """Situation 41: a namesake elsewhere cannot end, fail or answer this turn."""
    world, _ = with_echo()
    namesake = world.seat("server", "echo")
    assert world["server"].machine.state.members[namesake.member_id].handle == "echo@server"
    turn_id = a_turn(world)
    for state in ("running", "passed", "failed", "uncertain"):
        world.report("server", turn_id, state)
    turn = world["desktop"].machine.state.turns[turn_id]
    assert turn.state is TurnState.QUEUED
    ticket = world.do(
        "server",
        "message.member",
        {"text": "I am the other", "turn_id": turn_id},
        member_id=namesake.member_id,
    )
    assert refused(world, "server", ticket) == "forbidden"


def test_a_late_answer_is_posted_after_cancel() -> None:
    """Situation 16: nothing finished is thrown away."""
    world, echo = with_echo()
    turn_id = a_turn(world)
    stop = {"turn_id": turn_id, "member_id": echo.member_id}
    world.do("server", "turn.cancelled", stop)
    assert state_of(world, turn_id, "laptop") is TurnState.CANCELLED
    ticket = world.answer("laptop", turn_id, "done all the same")
    assert isinstance(world["laptop"].answers[ticket], Accepted)
    assert kinds(world)[-3:] == ["turn.cancelled", "message.member", "turn.settled"]
    again = world.do("server", "turn.cancelled", stop)
    assert refused(world, "server", again) == "conflict"


def test_one_turn_has_one_answer() -> None:
    """Situation 15: a second answer under another id is refused."""
    world, echo = with_echo()
    turn_id = a_turn(world)
    turn = world["laptop"].machine.state.turns[turn_id]
    world.answer("laptop", turn_id, "one")
    ticket = world.do(
        "laptop",
        "message.member",
        {"text": "two", "turn_id": turn_id},
        member_id=echo.member_id,
        event_id="second",
        cause=Cause(root=turn.root, hop=turn.hop, turn_id=turn_id),
    )
    assert refused(world, "laptop", ticket) == "conflict"
    assert kinds(world).count("message.member") == 1


def test_an_agent_that_is_muted_withdrawn_or_busy_says_so_in_the_room() -> None:
    """Situation 39: each has a state with a reason."""
    world, echo = with_echo()
    state = world["desktop"].machine.state

    def last_failure() -> str:
        event = world["server"].disk.events[-1]
        assert event.kind == "turn.failed"
        return str(event.payload["reason"])

    for _ in range(TURNS_PER_MEMBER_QUEUED_MAX):
        a_turn(world)
    world.say("desktop", "@echo one more")
    assert last_failure() == "busy"
    assert len(state.open_turns(echo.member_id)) == TURNS_PER_MEMBER_QUEUED_MAX
    world.do("desktop", "member.muted", {"member_id": echo.member_id, "muted": True})
    world.say("desktop", "@echo again")
    assert last_failure() == "muted"
    world.do("desktop", "member.muted", {"member_id": echo.member_id, "muted": False})
    withdraw = {"member_id": echo.member_id, "reason": "withdrawn"}
    world.do("laptop", "grant.revoked", withdraw, member_id=echo.member_id)
    assert state.open_turns() == (), "what was running has ended"
    assert last_failure() == "withdrawn"
    world.say("desktop", "@echo still there?")
    assert last_failure() == "withdrawn"


@pytest.mark.parametrize(
    ("kind", "by", "reason"),
    [("member.left", "laptop", "not_found"), ("room.disbanded", "desktop", "disbanded")],
)
def test_a_turn_ends_with_its_member_or_its_room(kind: str, by: str, reason: str) -> None:
    world, _ = with_echo()
    turn_id = a_turn(world)
    gone = {"member_id": world["laptop"].person.member_id, "reason": "left"}
    world.do(by, kind, gone if kind == "member.left" else {})
    turn = world["server"].machine.state.turns[turn_id]
    assert (turn.state, turn.reason) == (TurnState.FAILED, reason)
    assert world["desktop"].machine.deadline() is None


def test_a_turn_waits_a_day_for_its_machine() -> None:
    world, _ = with_echo()
    turn_id = a_turn(world)
    offline = inputs.TurnProgressed(turn_id=turn_id, state="offline", reason="peer_offline")
    world["desktop"].round(world.now, offline)
    world.pass_s(TURN_OFFLINE_WAIT_MS / 1_000)
    assert state_of(world, turn_id) is TurnState.QUEUED
    world.pass_s(10)
    turn = world["server"].machine.state.turns[turn_id]
    assert (turn.state, turn.reason) == (TurnState.FAILED, "peer_offline")


def test_a_route_is_registered_once_per_grant_and_not_in_a_closed_room() -> None:
    world, echo = with_echo()
    offer = inputs.RouteOffered(
        member_id=echo.member_id,
        grant_id="g_" + "1" * 32,
        grant_sha256="ab" * 32,
        catalog_digest="cd" * 32,
        permissions=("dispatch",),
        expires_at_ms=world.wall_ms,
    )
    person = replace(offer, member_id=world["desktop"].person.member_id)
    done = [e for put in (offer, offer, person) for e in world["desktop"].round(world.now, put)]
    assert len([e for e in done if isinstance(e, StoreEvent)]) == 1
    world.settle()
    route = world["server"].machine.state.routes[echo.member_id]
    assert route.target_install_id == echo.install_id
    world.do("desktop", "room.disbanded", {})
    before = len(world["desktop"].disk.events)
    world["desktop"].round(world.now, replace(offer, grant_id="g_" + "2" * 32))
    assert len(world["desktop"].disk.events) == before
