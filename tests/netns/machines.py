"""Nodes on the machines of a network, and rooms that they share by real invitations."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from mesh.client.invitations import new_request_id
from tests.netns.door import Door
from tests.netns.network import Network
from tests.processes.node_process import NodeProcess


@asynccontextmanager
async def nodes_on(network: Network, folder: Path) -> AsyncIterator[Sequence[NodeProcess]]:
    """A node on every machine, open to the others, with a home of its own in the folder."""
    async with AsyncExitStack() as stack:
        nodes: list[NodeProcess] = []
        for machine in network.machines:
            door = await stack.enter_async_context(Door(partial(network.socket, machine)))
            node = NodeProcess(
                folder / machine,
                machine,
                port=door.port,
                lan=True,
                prefix=network.prefix(machine),
            )
            stack.push_async_callback(node.end)
            nodes.append(node)
        async with asyncio.TaskGroup() as starting:
            for node in nodes:
                starting.create_task(node.start())
        yield nodes


async def join(
    host: NodeProcess, guest: NodeProcess, room_id: str, profiles: Sequence[str] = ()
) -> dict[str, Any]:
    """`host` invites and `guest` accepts, lending these profiles; the receipt's result."""
    async with host.connected() as inviting:
        invitation = await inviting.invitations.create(room_id)
    assert invitation["reach"] == "lan", invitation
    lend = [{"profile": name, "permissions": ["dispatch", "stop"]} for name in profiles]
    async with guest.connected() as joining:
        receipt = await joining.invitations.accept(
            invitation["link"], request_id=new_request_id(), lend=lend
        )
    assert receipt["status"] == "applied", receipt
    result: dict[str, Any] = receipt["result"]
    return result


async def shared_room(nodes: Sequence[NodeProcess]) -> str:
    """A room that the first node founds; each further one is invited by the one before it."""
    async with nodes[0].connected() as founder:
        room = await founder.rooms.create("Ledger", policy={"invite": "members"})
    room_id = str(room["room_id"])
    for host, guest in pairwise(nodes):
        await join(host, guest, room_id)
    return room_id
