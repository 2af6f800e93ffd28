"""What goes wrong: kills, cuts in every direction, pulled cables, frozen processes.

Two tasks do it at once, so that faults meet: one kills nodes and starts them again, the other cuts
roads and heals them. Both wait for the workload's progress, so that faults are spread over all of
it however fast the machine is. The order comes from a seed. At the end all roads are open and
all nodes run.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.netns.network import Network
from tests.netns.workload import Progress
from tests.processes.node_process import NodeProcess

# How often a node that starts again is killed once more before it is ready, and how soon.
_WHILE_STARTING: Final = 0.3
_STARTING_S: Final = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One way of cutting: `begin` and `end` are called once each; `length` is in events."""

    kind: str
    begin: Callable[[], None]
    end: Callable[[], None]
    length: int


class Faults:
    """The faults of one run, counted as they happen."""

    def __init__(
        self,
        network: Network,
        nodes: Sequence[NodeProcess],
        progress: Progress,
        *,
        seed: int,
        events: int,
        events_per_s: float,
    ) -> None:
        """The first of `nodes` hosts the room. `events` is how long the workload is."""
        self._network = network
        self._nodes = tuple(nodes)
        self._progress = progress
        self._random = random.Random(seed)
        self._events = events
        self._events_per_s = events_per_s
        self.kills: Counter[str] = Counter()
        self.kills_at_start = 0
        self.cuts: Counter[str] = Counter()

    async def kill_each(self, times: int) -> None:
        """Kill every node that often, spread over the workload; some stay dead for a while."""
        victims = [node for node in self._nodes for _ in range(times)]
        self._random.shuffle(victims)
        for number, node in enumerate(victims, 1):
            await self._progress.reach(number * self._events // (len(victims) + 1))
            await node.kill()
            self.kills[node.name] += 1
            absence = self._random.choice((0, 0, round(self._events_per_s * 1.5)))
            await self._progress.reach(self._progress.answered + absence)
            if self._random.random() < _WHILE_STARTING:
                await node.launch()
                await asyncio.sleep(self._random.uniform(0, _STARTING_S))
                await node.kill()
                self.kills_at_start += 1
            await node.restart()

    async def cut_roads(self, kinds: Sequence[str]) -> None:
        """Make these cuts one after the other, spread over the workload."""
        for number, kind in enumerate(kinds):
            await self._progress.reach((2 * number + 1) * self._events // (2 * len(kinds)))
            cut = self._cut(kind)
            cut.begin()
            self.cuts[cut.kind] += 1
            await self._progress.reach(self._progress.answered + cut.length)
            cut.end()

    def _cut(self, kind: str) -> Cut:
        """The cut of that kind, at a copy that chance picks."""
        host = self._nodes[0]
        copy = self._random.choice(self._nodes[1:])
        short, long = (round(self._events_per_s * s) for s in (2, 30))
        network, heal = self._network, self._network.heal
        made: dict[str, tuple[Callable[[], None], Callable[[], None], int]] = {
            "road": (lambda: network.cut(host.name, copy.name), heal, short),
            "to the host": (lambda: network.cut_one_way(copy.name, host.name), heal, short),
            "from the host": (lambda: network.cut_one_way(host.name, copy.name), heal, short),
            "copy's cable": (lambda: network.unplug(copy.name), heal, short),
            "host's cable": (lambda: network.unplug(host.name), heal, short),
            # Longer than a link may be silent: both ends give it up and dial again.
            "road, for long": (lambda: network.cut(host.name, copy.name), heal, long),
            "frozen copy": (lambda: _freeze(copy), lambda: _thaw(copy), short),
            "frozen host": (lambda: _freeze(host), lambda: _thaw(host), short),
        }
        begin, end, length = made[kind]
        return Cut(kind=kind, begin=begin, end=end, length=length)


KINDS: Final = (
    "road", "to the host", "from the host", "copy's cable", "host's cable", "frozen copy",
    "frozen host", "road, for long",
)


def _freeze(node: NodeProcess) -> None:
    if node.is_running:
        node.freeze()


def _thaw(node: NodeProcess) -> None:
    """A node that was killed while it was frozen needs no thawing: its successor is not frozen."""
    if node.is_running:
        node.thaw()
