"""The play-out of one talker, driven by a made-up clock."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from audio.errors import PacketMalformed
from audio.jitter import Do, JitterBuffer, Step
from audio.limits import (
    JITTER_DEPTH_MAX_S,
    JITTER_PACKETS_MAX,
    RECOVERY_DEPTH_MAX_S,
    SAMPLE_RATE,
    TICK_S,
)

# A 20 ms SILK frame: without, and with a copy of the frame before it.
PLAIN = b"\x08\x80plain"
MENDS = b"\x08\xc0mends"
PHASE_S = 0.007


@dataclass(slots=True, kw_only=True)
class Played:
    """What a listener got: delay of each played frame in seconds, and what was done."""

    delays: dict[int, float] = field(default_factory=dict)
    done: list[Do] = field(default_factory=list)

    def share(self, do: Do) -> float:
        return self.done.count(do) / len(self.done)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A frame on its way: when it comes, which one, and whether it is only a copy."""

    at_s: float
    number: int
    is_copy: bool = False


def run(arrivals: list[Arrival], seconds: float, *, payload: bytes = PLAIN) -> Played:
    """Push what arrives and pull every tick; frames are numbered in their payload."""
    buffer, played = JitterBuffer(), Played()
    waiting = sorted(arrivals, key=lambda one: (one.at_s, one.is_copy, one.number))
    tick = 0
    while tick * TICK_S < seconds:
        now_s = tick * TICK_S
        while waiting and waiting[0].at_s <= now_s:
            one = waiting.pop(0)
            data = payload + one.number.to_bytes(4, "big")
            buffer.push(one.number * 960, data, one.at_s, is_copy=one.is_copy)
        step = buffer.pull(now_s)
        played.done.append(step.do)
        if step.do is Do.PLAY:
            number = int.from_bytes(step.payload[-4:], "big")
            played.delays[number] = now_s - number * TICK_S
        tick += 1
    return played


def stream(
    seconds: float,
    *,
    lost: Callable[[int], bool] = lambda number: False,
    late_s: Callable[[int], float] = lambda number: 0.0,
    copies: bool = False,
) -> list[Arrival]:
    """A talker's packets: one each 20 ms, some lost, some late, some with a copy of the last."""
    arrivals = []
    for number in range(1, round(seconds / TICK_S)):
        at_s = number * TICK_S + PHASE_S + late_s(number)
        if lost(number):
            continue
        arrivals.append(Arrival(at_s=at_s, number=number))
        if copies and number > 1:
            arrivals.append(Arrival(at_s=at_s, number=number - 1, is_copy=True))
    return arrivals


def test_an_even_stream_waits_for_the_next_tick_only() -> None:
    played = run(stream(10), 10)
    assert set(played.delays.values()) and max(played.delays.values()) <= TICK_S + 1e-6
    assert played.done[5:-1].count(Do.PLAY) == len(played.done[5:-1])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.01, 0.05, 0.1, 0.3]))
def test_loss_alone_never_delays_what_follows(seed: int, share: float) -> None:
    chance = random.Random(seed)
    gone = {number for number in range(2, 1_000) if chance.random() < share}
    played = run(stream(20, lost=gone.__contains__), 20)
    assert max(played.delays.values()) <= TICK_S + 1e-6
    assert set(played.delays) == set(range(1, 999)) - gone


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_copies_mend_losses_within_their_bound(seed: int) -> None:
    chance = random.Random(seed)
    gone = {number for number in range(2, 3_000) if chance.random() < 0.1}
    played = run(stream(60, lost=gone.__contains__, copies=True), 60)
    assert max(played.delays.values()) <= RECOVERY_DEPTH_MAX_S + TICK_S + 1e-6
    doubly = {number for number in gone if number + 1 in gone}
    mended = gone - doubly - set(range(100))
    assert len(mended & set(played.delays)) / len(mended) > 0.97


def test_the_next_frame_mends_a_lost_one_in_band() -> None:
    played = run(stream(30, lost=lambda n: n % 10 == 5), 30, payload=MENDS)
    # Its copy comes 20 ms after its turn: the depth that lets it help is the bound of copies.
    assert max(played.delays.values()) <= RECOVERY_DEPTH_MAX_S + TICK_S + 1e-6
    assert played.done.count(Do.RECOVER) >= 140
    assert played.share(Do.CONCEAL) < 0.01


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.015, 0.06, 0.09]))
def test_jitter_deepens_no_further_than_it_must(seed: int, jitter_s: float) -> None:
    chance = random.Random(seed)
    played = run(stream(30, late_s=lambda n: chance.random() * jitter_s), 30)
    assert max(played.delays.values()) <= JITTER_DEPTH_MAX_S + 2 * TICK_S
    settled = played.done[250:-5]
    assert settled.count(Do.PLAY) / len(settled) > 0.9
    assert max(played.delays.values()) <= jitter_s + 3 * TICK_S


def test_it_shrinks_again_when_the_network_is_quiet() -> None:
    played = run(stream(60, late_s=lambda n: 0.08 * (n % 2) if n < 500 else 0.0), 60)
    middle = [delay_s for number, delay_s in played.delays.items() if 300 < number < 500]
    late = [delay_s for number, delay_s in played.delays.items() if number > 2_600]
    assert max(middle) >= 0.08
    assert max(late) <= 2 * TICK_S + 1e-6


def test_a_burst_of_losses_ends_in_silence_and_the_next_word_is_heard() -> None:
    played = run(stream(3, lost=lambda n: 50 <= n < 100), 3)
    assert played.done.count(Do.CONCEAL) <= 8
    assert played.done.count(Do.SILENCE) > 35
    assert 100 in played.delays and played.delays[100] <= TICK_S + 1e-6


@given(
    st.lists(
        st.tuples(
            st.integers(-(1 << 20), 1 << 20), st.binary(max_size=30), st.booleans(),
            st.integers(0, 3),
        ),
        max_size=200,
    )
)
def test_any_stream_is_survived_within_bounds(
    packets: list[tuple[int, bytes, bool, int]]
) -> None:
    buffer, now_s, pulled = JitterBuffer(), 0.0, 0
    for at_samples, payload, is_copy, pulls in packets:
        try:
            buffer.push(at_samples, payload, now_s, is_copy=is_copy)
        except PacketMalformed:
            continue
        for _ in range(pulls):
            step = buffer.pull(now_s)
            assert step.samples > 0
            assert (step.do in (Do.PLAY, Do.RECOVER)) == bool(step.payload)
            now_s += TICK_S
            pulled += 1
        assert buffer.held <= JITTER_PACKETS_MAX
        assert 0 <= buffer.counts.depth_s <= JITTER_DEPTH_MAX_S + 1e-6


def test_a_flood_is_bounded_and_the_newest_is_kept() -> None:
    buffer = JitterBuffer()
    for number in range(45):
        buffer.push(number * 960, PLAIN, 0.0)
    for number in range(45 * 8, 45 * 8 + 400):
        buffer.push(number * 120, b"\xf8", 0.0)
    assert buffer.held == JITTER_PACKETS_MAX


def test_sixty_millisecond_frames_play_whole() -> None:
    buffer = JitterBuffer()
    buffer.push(0, b"\x18" + b"x" * 9, 0.0)
    assert buffer.pull(0.01) == Step(do=Do.PLAY, samples=2_880, payload=b"\x18" + b"x" * 9)


def test_a_jump_of_the_senders_clock_is_a_new_start() -> None:
    buffer = JitterBuffer()
    buffer.push(0, PLAIN, 0.0)
    buffer.pull(0.02)
    buffer.push(9_000_000, PLAIN, 0.03)
    assert buffer.pull(0.04).do is Do.PLAY
    buffer.push(9_000_000 - 3 * SAMPLE_RATE, PLAIN, 0.05, is_copy=True)
    assert buffer.held == 0, "a copy from elsewhere starts nothing"
