"""The network is what the other tests believe: cuts cut, one way or both, and nothing stays."""

import asyncio
import os
import socket as sockets
import subprocess
from pathlib import Path

from tests.netns.network import Network, remove_abandoned


def namespaces() -> set[str]:
    """The names of all network namespaces here."""
    folder = Path("/run/netns")
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def datagrams(network: Network, machine: str) -> sockets.socket:
    """A UDP socket on that machine, bound to its address and to one port."""
    made = network.socket(machine, sockets.SOCK_DGRAM)
    made.bind((network.address(machine), 4_000))
    made.settimeout(5.0)
    return made


def test_a_cut_road_loses_what_is_sent_on_it(network: Network) -> None:
    a, b = network.machines[:2]
    with datagrams(network, a) as at_a, datagrams(network, b) as at_b:
        to_a, to_b = (network.address(a), 4_000), (network.address(b), 4_000)
        at_a.sendto(b"before", to_b)
        at_b.sendto(b"before", to_a)
        assert at_b.recv(16) == at_a.recv(16) == b"before"
        network.cut_one_way(a, b)
        at_a.sendto(b"lost", to_b)
        at_b.sendto(b"passes", to_a)
        assert at_a.recv(16) == b"passes"
        network.cut(a, b)
        at_a.sendto(b"lost", to_b)
        at_b.sendto(b"lost", to_a)
        network.heal()
        at_a.sendto(b"healed", to_b)
        at_b.sendto(b"healed", to_a)
        assert at_b.recv(16) == at_a.recv(16) == b"healed"


def test_a_machine_without_its_cable_is_alone(network: Network) -> None:
    a, b, c = network.machines
    with datagrams(network, a) as at_a, datagrams(network, c) as at_c:
        to_c = (network.address(c), 4_000)
        # Whose hardware address is known is not waited for: what is lost is lost.
        at_a.sendto(b"before", to_c)
        assert at_c.recv(16) == b"before"
        network.unplug(c)
        at_a.sendto(b"lost", to_c)
        network.heal()
        network.cut(a, b)  # another road's cut is not ours
        at_a.sendto(b"healed", to_c)
        assert at_c.recv(16) == b"healed"


async def test_nobody_dials_a_machine_that_can_dial(network: Network) -> None:
    a, b = network.machines[:2]
    loop = asyncio.get_running_loop()
    network.refuse_dials(b)
    with network.socket(a) as listener, network.socket(b) as dialing:
        listener.bind((network.address(a), 0))
        listener.listen()
        async with asyncio.timeout(5.0):
            await loop.sock_connect(dialing, listener.getsockname())
            accepted, _ = await loop.sock_accept(listener)
        accepted.close()
    with network.socket(b) as listener, network.socket(a) as dialing:
        listener.bind((network.address(b), 0))
        listener.listen()
        try:
            async with asyncio.timeout(0.5):
                await loop.sock_connect(dialing, listener.getsockname())
        except TimeoutError:
            return
        raise AssertionError("it was dialed")


def test_nothing_stays_behind(network: Network) -> None:
    ours = {name for name in namespaces() if name.startswith(f"roommesh-{os.getpid()}-")}
    assert len(ours) == 1 + len(network.machines)
    command = (*network.prefix(network.machines[0]), "sh", "-c", "echo there; exec sleep 600")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as sleeper:
        assert sleeper.stdout is not None and sleeper.stdout.readline() == b"there\n"
        network.__exit__(None, None, None)
        assert sleeper.wait(5.0) == -9
    assert not ours & namespaces()


def test_what_a_killed_run_left_is_removed() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    name = f"roommesh-{gone.pid}-laptop"
    subprocess.run(["ip", "netns", "add", name], check=True)
    remove_abandoned()
    assert name not in namespaces()
