"""An agent answers once, from what it has been given once, and may have nothing to say."""

from pathlib import Path

import pytest

from mesh.core.link_messages import LinkMessage, Propose, TurnDispatch, TurnReport
from tests.node.followed import eventually
from tests.node.nodes import Install, a_world
from tests.node.puppets import Puppet, says

PASSES = ["", "   \n", "pass", "PASS.", "NO_REPLY", "  no_reply \n", "No reply.", "`pass`"]


class DeafHome:
    """A home that hears nothing of an answer: it drops it with the link, so many times."""

    def __init__(
        self, patch: pytest.MonkeyPatch, home: Install, other: Install, times: int
    ) -> None:
        self.dispatched = 0
        self.dropped = 0
        send, deliver = home.links.send, home.links._on_message

        def counting_send(install_id: str, message: LinkMessage) -> bool:
            self.dispatched += isinstance(message, TurnDispatch)
            return send(install_id, message)

        def deaf_deliver(install_id: str, message: LinkMessage) -> None:
            if self.dropped < times and isinstance(message, Propose | TurnReport):
                self.dropped += 1
                home.tears_the_link_to(other)
                return
            deliver(install_id, message)

        patch.setattr(home.links, "send", counting_send)
        patch.setattr(home.links, "_on_message", deaf_deliver)


async def test_a_turn_whose_answer_is_lost_is_answered_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Situation 15: the home drops what the target says, and dispatches again and again."""
    async with a_world(tmp_path) as world:
        home, target = await world.installs("desktop", "laptop")
        puppet = await target.mounts("helper", says("the answer"))
        room_id = await home.founds("Den")
        await target.joins(home, room_id, lend=["helper"])
        await home.sees_agent(room_id, "helper")
        deaf = DeafHome(monkeypatch, home, target, times=4)
        await home.relinks_to(target)  # what is patched holds from the next link on
        seen = home.follows(room_id)
        await home.says(room_id, "@helper go on")
        await seen.event("turn.settled")
        assert deaf.dropped == 4 and deaf.dispatched >= 3
        assert len(puppet.asked) == 1
        await home.says(room_id, "@helper again")
        await seen.until(lambda s: len(s.all("turn.settled")) == 2)
        assert seen.texts == ["@helper go on", "the answer", "@helper again", "the answer"]
        assert len(seen.all("turn.admitted")) == len(puppet.asked) == 2


async def test_a_member_is_given_each_event_once_over_fifty_reconnections(tmp_path: Path) -> None:
    """Situation 23: links, readers from cursor 0 and restarts add nothing to a context."""
    async with a_world(tmp_path) as world:
        home, target = await world.installs("desktop", "laptop")
        puppet = await target.mounts("helper", Puppet())
        room_id = await home.founds("Den")
        await target.joins(home, room_id, lend=["helper"])
        await home.sees_agent(room_id, "helper")
        seen = home.follows(room_id)

        async def ask(number: int) -> None:
            await home.says(room_id, f"@helper number {number}")
            await seen.until(lambda s: len(s.all("turn.settled")) == number)

        await home.says(room_id, "early")
        await ask(1)
        for count in range(50):
            await home.relinks_to(target)
            if count % 10 == 0:
                again = target.follows(room_id, since_seq=0)
                await again.until(lambda s: len(s.events) >= 8)
        await home.says(room_id, "between")
        await ask(2)
        await target.stop()
        await home.says(room_id, "while away")
        await target.start()
        await ask(3)
        assert len(puppet.lines) == len(set(puppet.lines))
        said = [e["seq"] for e in await home.log(room_id) if e["kind"].startswith("message.")]
        assert puppet.lines == said[:-1]  # all but its own last answer


@pytest.mark.parametrize("word", PASSES)
async def test_nothing_to_say_is_a_state_and_no_message(tmp_path: Path, word: str) -> None:
    """Situation 38: the token is never forwarded and wakes nobody."""
    async with a_world(tmp_path) as world:
        home = await world.install("desktop")
        quiet = await home.mounts("quiet", says(word))
        other = await home.mounts("other", Puppet())
        room_id = await home.founds("Den", "quiet", "other")
        await home.sees_agent(room_id, "quiet")
        seen = home.follows(room_id)
        await home.says(room_id, "@quiet anything?")
        passed = await seen.event("turn.passed")
        assert len(quiet.asked) == 1 and not other.asked
        assert not seen.all("message.member")
        state = await eventually(
            lambda: home.sdk.rooms.state(room_id), lambda state: bool(state["turns"])
        )
        assert [t["state"] for t in state["turns"]] == ["passed"]
        assert state["turns"][0]["turn_id"] == passed.payload["turn_id"]
