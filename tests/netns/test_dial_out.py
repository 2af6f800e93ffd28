"""Situation 80: a guest whom nobody can dial, as behind a NAT, takes part in everything.

Its own connection to the host carries both ways: events and turns come to it, and after each side
was killed it is the guest that dials again.
"""

import pytest

from tests.netns.conftest import Three
from tests.netns.following import Following, following
from tests.netns.machines import join
from tests.processes.node_process import NodeProcess

pytestmark = pytest.mark.timeout(90)


async def asks(node: NodeProcess, room_id: str, text: str) -> None:
    """Ask the lent agent something, at that node."""
    async with node.connected() as connection:
        sent = await connection.rooms.send(room_id, f"@echo {text}")
    assert sent["accepted"], sent


async def is_answered(everywhere: tuple[Following, ...], text: str) -> None:
    """Wait until the agent's answer is shown everywhere, once."""
    for at in everywhere:
        await at.shows(f"@echo {text}", text)


async def test_a_guest_that_only_dials_out_gets_turns_and_events(three: Three) -> None:
    host, guest = three.a, three.b
    three.network.refuse_dials(guest.name)
    async with host.connected() as connection:
        room_id = (await connection.rooms.create("Den"))["room_id"]
    await join(host, guest, room_id, ["echo"])
    async with following(host, room_id) as at_host, following(guest, room_id) as at_guest:
        everywhere = (at_host, at_guest)
        await asks(host, room_id, "first")
        await is_answered(everywhere, "first")
        await host.kill()
        await host.restart()
        await asks(host, room_id, "second")
        await is_answered(everywhere, "second")
        await guest.kill()
        await guest.restart()
        await asks(host, room_id, "third")
        await is_answered(everywhere, "third")
        assert at_host.texts == at_guest.texts
        assert len(at_host.texts) == 6, at_host.texts
