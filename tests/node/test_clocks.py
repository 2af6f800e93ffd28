"""Order is the host's, whatever the clocks of authors say (situation 31)."""

from pathlib import Path

import pytest

from mesh.core.limits import STAMP_AHEAD_MS
from tests.node.nodes import a_world

HOUR_MS = 3_600_000
TEN_MINUTES_MS = 600_000


@pytest.mark.parametrize("host_is_ahead", [True, False])
async def test_ten_messages_from_wrong_clocks_stand_in_the_order_of_their_seq(
    tmp_path: Path, host_is_ahead: bool
) -> None:
    """One clock is an hour ahead, the other ten minutes behind; a third is right."""
    async with a_world(tmp_path) as world:
        early, late = world.not_started("early"), world.not_started("late")
        early.clock.ahead_ms, late.clock.ahead_ms = HOUR_MS, -TEN_MINUTES_MS
        for install in (early, late):
            await install.start()
        third = await world.install("right")
        host, guest = (early, late) if host_is_ahead else (late, early)
        room_id = await host.founds("Den")
        for install in (guest, third):
            await install.joins(host, room_id)
        speakers = [early, late, third]
        said = [f"number {n} by {speakers[n % 3].name}" for n in range(10)]
        seen = third.follows(room_id)
        for number, text in enumerate(said):
            await speakers[number % 3].says(room_id, text)
        await seen.until(lambda s: s.texts == said)
        assert seen.seqs == sorted(seen.seqs)
        for install in (guest, third):
            assert await install.has_the_log_of(host, room_id) == await host.log(room_id)
        events = [e.event for e in seen.all("message.user")]
        admitted = [e["admitted_at"] for e in events]
        assert admitted == sorted(admitted)
        assert max(admitted) - min(admitted) < TEN_MINUTES_MS  # one clock: the host's
        flagged = {e["actor"]["install_id"] for e in events if e["clock_ahead_ms"]}
        ahead = {guest.install_id, third.install_id} if not host_is_ahead else set()
        assert flagged == ahead
        assert all(e["clock_ahead_ms"] in {0, e["created_at"] - e["admitted_at"]} for e in events)
        assert all(e["clock_ahead_ms"] == 0 or e["clock_ahead_ms"] > STAMP_AHEAD_MS for e in events)


async def test_a_clock_that_goes_back_takes_no_time_back(tmp_path: Path) -> None:
    """The host's clock is set back an hour: times in the log stay in order, seqs without a gap."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        for ahead_ms in (0, HOUR_MS, 0, -HOUR_MS):
            host.clock.ahead_ms = ahead_ms
            await host.says(room_id, f"at {ahead_ms}")
        log = await host.log(room_id)
        assert [e["seq"] for e in log] == [1, 2, 3, 4, 5]
        admitted = [e["admitted_at"] for e in log]
        assert admitted == sorted(admitted)
        assert [e["created_at"] for e in log] != sorted(e["created_at"] for e in log)
