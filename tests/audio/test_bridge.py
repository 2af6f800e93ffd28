"""Passing, mixing, and the change between them, without a network."""

import asyncio
import time

import numpy as np

from audio import opus
from audio.bridge import Bridge
from audio.incoming import Frame
from audio.mix import Pcm, level_dbov
from tests.audio.sounds import strength, tone


class Ear:
    """A listener that keeps and decodes what it is played."""

    def __init__(self) -> None:
        self.hears, self.lost_out = True, 0.0
        self.played: list[Frame] = []
        self._decoder = opus.Decoder()
        self.sound: list[Pcm] = []
        self.news = asyncio.Event()

    def play(self, frame: Frame, now_s: float) -> bool:
        self.played.append(frame)
        self.sound.append(self._decoder.decode(frame.payload))
        self.news.set()
        return True

    async def until_played(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.played) < count:
                self.news.clear()
                await self.news.wait()


class Mouth:
    """A talker's frames, one after the other."""

    def __init__(self, name: str, hz: float, *, level: int | None = None) -> None:
        self.name, self._hz, self._tick, self._level = name, hz, 0, level
        self._encoder = opus.Encoder()

    def next(self) -> Frame:
        sound = tone(self._hz, self._tick)
        self._tick += 1
        level = round(level_dbov(sound)) if self._level is None else self._level
        return Frame(source=self.name, seq=self._tick, at_samples=self._tick * 960, samples=960,
                     payload=self._encoder.encode(sound), level_dbov=level)


def bridge(*names: str) -> tuple[Bridge, dict[str, Ear], list[tuple[str, ...]]]:
    ears = {name: Ear() for name in names}
    told: list[tuple[str, ...]] = []
    made = Bridge(ears, may_be_heard=lambda who: who != "muted", on_talkers=told.append)
    return made, ears, told


async def test_one_talkers_packets_pass_untouched_and_at_once() -> None:
    here, ears, told = bridge("anna", "ben", "deaf")
    ears["deaf"].hears = False
    anna = Mouth("anna", 440)
    sent = [anna.next() for _ in range(5)]
    for frame in sent:
        here.take("anna", frame, time.monotonic())
    assert ears["ben"].played == sent and ears["anna"].played == ears["deaf"].played == []
    assert told == [("anna",)] and here.mode == "passing"


async def test_a_lost_packet_is_passed_on_from_its_copy_once() -> None:
    here, ears, _ = bridge("ben")
    anna = Mouth("anna", 440)
    one, two, three = anna.next(), anna.next(), anna.next()
    copy = Frame(source="anna", seq=two.seq, at_samples=two.at_samples, samples=960,
                 payload=two.payload, is_copy=True)
    for frame in (one, copy, three, copy, two):
        here.take("anna", frame, time.monotonic())
    assert [frame.seq for frame in ears["ben"].played] == [1, 2, 3]


async def test_a_claim_of_loudness_lets_no_silence_in() -> None:
    here, ears, told = bridge("ben")
    encoder = opus.Encoder()
    quiet = encoder.encode(np.zeros(960, dtype=np.int16))
    for k in range(50):
        here.take("liar", Frame(source="l", seq=k, at_samples=k * 960, samples=960, payload=quiet,
                                level_dbov=0), time.monotonic())
    assert ears["ben"].played == [] and told == []


async def test_who_says_no_level_is_heard_by_his_sound() -> None:
    here, ears, _ = bridge("ben")
    anna = Mouth("anna", 440)
    frame = anna.next()
    here.take("anna", Frame(source="anna", seq=1, at_samples=0, samples=960,
                            payload=frame.payload), time.monotonic())
    assert len(ears["ben"].played) == 1


async def test_the_muted_reach_nobody() -> None:
    here, ears, _ = bridge("ben")
    here.take("muted", Mouth("muted", 440).next(), time.monotonic())
    assert ears["ben"].played == []


async def test_a_packet_that_does_not_decode_reaches_nobody() -> None:
    here, ears, _ = bridge("ben")
    here.take("anna", Mouth("anna", 440).next(), time.monotonic())
    bad = Frame(source="anna", seq=2, at_samples=960, samples=960, payload=b"\x03", level_dbov=9)
    here.take("anna", bad, time.monotonic())
    assert len(ears["ben"].played) == 1


async def test_two_talkers_are_mixed_and_the_last_one_is_passed_on_whole() -> None:
    here, ears, told = bridge("anna", "ben", "cleo")
    anna, ben = Mouth("anna", 440), Mouth("ben", 880)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(here.run())
        for _ in range(25):
            here.take("anna", anna.next(), time.monotonic())
            here.take("ben", ben.next(), time.monotonic())
            await ears["cleo"].until_played(len(ears["cleo"].played) + 1)
        assert here.mode == "mixing" and here.ticks >= 20
        both = np.concatenate(ears["cleo"].sound[-15:])
        assert strength(both, 440) > 3_000 and strength(both, 880) > 3_000
        only_ben = np.concatenate(ears["anna"].sound[-15:])
        assert strength(only_ben, 880) > 3_000 and strength(only_ben, 440) < 300
        last = anna.next()
        here.take("anna", last, time.monotonic())
        here.drop("ben")
        assert told[-1] == ("anna",) and ears["cleo"].played[-1] is last
        running.cancel()


async def test_silence_ends_a_turn() -> None:
    silent = asyncio.Event()
    here = Bridge({}, may_be_heard=lambda who: True,
                  on_talkers=lambda talkers: None if talkers else silent.set())
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(here.run())
        here.take("anna", Mouth("anna", 440).next(), time.monotonic())
        assert here.mode == "passing"
        async with asyncio.timeout(3):
            await silent.wait()
        running.cancel()
    assert here.mode == "silent"
