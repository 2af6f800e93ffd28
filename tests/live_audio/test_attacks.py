"""Bad media in a real call (ATTACKS 45, 48; SITUATIONS 99, 106, 107): bounded and forgotten."""

import asyncio
import gc
import os
import random
import resource
import threading
import time
from pathlib import Path

import pytest

from audio import rtp
from audio.errors import OfferRefused
from audio.events import Closed
from audio.limits import PACKETS_BURST_MAX, PACKETS_PER_S_MAX
from audio.mix import level_dbov
from tests.audio.offers import audio_line, offer
from tests.audio.participant import Participant, Script
from tests.live_audio.rooms import room


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident_kib() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


async def test_a_flood_is_cut_and_the_others_hear_on() -> None:
    async with room() as here:
        anna, ben, mallory = [await here.join(name) for name in ("anna", "ben", "mallory")]
        anna.say(440)
        await ben.until_hears(440)
        begun_s = time.monotonic()
        for burst in range(20):
            for k in range(200):
                mallory.transport.send_rtp(rtp.serialize(rtp.RtpPacket(
                    payload_type=111, seq=(burst * 200 + k) & 0xFFFF, at_samples=k * 960,
                    ssrc=mallory.ssrc, payload=b"\x08" + os.urandom(40), level_dbov=0), level_id=1))
            await asyncio.sleep(0.02)
        await ben.until_hears(440)
        (stats,) = [one for one in here.engine.stats("room").stats.peers
                    if one.participant_id == "mallory"]
        # The kernel loses a part of the flood itself; of the rest no more than the budget passes.
        allowed = PACKETS_BURST_MAX + (time.monotonic() - begun_s) * PACKETS_PER_S_MAX
        assert 0 < stats.packets_in <= allowed
        assert stats.dropped > 0


async def test_random_opus_and_odd_sizes_are_never_full_scale_noise() -> None:
    chance = random.Random(3)
    sizes = (1, 2, 3, 40, 400, 1_200)
    script = Script(uses_red=False, claimed_dbov=5,
                    change=lambda payload: chance.randbytes(chance.choice(sizes)))
    async with room() as here:
        anna, ben = await here.join("anna"), await here.join("ben")
        mallory = await here.join("mallory", script)
        anna.say(440)
        await ben.until_hears(440)
        mallory.say(900)
        await ben.until(lambda: len(ben.heard) > 50)
        await asyncio.sleep(2)
        mixed = [level_dbov(one.sound) for one in ben.heard if one.sound.size]
        assert min(mixed) > 3


async def test_bad_offers_cost_little_and_leave_nothing() -> None:
    line = "a=candidate:1 1 udp 1 192.0.2.9 5001 typ host"
    bad = [offer() + "a=x:" + "y" * 1_000_000, offer(audio_line(extra=(line,) * 10_000)),
           offer(*(audio_line(mid=str(k)) for k in range(200))), offer(audio_line(types="0"))]
    async with room() as here:
        before, begun_s = descriptors(), time.perf_counter()
        for _ in range(25):
            for text in bad:
                with pytest.raises(OfferRefused):
                    await here.engine.join("room", "mallory", "mallory", text)
        assert time.perf_counter() - begun_s < 5
        assert descriptors() <= before and here.engine.calls == ()


async def test_candidates_of_internal_services_are_not_tried() -> None:
    async with room() as here:
        anna = await here.join("anna")
        assert anna.connected.is_set()
        for host, port, verdict in (
            ("127.0.0.1", 50_000, "address"), ("192.0.2.1", 25, "port"), ("192.0.2.1", 445, "port"),
            ("x.local", 50_000, "hidden_name"),
        ):
            line = f"candidate:1 1 udp 1 {host} {port} typ host"
            assert await here.engine.add_candidate("room", "anna", line) == verdict
        tried = [
            await here.engine.add_candidate(
                "room", "anna", f"candidate:{k} 1 udp 1 192.0.2.{k + 10} 50000 typ host")
            for k in range(20)
        ]
        assert tried.count("tried") <= 8 and "too_many" in tried


async def test_joins_and_leaves_leave_nothing_behind() -> None:
    """SITUATIONS 107. The thousand cycles of it run in `make bench-voice`."""
    async with room() as here:
        stays = await here.join("stays")

        async def come_and_go(name: str) -> None:
            async with Participant(name) as one:
                one.accept(await here.engine.join("room", name, name, await one.offer()))
                async with asyncio.timeout(10):
                    await one.connected.wait()
                here.engine.leave("room", name)
                await here.told.until(Closed, participant_id=name)

        for k in range(5):
            await come_and_go(f"warm-{k}")
        gc.collect()
        before = (descriptors(), threading.active_count(), len(asyncio.all_tasks()))
        memory_kib = resident_kib()
        for k in range(20):
            await come_and_go(f"guest-{k}")
        gc.collect()
        assert (descriptors(), threading.active_count(), len(asyncio.all_tasks())) == before
        assert resident_kib() - memory_kib < 20 * 100
        assert stays.connected.is_set()


async def test_a_room_in_which_nobody_listens_costs_nothing() -> None:
    """SITUATIONS 106: a track that nobody reads is not queued anywhere."""
    async with room() as here:
        anna = await here.join("anna")
        anna.say(440)
        await asyncio.sleep(1)
        gc.collect()
        before_kib = resident_kib()
        await asyncio.sleep(3)
        gc.collect()
        assert resident_kib() - before_kib < 500
