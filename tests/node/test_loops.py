"""Agents that answer each other stop, visibly, and go on when a person speaks (situation 35)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.core.limits import BUDGET_PER_ROOT
from tests.node.followed import Followed
from tests.node.nodes import Install, World, a_world
from tests.node.puppets import says
from tests.stub_model.process import StubModel


@pytest.fixture(scope="module")
def stub() -> Iterator[StubModel]:
    """A model server whose answers mention whoever spoke."""
    with StubModel() as server:
        yield server


async def two_that_thank(world: World, stub: StubModel) -> tuple[Install, Install, str]:
    """Two installs with a model each, in one room."""
    home, other = await world.installs("desktop", "laptop")
    for install, profile, whom in ((home, "ann", "bob"), (other, "bob", "ann")):
        await install.sdk.profiles.add(
            {
                "name": profile,
                "backend": "openai",
                "options": {"base_url": stub.url, "model": f"stub-chain:{whom}"},
            }
        )
    room_id = await home.founds("Den", "ann")
    await other.joins(home, room_id, lend=["bob"])
    await home.sees_agent(room_id, "ann")
    await home.sees_agent(room_id, "bob")
    return home, other, room_id


async def test_two_models_that_thank_each_other_stop_at_the_budget(
    tmp_path: Path, stub: StubModel
) -> None:
    """The chain ends with an event that says why, on both installs; a person starts another."""
    async with a_world(tmp_path) as world:
        home, other, room_id = await two_that_thank(world, stub)
        seen, beside = home.follows(room_id), other.follows(room_id)
        first = await home.says(room_id, "@ann please begin")
        stopped = await seen.event("turn.failed", reason="budget_spent")
        await beside.event("turn.failed", reason="budget_spent")
        assert stopped.payload["message"].startswith("Stopped: loop.")
        answers = seen.all("message.member")
        assert len(answers) == BUDGET_PER_ROOT
        assert {a.event["cause"]["root"] for a in answers} == {first["event_id"]}
        assert {a.event["actor"]["handle"] for a in answers} == {"ann", "bob"}
        await other.says(room_id, "enough; @bob once more")
        await seen.until(lambda s: len(s.all("message.member")) > BUDGET_PER_ROOT)
        await seen.until(lambda s: len(s.all("turn.failed", reason="budget_spent")) >= 2)
        assert len(seen.all("message.member")) <= 2 * BUDGET_PER_ROOT


async def test_a_triangle_spends_one_purse(tmp_path: Path) -> None:
    """The budget belongs to the root, not to a pair: three installs, A to B to C to A."""
    async with a_world(tmp_path) as world:
        installs = await world.installs("one", "two", "three")
        home = installs[0]
        for install, to in zip(installs, ("p2", "p3", "p1"), strict=True):
            name = f"p{installs.index(install) + 1}"
            await install.mounts(name, says(f"@{to} your turn"))
        room_id = await home.founds("Den", "p1", policy={"budget": 5})
        for number, guest in enumerate(installs[1:], 2):
            await guest.joins(home, room_id, lend=[f"p{number}"])
        for number in (1, 2, 3):
            await home.sees_agent(room_id, f"p{number}")
        seen = [install.follows(room_id) for install in installs]
        await installs[2].says(room_id, "@p1 begin")
        for followed in seen:
            await followed.event("turn.failed", reason="budget_spent")
            assert hops(followed) == [1, 2, 3, 4, 5]


def hops(seen: Followed) -> list[int]:
    """How deep each answer is."""
    return [answer.event["cause"]["hop"] for answer in seen.all("message.member")]
