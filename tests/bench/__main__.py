"""Run the benches: `python -m tests.bench [--quick]`."""

import argparse
import asyncio
import platform
import sys
import tempfile
from pathlib import Path

from tests.bench import disk, readers, sends, start
from tests.bench.nodes import pair
from tests.bench.report import Report, Row


async def run(folder: Path, quick: bool) -> Report:
    """All benches in one run, against the same disk."""
    report = Report()
    measured = await asyncio.to_thread(disk.measure, folder, 1.0 if quick else 4.0)
    report.add(Row(name="one fdatasync", value=measured.fdatasync_ms, unit="ms"))
    report.add(Row(name="bare group commit of 32", value=measured.group_rows_per_s, unit="rows/s"))
    await start.start(folder / "start", report, 1 if quick else 5)
    async with pair(folder) as two:
        await sends.throughput(two, measured, report, 400 if quick else 8_000)
        await sends.latency(two, measured, report, 40 if quick else 400)
        await readers.subscribers(two, report, 20 if quick else 200)
        await readers.log_pages(two, report)
    return report


def main() -> int:
    """Print a row per figure. Without --quick, a goal missed by more than twice is an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    print(f"{platform.machine()}, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory(prefix="roommesh-bench-", dir=".") as folder:
        report = asyncio.run(run(Path(folder).resolve(), quick))
    return 0 if quick else min(1, report.missed_by_far())


if __name__ == "__main__":
    sys.exit(main())
