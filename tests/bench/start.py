"""From the command to the first answer, and what an idle node weighs."""

import asyncio
import statistics
import time
from pathlib import Path

from tests.bench.nodes import node
from tests.bench.report import Report, Row

_HEAVY = ("aiortc", "av", "numpy")


async def start(folder: Path, report: Report, times: int) -> None:
    """Warm bytecode and an existing home; the median of `times` starts."""
    async with node(folder, "start"):
        pass
    taken, resident = [], []
    for _ in range(times):
        began = time.perf_counter()
        async with node(folder, "start") as started:
            taken.append(time.perf_counter() - began)

            resident.append(started.resident_mb)
            loaded = await asyncio.to_thread(Path(f"/proc/{started.process.pid}/maps").read_text)
            assert not any(f"/{name}/" in loaded for name in _HEAVY), "a heavy module is loaded"
    report.add(Row(name="start to ready", value=statistics.median(taken), unit="s", goal=1.0))
    report.add(
        Row(name="resident memory, idle", value=statistics.median(resident), unit="MB", goal=80)
    )
