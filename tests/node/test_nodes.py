"""The harness itself: two installs share a room, over a cut link and a restart."""

from pathlib import Path

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
