"""Everything together, without a socket: a room of two, an agent, a cut and a restart."""

from pathlib import Path

from tests.node.puppets import says
from tests.service.installs import a_house


async def test_two_installs_talk_and_an_agent_answers_across(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        await guest.mounts_puppet("helper", says("here"))
        room_id = await host.founds("Den")
        await guest.joins(host, room_id, "helper")
        await guest.says(room_id, "@helper are you there?")
        await guest.until(room_id, lambda state: not state.open_turns())
        await guest.catches_up(host, room_id)
        assert await guest.texts(room_id) == ["@helper are you there?", "here"]


async def test_after_a_restart_everything_is_there(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        await guest.mounts_puppet("helper", says("here"))
        room_id = await host.founds("Den")
        await guest.joins(host, room_id, "helper")
        for install in (host, guest):
            await install.stop()
        for install in (host, guest):
            await install.start()
        await host.says(room_id, "@helper again")
        await host.until(room_id, lambda state: bool(state.turns) and not state.open_turns())
        assert await host.texts(room_id) == ["@helper again", "here"]
        await guest.catches_up(host, room_id)
        assert await guest.events(room_id) == await host.events(room_id)
