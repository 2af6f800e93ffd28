"""RoomState: a function of the log, the same on every install that has the same log."""

import hashlib

import pytest

from mesh.core import ids, room
from mesh.core.errors import PeerFault
from mesh.core.event import Event
from mesh.core.invitation import InvitationState
from mesh.core.room import RoomState
from mesh.core.turn import TurnState
from tests.core.machines import Install, entropy
from tests.core.world import START_MS, World


def folded(world: World, upto: int | None = None) -> RoomState:
    """The host's log folded anew."""
    state = RoomState(world.room_id)
    for event in world[world.host].disk.events[:upto]:
        state.fold(event)
    return state


def as_text(state: RoomState) -> str:
    """Everything a state says, to be compared."""
    fields = vars(state) | {"budgets": vars(state.budgets), "_known": len(state._known)}
    return repr(fields)


def test_the_same_log_is_the_same_room() -> None:
    world = World("desktop", "laptop", "server")
    world.seat("laptop", "echo")
    world.say("server", "@echo hello")
    for name in world.nodes:
        assert as_text(world[name].machine.state) == as_text(folded(world)), name


def test_a_room_begins_with_what_its_creation_says() -> None:
    state = folded(World("desktop"))
    founder = state.person_of(Install(name="desktop").install_id)
    assert founder is not None and (founder.role, founder.handle) == ("owner", "desktop")
    assert (state.name, state.head.seq, state.head.epoch) == ("Den", 1, 0)
    assert state.authority_install_id == founder.install_id
    assert state.authority_key == founder.public_key
    assert state.voters == (f"{founder.install_id}#0",)
    assert state.created_at_ms == state.updated_at_ms == START_MS


def test_handles_are_made_unique_and_freed() -> None:
    """Situation 40: three agents of one name are three."""
    world = World("desktop", "laptop", "server")
    agents = [world.seat(name, "default") for name in ("desktop", "laptop", "server")]
    state = world["server"].machine.state
    handles = [state.members[a.member_id].handle for a in agents]
    assert handles == ["default", "default@laptop", "default@server"]
    assert len(state.handles()) == len(list(state.present()))
    world.do("desktop", "member.left", {"member_id": agents[0].member_id, "reason": "removed"})
    fresh = Install(name="laptop").agent("another").with_handle("DEFAULT")
    world.do(
        "laptop", "member.joined", {"member": fresh.to_seat()}, member_id=fresh.member_id
    )
    assert world["server"].machine.state.members[fresh.member_id].handle == "DEFAULT"


def test_renaming_muting_and_policy_are_folded() -> None:
    world = World("desktop", "laptop")
    guest = world["laptop"].person
    world.do("desktop", "room.renamed", {"name": "Lab"})
    world.do("desktop", "member.muted", {"member_id": guest.member_id, "muted": True})
    world.do("desktop", "policy.changed", {"policy": {"budget": 3}})
    state = world["laptop"].machine.state
    assert (state.name, state.policy.budget, state.policy.invite) == ("Lab", 3, "members")
    assert state.members[guest.member_id].muted
    assert state.revision == state.head.seq
    world.do("desktop", "member.muted", {"member_id": guest.member_id, "muted": False})
    assert not world["laptop"].machine.state.members[guest.member_id].muted


def test_who_leaves_takes_its_agents_along() -> None:
    world = World("desktop", "laptop")
    echo = world.seat("laptop", "echo")
    guest = world["laptop"].person
    world.do("laptop", "member.left", {"member_id": guest.member_id, "reason": "left"})
    state = world["desktop"].machine.state
    assert [m.handle for m in state.present()] == ["desktop"]
    assert state.members[echo.member_id].left_seq == state.members[guest.member_id].left_seq
    assert state.installs() == {Install(name="desktop").install_id}
    assert state.key_of(guest.install_id) == guest.public_key, "what it signed stays verifiable"


def test_an_agent_may_leave_alone() -> None:
    world = World("desktop", "laptop")
    echo = world.seat("laptop", "echo")
    world.do("laptop", "member.left", {"member_id": echo.member_id, "reason": "removed"})
    assert world["desktop"].machine.state.person_of(echo.install_id) is not None


def test_an_invitation_is_used_by_who_joined() -> None:
    world = World("desktop", "laptop")
    state = world["desktop"].machine.state
    (invitation,) = state.invitations.values()
    assert invitation.state(START_MS) is InvitationState.USED
    (used,) = invitation.redeemed
    assert used.display_name == "laptop"
    digest = hashlib.sha256(entropy("secret", invitation.invitation_id) * 2).hexdigest()
    assert invitation.secret_sha256 == digest


def test_a_turn_is_counted_where_its_chain_began() -> None:
    world = World("desktop", "laptop")
    world.seat("laptop", "echo")
    world.say("desktop", "@echo hello", event_id="root")
    state = world["laptop"].machine.state
    (turn,) = state.open_turns()
    assert (turn.root, turn.hop, turn.attempt, turn.state) == ("root", 1, 1, TurnState.QUEUED)
    assert state.budgets.spent("root") == 1
    assert turn.trigger_seq == state.head.seq - 1
    world.answer("laptop", turn.turn_id, "hello yourself")
    assert world["desktop"].machine.state.turns[turn.turn_id].state is TurnState.SETTLED


def test_closed_turns_are_forgotten_at_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_CLOSED_TURNS_KEPT", 3)
    world = World("desktop")
    echo = world.seat("desktop", "echo")
    for n in range(5):
        world.say("desktop", "@echo", event_id=f"e{n}")
        (turn,) = world["desktop"].machine.state.open_turns(echo.member_id)
        world.report("desktop", turn.turn_id, "passed")
    kept = [t.trigger_seq for t in world["desktop"].machine.state.turns.values()]
    assert len(kept) == 3 and min(kept) > 8


def test_an_event_is_found_by_its_key() -> None:
    world = World("desktop")
    world.say("desktop", "hello", event_id="e")
    state, (*_, event) = world["desktop"].machine.state, world["desktop"].disk.events
    key = ids.event_key(event.proposal.member_id, "e")
    assert state.known(key) == (event.seq, event.proposal.digest)
    assert state.known(ids.event_key(event.proposal.member_id, "f")) is None


def test_folding_refuses_what_does_not_follow() -> None:
    world = World("desktop")
    events: list[Event] = world["desktop"].disk.events
    world.say("desktop", "hello")
    state = folded(world, 1)
    before = as_text(state)
    with pytest.raises(PeerFault):
        state.fold(events[0])
    assert as_text(state) == before
    state.fold(events[1])
    with pytest.raises(PeerFault):
        state.fold(events[1])
