"""Two whole installs share a room: over a cut link, a restart, and a long absence."""

from pathlib import Path

from mesh.core.limits import LINK_QUEUE_BYTES_MAX
from tests.node.nodes import a_world


async def test_two_installs_share_a_room(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        result = await guest.joins(host, room_id, lend=["echo"])
        seen = guest.follows(room_id)
        await host.says(room_id, "hello")
        await guest.says(room_id, "hello to you")
        await seen.until(lambda s: s.texts == ["hello", "hello to you"])
        await host.sees_agent(room_id, "echo")
        await host.says(room_id, "@echo and you")
        await seen.event("message.member", text="and you")
        assert seen.all("member.joined")[0].payload["member"]["member_id"] == result["member_id"]
        await host.relinks_to(guest)
        await host.stop()
        await host.start()
        await host.says(room_id, "back again")
        await seen.until(lambda s: s.texts[-1] == "back again")
        assert seen.seqs == list(range(1, len(seen.seqs) + 1))
        await guest.has_the_log_of(host, room_id)


async def test_a_long_room_of_long_messages_is_caught_up_on_over_one_link(tmp_path: Path) -> None:
    """It is more than a link's queue holds, and no link is cut for it."""
    count, long = 50, "x" * 180_000
    assert count * len(long) > LINK_QUEUE_BYTES_MAX
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        await guest.stop()
        for number in range(count):
            await host.says(room_id, f"{number}{long}")
        await guest.start()
        assert len(await guest.has_the_log_of(host, room_id)) == 3 + count
        for install in (host, guest):
            assert 'reason="slow_reader"' not in await install.metrics()
