"""`make bench-voice`: the engine beside Janus AudioBridge, interleaved, with the same participants.

Acoustic latency runs from the `sendto` of the packet that holds a 3 kHz burst to the arrival of the
packet in which the burst decodes. CPU is user and system time of the server's processes, in per
cent of one core, for each participant. Everybody sends 50 packets a second; who does not talk
sends silence. A run whose client was late by more than 20 ms (p99) is dropped on its side; if more
than a third is dropped, the figure reads "not measured".
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from audio import opus, rtp
from audio import worker_messages as messages
from audio.limits import TICK_S, TICK_SAMPLES
from audio.mix import Pcm
from audio.worker_process import WorkerProcess
from tests.audio.participant import Participant, Script
from tests.audio.sounds import strength, tone
from tests.live_audio.janus import MISSING, is_installed, janus

BURST_HZ: Final = 3_000
BURST_EVERY: Final = 30
LATE_MAX_S: Final = 0.020
Join = Callable[[str, str], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run: latencies in ms, CPU in per cent of a core, the client's own lateness in ms."""

    latencies_ms: tuple[float, ...]
    cpu_percent: float
    late_p99_ms: float


@asynccontextmanager
async def our_worker() -> AsyncIterator[tuple[Join, int]]:
    """The engine in its worker."""
    settings = messages.Settings(engine_id="bench")
    async with WorkerProcess(settings, on_event=lambda event: None) as worker:
        async def join(name: str, offer: str) -> str:
            return await worker.ask(messages.Join(
                call_id="room", participant_id=name, member_id=name, sdp=offer))
        yield join, worker.pid


@asynccontextmanager
async def their_server() -> AsyncIterator[tuple[Join, int]]:
    """Janus, with a prebuffer of 2."""
    with tempfile.TemporaryDirectory() as folder:
        async with janus(Path(folder)) as server:
            async def join(name: str, offer: str) -> str:
                return await server.join(offer)
            yield join, server.pid


def cpu_of(pid: int) -> float:
    """User and system seconds of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Crowd:
    """N participants in one pacing loop, of which some talk; the last two listen with decoders."""

    def __init__(self, people: list[Participant], talkers: int) -> None:
        self._people, self._talkers = people, talkers
        self._encoders = [opus.Encoder() for _ in range(talkers)]
        quiet = opus.Encoder()
        self._silence = [quiet.encode(np.zeros(TICK_SAMPLES, np.int16)) for _ in range(10)][-1]
        self._late_s: list[float] = []
        self._bursts: list[float] = []
        self._numbers = [[1_000 * k, 960] for k in range(len(people))]

    async def run(self, seconds: float, pid: int) -> Result:
        """Speak for a while; what was heard of the bursts, and what it cost."""
        for one in self._people[:-2]:
            one.transport._on_rtp = lambda data, now_s: None
        begun_s, before = time.monotonic(), cpu_of(pid)
        for tick in range(round(seconds / TICK_S)):
            due_s = begun_s + tick * TICK_S
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            self._late_s.append(time.monotonic() - due_s)
            # People do not speak in step: each fifth sends 4 ms after the one before.
            for phase in range(5):
                await asyncio.sleep(max(0.0, due_s + phase * 0.004 - time.monotonic()))
                for index in range(phase, len(self._people), 5):
                    self._send(index, tick)
        cpu = (cpu_of(pid) - before) / (time.monotonic() - begun_s) * 100
        late_ms = float(np.percentile(self._late_s, 99)) * 1_000
        return Result(latencies_ms=tuple(self._latencies()), late_p99_ms=late_ms,
                      cpu_percent=cpu / len(self._people))

    def _send(self, index: int, tick: int) -> None:
        one, numbers = self._people[index], self._numbers[index]
        numbers[0], numbers[1] = numbers[0] + 1, numbers[1] + TICK_SAMPLES
        payload, level = self._silence, 127
        is_burst = index == 0 and tick % BURST_EVERY == BURST_EVERY - 1
        if index < self._talkers:
            payload, level = self._encoders[index].encode(self._sound(index, tick, is_burst)), 25
        line = one._line
        assert line is not None
        if is_burst:
            self._bursts.append(time.monotonic())
        one.transport.send_rtp(rtp.serialize(rtp.RtpPacket(
            payload_type=line.opus_type, seq=numbers[0] & 0xFFFF, at_samples=numbers[1],
            ssrc=one.ssrc, payload=payload, level_dbov=level,
        ), level_id=line.level_id))

    @staticmethod
    def _sound(index: int, tick: int, is_burst: bool) -> Pcm:
        sound = tone(220 + 60 * index, tick, amplitude=2_500)
        return sound + tone(BURST_HZ, tick, amplitude=9_000) if is_burst else sound

    def _latencies(self) -> list[float]:
        found: list[float] = []
        for one in self._people[-2:]:
            for sent_s in self._bursts:
                arrived = next(
                    (packet.at_s for packet in one.heard
                     if 0 < packet.at_s - sent_s < 0.5
                     and strength(packet.sound, BURST_HZ) > 1_500),
                    None,
                )
                if arrived is not None:
                    found.append((arrived - sent_s) * 1_000)
        return found


async def one_run(ours: bool, people: int, talkers: int, seconds: float) -> Result:
    """One server, a crowd, one measurement."""
    async with (our_worker() if ours else their_server()) as (join, pid), AsyncExitStack() as stack:
        if len(os.sched_getaffinity(0)) > 1:
            first, *others = sorted(os.sched_getaffinity(0))
            for thread in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(thread), {first})
            os.sched_setaffinity(0, {others[0]})
            stack.callback(os.sched_setaffinity, 0, {first, *others})
        crowd: list[Participant] = []
        for k in range(people):
            one = await stack.enter_async_context(
                Participant(f"p{k}", Script(uses_red=False), keeps_s=600))
            one._speak = _hold  # type: ignore[method-assign]
            one.accept(await join(one.name, await one.offer()))
            crowd.append(one)
        for one in crowd:
            async with asyncio.timeout(20):
                await one.connected.wait()
        await Crowd(crowd, talkers).run(1.0, pid)
        for one in crowd:
            one.heard.clear()
        return await Crowd(crowd, talkers).run(seconds, pid)


async def _hold() -> None:
    """The crowd's loop speaks for everybody."""


def line_of(name: str, results: list[Result], *, keeps_late: bool) -> str:
    """One row: medians over the runs that count."""
    good = [
        one for one in results
        if one.latencies_ms and (keeps_late or one.late_p99_ms <= LATE_MAX_S * 1_000)
    ]
    if len(good) * 3 < len(results) * 2:
        return f"{name:28} not measured ({len(results) - len(good)} of {len(results)} dropped)"
    latencies = [value for one in good for value in one.latencies_ms]
    return (
        f"{name:28} cpu {statistics.median(one.cpu_percent for one in good):5.2f} % each   "
        f"p50 {np.percentile(latencies, 50):6.1f} ms   p99 {np.percentile(latencies, 99):6.1f} ms"
        f"   client late p99 {max(one.late_p99_ms for one in good):4.1f} ms   "
        f"bursts {len(latencies)}   runs {len(good)}/{len(results)}"
    )


async def soak(cycles: int) -> None:
    """Join and leave many times; what is left of it in the worker."""
    async with our_worker() as (join, pid):
        def state() -> str:
            status = Path(f"/proc/{pid}/status").read_text()
            words = dict(one.split(":", 1) for one in status.splitlines())
            return (f"rss {words['VmRSS'].strip()}   threads {words['Threads'].strip()}   "
                    f"descriptors {len(os.listdir(f'/proc/{pid}/fd'))}")
        for cycle in range(cycles + 1):
            if cycle in (0, 10, cycles // 2, cycles):
                print(f"after {cycle:5} joins and leaves: {state()}", flush=True)
            async with Participant(f"p{cycle}") as one:
                one.accept(await join(one.name, await one.offer()))
                async with asyncio.timeout(20):
                    await one.connected.wait()


async def main(options: argparse.Namespace) -> None:
    """Run the table, ours and theirs in turn."""
    if options.soak:
        await soak(options.soak)
        return
    rows = [(8, 1), (8, 3)] if options.quick else [
        (8, 1), (8, 3), (16, 1), (16, 3), (32, 1), (32, 3), (16, 16)]
    with_janus = is_installed()
    if not with_janus:
        print(MISSING)
    for people, talkers in rows:
        ours: list[Result] = []
        theirs: list[Result] = []
        for _ in range(options.repeats):
            ours.append(await one_run(True, people, talkers, options.seconds))
            if with_janus:
                theirs.append(await one_run(False, people, talkers, options.seconds))
        print(line_of(f"ours   N={people} talking={talkers}", ours,
                      keeps_late=options.keep_late), flush=True)
        if with_janus:
            print(line_of(f"janus  N={people} talking={talkers}", theirs,
                          keeps_late=options.keep_late), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two rows only")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--soak", type=int, metavar="N", help="N joins and leaves instead")
    parser.add_argument("--keep-late", action="store_true",
                        help="show runs of a late client too: for looking, not for quoting")
    asyncio.run(main(parser.parse_args()))

