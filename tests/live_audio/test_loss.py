"""A bad network in real time: the delay does not grow, and the words arrive.

The minute-long figures stand in tests/audio/test_quality.py (made-up clock) and in the bench; here
a real transport, a real clock and the relay are shown to work together.
"""

import asyncio
import statistics
from itertools import pairwise

import pytest

from tests.audio.impaired_path import ImpairedPath, Weather
from tests.audio.participant import Participant
from tests.live_audio.rooms import Room, room


async def arrivals(here: Room, path: ImpairedPath) -> tuple[Participant, Participant]:
    """A talker behind a bad network, a second one, and who listens to their mix."""
    anna, ben = await here.join("anna", path=path), await here.join("ben")
    cleo = await here.join("cleo", keeps_s=60)
    anna.say(440)
    ben.say(700)
    await cleo.until_hears(440, 700, deadline_s=15)
    return anna, cleo


@pytest.mark.parametrize("weather", [
    Weather(loss=0.05), Weather(loss=0.20), Weather(loss=0.03, burst=0.7),
    Weather(jitter_s=0.06, loss=0.05, reorder=0.05, double=0.05),
], ids=["5 %", "20 %", "bursts", "jitter, reorder, double"])
async def test_a_bad_network_neither_silences_nor_delays(weather: Weather) -> None:
    """SITUATIONS 115."""
    async with room() as here, ImpairedPath(7, up=weather) as path:
        _, cleo = await arrivals(here, path)
        await asyncio.sleep(5)
        assert cleo.hears(440), "the tone is there after all that"
        stats = here.engine.stats("room").stats
        assert stats.mode == "mixing"
        (anna,) = [one for one in stats.peers if one.participant_id == "anna"]
        print(f"seed {path.seed}: lost {path.lost_share:.1%}, seen {anna.lost_in:.1%}, "
              f"concealed {stats.concealed}, recovered {stats.recovered}")
        if weather.loss:
            assert 0 < anna.lost_in < 2 * weather.loss + 0.15
        depth_s = stats.depth_ms / 1_000
        assert depth_s <= 0.120 + 1e-6
        if not weather.jitter_s:
            # A loaded machine is a jitter of its own; losses alone would stay below 40 ms.
            assert depth_s <= 0.080 + 1e-6


async def test_the_mix_is_even_for_its_listener() -> None:
    async with room() as here, ImpairedPath(3, up=Weather(loss=0.1)) as path:
        _, cleo = await arrivals(here, path)
        await asyncio.sleep(2)
        seqs = [one.packet.seq for one in cleo.heard[-80:]]
        steps = {(after - before) & 0xFFFF for before, after in pairwise(seqs)}
        assert steps == {1}, "losses on the way in are no gaps on the way out"
        gaps = [after.at_s - before.at_s for before, after in
                pairwise(cleo.heard[-80:])]
        assert statistics.median(gaps) < 0.03
