"""Agents that answer each other stop: one purse per root, wherever they live (35 and 36)."""

from mesh.core.limits import BUDGET_PER_ROOT
from mesh.core.policy import Policy
from tests.core.world import World


def talk(world: World, homes: dict[str, str], following: dict[str, str], root: str) -> list[str]:
    """Every agent answers at once, mentioning the next, until nobody is asked any more.

    Returns the homes of the answers, in order.
    """
    said: list[str] = []
    for _ in range(100):
        state = world[world.host].machine.state
        turns = [t for t in state.open_turns() if t.root == root]
        if not turns:
            return said
        for turn in turns:
            handle = state.members[turn.member_id].handle
            world.answer(homes[handle], turn.turn_id, f"thank you, @{following[handle]}!")
            said.append(homes[handle])
    raise AssertionError("they never stop")


def stopped(world: World, name: str) -> list[str]:
    """The sentences with which chains were stopped, as an install shows them."""
    return [
        str(e.payload["message"])
        for e in world[name].disk.events
        if e.kind == "turn.failed" and e.payload["reason"] == "budget_spent"
    ]


def test_two_that_thank_each_other_stop_at_the_budget() -> None:
    world = World("desktop", "laptop")
    world.seat("desktop", "ann")
    world.seat("laptop", "bob")
    homes, following = {"ann": "desktop", "bob": "laptop"}, {"ann": "bob", "bob": "ann"}
    world.say("desktop", "@ann thank @bob, please", event_id="one")
    assert len(talk(world, homes, following, "one")) == BUDGET_PER_ROOT
    for name in world.nodes:
        assert stopped(world, name) == [
            "Stopped: loop. 8 agent answers to one message are enough."
        ] * len(stopped(world, name)) and stopped(world, name)
    # A person's message is a new root, with a purse of its own.
    world.say("laptop", "once more, @bob", event_id="two")
    assert len(talk(world, homes, following, "two")) == BUDGET_PER_ROOT


def test_a_triangle_over_three_machines_spends_one_purse() -> None:
    world = World("desktop", "laptop", "server")
    homes = {"ann": "desktop", "bob": "laptop", "cat": "server"}
    for handle, name in homes.items():
        world.seat(name, handle)
    following = {"ann": "bob", "bob": "cat", "cat": "ann"}
    world.say("server", "@ann begin", event_id="one")
    said = talk(world, homes, following, "one")
    assert said == (["desktop", "laptop", "server"] * 3)[:BUDGET_PER_ROOT]
    assert len(stopped(world, "laptop")) == 1


def test_a_crowd_spends_one_purse() -> None:
    """Everybody asked by everybody: the count bounds what depth alone would not."""
    world = World("desktop", policy=Policy(budget=5))
    crowd = {f"a{n}": "desktop" for n in range(4)}
    for handle in crowd:
        world.seat("desktop", handle)
    world.say("desktop", "@all hello", event_id="one")
    assert len(talk(world, crowd, dict.fromkeys(crowd, "all"), "one")) == 5


def test_depth_and_root_travel_with_every_answer() -> None:
    world = World("desktop", "laptop")
    world.seat("desktop", "ann")
    world.seat("laptop", "bob")
    world.say("desktop", "@ann", event_id="one")
    talk(world, {"ann": "desktop", "bob": "laptop"}, {"ann": "bob", "bob": "ann"}, "one")
    causes = [e.proposal.cause for e in world["laptop"].disk.events if e.kind == "message.member"]
    assert [(c.root, c.hop) for c in causes if c] == [
        ("one", hop) for hop in range(1, BUDGET_PER_ROOT + 1)
    ]
