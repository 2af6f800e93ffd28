"""A network of three machines for each test, gone afterwards whatever the test did."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.netns.machines import nodes_on
from tests.netns.network import Network
from tests.processes.node_process import NodeProcess

MACHINES = ("laptop", "desktop", "tower")


@pytest.fixture
def network() -> Iterator[Network]:
    """Three machines on one switch."""
    with Network(MACHINES) as built:
        yield built


@dataclass(frozen=True, slots=True, kw_only=True)
class Three:
    """Three nodes, each on a machine of its own."""

    network: Network
    a: NodeProcess
    b: NodeProcess
    c: NodeProcess


@pytest.fixture
async def three(network: Network, tmp_path: Path) -> AsyncIterator[Three]:
    """Nodes on the three machines, strangers to each other."""
    async with nodes_on(network, tmp_path) as (a, b, c):
        yield Three(network=network, a=a, b=b, c=c)
