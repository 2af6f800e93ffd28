"""The short run of the ledger: every node is killed once, roads are cut in three ways."""

from pathlib import Path

import pytest

from tests.netns.ledger import Ledger, Plan
from tests.netns.network import Network

PLAN = Plan(
    events=400,
    kills=1,
    cuts=("road", "to the host", "host's cable"),
    events_per_s=60.0,
    seed=1,
    run_s=45.0,
    settle_s=30.0,
)


@pytest.mark.timeout(100)
async def test_nothing_acknowledged_is_lost(network: Network, tmp_path: Path) -> None:
    outcome = await Ledger(PLAN, network, tmp_path).run()
    print(outcome.table())
    assert outcome.findings.are_none, outcome.table()
    assert sum(outcome.faults.kills.values()) == 3
    assert sum(outcome.faults.cuts.values()) == 3
    assert len(outcome.book.offered) >= PLAN.events
    assert len(outcome.book.acknowledged) > PLAN.events // 4
    assert len(outcome.book.offered) / outcome.workload_s >= 20
