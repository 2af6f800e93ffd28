"""Who hears whom in a real call: one engine, several participants, tones for voices."""

import time
from itertools import pairwise

from audio.events import Joined, Speaking
from audio.rtp import Unwrapped
from tests.live_audio.rooms import room


async def test_one_talker_is_passed_on_to_everybody_else() -> None:
    async with room() as here:
        anna, ben, cleo = [await here.join(name) for name in ("anna", "ben", "cleo")]
        await here.told.until(Joined, participant_id="cleo")
        anna.say(440)
        await ben.until_hears(440)
        await cleo.until_hears(440)
        await here.told.until(Speaking, talkers=("anna",))
        stats = here.engine.stats("room").stats
        assert stats.mode == "passing" and stats.ticks == 0
        assert anna.heard == [], "nobody hears himself"


async def test_three_talkers_are_mixed_and_nobody_hears_himself() -> None:
    async with room() as here:
        names = ("anna", "ben", "cleo", "dora")
        anna, ben, cleo, dora = [await here.join(name) for name in names]
        for one, hz in ((anna, 440), (ben, 700), (cleo, 1_000)):
            one.say(hz)
        await dora.until_hears(440, 700, 1_000)
        await anna.until_hears(700, 1_000)
        await anna.assert_not_heard(440)
        await ben.assert_not_heard(700)
        assert here.engine.stats("room").stats.mode == "mixing"


async def test_a_listeners_stream_is_one_whoever_talks() -> None:
    async with room() as here:
        anna, ben, cleo = [await here.join(name) for name in ("anna", "ben", "cleo")]
        anna.say(440)
        await cleo.until_hears(440)
        ben.say(700)
        await cleo.until_hears(440, 700)
        anna.say(None)
        await here.told.until(Speaking, talkers=("ben",))
        await cleo.until_hears(700)
        packets = [one.packet for one in cleo.heard]
        assert len({packet.ssrc for packet in packets}) == 1
        seqs, ats = Unwrapped(16), Unwrapped(32)
        numbers = [seqs.extend(packet.seq) for packet in packets]
        times = [ats.extend(packet.at_samples) for packet in packets]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert all(later - earlier >= 960 for earlier, later in pairwise(times))


async def test_mute_acts_at_once_and_is_heard_as_silence() -> None:
    async with room() as here:
        anna, ben = [await here.join(name) for name in ("anna", "ben")]
        anna.say(440)
        await ben.until_hears(440)
        muted_s = time.monotonic()
        here.engine.mute("room", "anna", is_muted=True)
        assert await ben.until_silent() - muted_s < 0.1
        await ben.assert_not_heard(440)
        here.engine.mute("room", "anna", is_muted=False)
        await ben.until_hears(440)


async def test_rooms_do_not_hear_each_other() -> None:
    async with room() as here:
        anna = await here.join("anna")
        ben = await here.join("ben", call="other")
        cleo = await here.join("cleo")
        anna.say(440)
        await cleo.until_hears(440)
        await ben.assert_not_heard(440)
        assert ben.heard == []


async def test_reports_tell_the_sender_of_its_stream() -> None:
    async with room() as here:
        anna, ben = [await here.join(name) for name in ("anna", "ben")]
        anna.say(440)
        await ben.until_hears(440)
        await anna.until(lambda: any(
            block.ssrc == anna.ssrc for report in anna.reports for block in report.about
        ))
        await ben.until(lambda: any(report.sender is not None for report in ben.reports))
