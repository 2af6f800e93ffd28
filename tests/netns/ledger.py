"""Nothing acknowledged is lost, whatever is killed or cut: the run and its command.

    python -m tests.netns.ledger [--events 10000] [--kills 5] [--cuts 16] [--rate 60] [--seed N]

Three nodes on three machines share one room. Senders at all three offer events through the SDK;
meanwhile every node is killed (-9) again and again, roads are cut and healed, processes freeze. An
external ledger holds what was promised. At the end all is healed, all logs are compared with
the ledger and with each other, and their bytes are verified by a script of its own. Prints a
table; exits 0 only if every promise was kept. Needs root.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from mesh.client import Connection, OutcomeUnknown
from mesh.client.rooms import new_event_id
from tests.netns import audit
from tests.netns.account_book import AccountBook
from tests.netns.faults import KINDS, Faults
from tests.netns.machines import nodes_on, shared_room
from tests.netns.network import Network
from tests.netns.workload import Progress, Reader, Sender
from tests.processes.node_process import NodeProcess

SENDERS_PER_NODE: Final = 6
MACHINES: Final = ("laptop", "desktop", "tower")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long, how hard. `events_per_s` is offered by all senders together."""

    events: int
    kills: int
    cuts: Sequence[str]
    events_per_s: float
    seed: int
    run_s: float
    settle_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run has shown."""

    plan: Plan
    book: AccountBook
    faults: Faults
    findings: audit.Findings
    verified: str
    log_events: int
    workload_s: float
    settled_s: float

    def table(self) -> str:
        """For people."""
        book, found = self.book, self.findings
        only_queued = book.queued - book.acknowledged.keys()
        rows = [
            ("events offered", len(book.offered)),
            ("offered a second", f"{len(book.offered) / self.workload_s:.1f}"),
            ("acknowledged", len(book.acknowledged)),
            ("queued, then in the log", len(only_queued - set(found.unanswered))),
            ("refused", len(book.refused)),
            ("sent again under the same id", book.retries),
            ("kills -9", _counted(self.faults.kills)),
            ("kills -9 while starting", self.faults.kills_at_start),
            ("cuts and freezes", _counted(self.faults.cuts)),
            ("missing", len(found.missing)),
            ("twice", len(found.twice)),
            ("at another place than said", len(found.moved)),
            ("without an outcome", len(found.unanswered)),
            ("of unknown origin", len(found.foreign)),
            ("out of their sender's order", len(found.unordered)),
            ("events in each of the three logs", self.log_events),
            ("logs", "identical"),
            ("verified by the script", self.verified),
            ("workload, s", f"{self.workload_s:.1f}"),
            ("until all logs were equal, s", f"{self.settled_s:.1f}"),
            ("seed", self.plan.seed),
        ]
        return "\n".join(f"{name:<34}{value}" for name, value in rows)


class Ledger:
    """One run, on a network and in a folder that the caller made."""

    def __init__(self, plan: Plan, network: Network, folder: Path) -> None:
        self._plan = plan
        self._network = network
        self._folder = folder

    async def run(self) -> Outcome:
        """Run to the end. Raises AssertionError when the logs are not what they must be."""
        async with nodes_on(self._network, self._folder) as nodes:
            room_id = await shared_room(nodes)
            with AccountBook(self._folder / "ledger.jsonl") as book:
                outcome = await self._run_in(room_id, nodes, book)
            for node in nodes:
                assert not node.said, f"{node.name}: {node.said}"
                assert await node.stop() == 0, node.name
                assert not (faults := node.logged("error")), (node.name, faults)
        return outcome

    async def _run_in(
        self, room_id: str, nodes: Sequence[NodeProcess], book: AccountBook
    ) -> Outcome:
        plan = self._plan
        progress = Progress(plan.events)
        faults = Faults(
            self._network,
            nodes,
            progress,
            seed=plan.seed,
            events=plan.events,
            events_per_s=plan.events_per_s,
        )
        async with AsyncExitStack() as stack:
            connections = [await stack.enter_async_context(node.connected()) for node in nodes]
            readers = [
                Reader(name=node.name, node=connection, room_id=room_id)
                for node, connection in zip(nodes, connections, strict=True)
            ]
            async with asyncio.TaskGroup() as reading:
                tasks = [reading.create_task(reader.run()) for reader in readers]
                began_s = time.monotonic()
                async with asyncio.timeout(plan.run_s):
                    await self._offer(room_id, connections, book, progress, faults)
                offered_s = time.monotonic()
                async with asyncio.timeout(plan.settle_s):
                    await self._settle(room_id, connections, readers, book)
                settled_s = time.monotonic()
                for task in tasks:
                    task.cancel()
            findings, count = await self._compare(room_id, connections, readers, book)
            return Outcome(
                plan=plan,
                book=book,
                faults=faults,
                findings=findings,
                verified=await self._verify(room_id, nodes),
                log_events=count,
                workload_s=offered_s - began_s,
                settled_s=settled_s - offered_s,
            )

    async def _offer(
        self,
        room_id: str,
        connections: Sequence[Connection],
        book: AccountBook,
        progress: Progress,
        faults: Faults,
    ) -> None:
        """The workload, with the faults in it. All is healed and running when it returns."""
        senders = [
            Sender(
                f"{machine} {number}",
                connection,
                room_id,
                book=book,
                progress=progress,
                every_s=SENDERS_PER_NODE * len(connections) / self._plan.events_per_s,
            )
            for machine, connection in zip(self._network.machines, connections, strict=True)
            for number in range(1, SENDERS_PER_NODE + 1)
        ]
        async with asyncio.TaskGroup() as tasks:
            for sender in senders:
                tasks.create_task(sender.run())
            async with asyncio.TaskGroup() as failing:
                failing.create_task(faults.kill_each(self._plan.kills))
                failing.create_task(faults.cut_roads(self._plan.cuts))
            progress.are_faults_over = True
        self._network.heal()

    async def _settle(
        self,
        room_id: str,
        connections: Sequence[Connection],
        readers: Sequence[Reader],
        book: AccountBook,
    ) -> None:
        """Wait until all logs are equal: one last word of each node stands behind all it queued."""
        last = 0
        for machine, connection in zip(self._network.machines, connections, strict=True):
            event_id = new_event_id()
            book.offer(event_id, f"{machine} at the end")
            while event_id not in book.acknowledged:
                try:
                    answer = await connection.rooms.send(
                        room_id, "That was all.", event_id=event_id, wait_ms=10_000
                    )
                except OutcomeUnknown:
                    book.retry()
                else:
                    book.answer(event_id, answer)
            last = max(last, book.acknowledged[event_id].seq)
        for reader in readers:
            await reader.until(lambda reader: len(reader.events) >= last)

    async def _compare(
        self,
        room_id: str,
        connections: Sequence[Connection],
        readers: Sequence[Reader],
        book: AccountBook,
    ) -> tuple[audit.Findings, int]:
        names = self._network.machines
        logs = {
            name: await audit.whole_log(connection, room_id)
            for name, connection in zip(names, connections, strict=True)
        }
        shown = {f"the reader at {reader.name}": reader.events for reader in readers}
        audit.assert_identical({**logs, **shown})
        refused: dict[str, str] = {}
        for connection in connections:
            refused |= await audit.refusals(connection, room_id)
        events = logs[names[0]]
        return audit.judge(book, events, refused), len(events)

    async def _verify(self, room_id: str, nodes: Sequence[NodeProcess]) -> str:
        """The bytes on the three disks are the same, and the script finds them sound."""
        exports = [audit.exported(node.home, room_id) for node in nodes]
        assert all(export == exports[0] for export in exports), "the databases differ"
        paths = [self._folder / f"{node.name}.jsonl" for node in nodes]
        for path, export in zip(paths, exports, strict=True):
            path.write_bytes(export)
        return await audit.verified(paths)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def plan_of(arguments: Sequence[str]) -> Plan:
    """The plan that a command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.netns.ledger")
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=5, help="of each of the three nodes")
    parser.add_argument("--cuts", type=int, default=16)
    parser.add_argument("--rate", type=float, default=60.0, help="events offered a second")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    given = parser.parse_args(arguments)
    return Plan(
        events=given.events,
        kills=given.kills,
        cuts=tuple(islice(cycle(KINDS), given.cuts)),
        events_per_s=given.rate,
        seed=given.seed,
        run_s=120.0 + 4 * given.events / given.rate,
        settle_s=120.0,
    )


def main() -> int:
    """The command. Returns its exit status."""
    plan = plan_of(sys.argv[1:])
    print(f"seed {plan.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="rm-") as folder, Network(MACHINES) as network:
        outcome = asyncio.run(Ledger(plan, network, Path(folder)).run())
    print(outcome.table())
    return 0 if outcome.findings.are_none else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
