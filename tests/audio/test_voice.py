"""One talker as the call hears him."""

import random

import numpy as np
import pytest

from audio import opus
from audio.errors import PacketMalformed
from audio.incoming import Frame
from audio.limits import TICK_S
from audio.mix import level_dbov
from audio.voice import Voice
from tests.audio.sounds import strength, tone


def frames(count: int, *, hz: float = 440, source: str = "s", first: int = 0) -> list[Frame]:
    encoder = opus.Encoder()
    return [
        Frame(source=source, seq=first + k, at_samples=(first + k) * 960, samples=960,
              payload=encoder.encode(tone(hz, k)))
        for k in range(count)
    ]


def test_a_packet_and_its_copy_are_one() -> None:
    voice, (first, second) = Voice(), frames(2)
    assert voice.is_new(first) and not voice.is_new(first)
    copy = Frame(source="s", seq=1, at_samples=960, samples=960, payload=second.payload,
                 is_copy=True)
    assert voice.is_new(copy) and not voice.is_new(second)


def test_an_ancient_packet_is_not_new() -> None:
    voice = Voice()
    for frame in frames(200):
        voice.is_new(frame)
    assert not voice.is_new(frames(1)[0])


def test_listening_tells_the_level_in_order_only() -> None:
    voice = Voice()
    early, *rest = frames(20)
    levels = [voice.listen(frame) for frame in rest if voice.is_new(frame)]
    assert levels[-1] is not None and abs(levels[-1] - level_dbov(tone(440, 0))) < 2
    assert voice.is_new(early) and voice.listen(early) is None


def test_the_mix_gets_a_steady_sound() -> None:
    voice, out = Voice(), []
    for k, frame in enumerate(frames(50)):
        voice.is_new(frame)
        voice.queue(frame, k * TICK_S)
        out.append(voice.next_tick(k * TICK_S + 0.01)[0])
    assert strength(np.concatenate(out[5:]), 440) > 5_000


def test_leaving_the_mix_gives_back_what_was_not_played() -> None:
    voice, sent = Voice(), frames(6)
    for frame in sent[:3]:
        voice.queue(frame, 0.0)
    voice.next_tick(0.01)
    assert voice.unplayed() == tuple(sent[1:3]) and voice.unplayed() == ()


def test_a_new_track_begins_anew() -> None:
    voice = Voice()
    for frame in frames(30, first=1_000):
        voice.is_new(frame)
        voice.queue(frame, 0.0)
    other = frames(1, source="t")[0]
    assert voice.is_new(other) and voice.jitter.held == 0


@pytest.mark.parametrize("damage", ["random", "cut", "flip"])
def test_damaged_packets_never_sound_at_full_scale(damage: str) -> None:
    """ATTACKS 48: refused or concealed; whatever they decode to is turned down."""
    chance, voice, loudest = random.Random(5), Voice(), 127.0
    for k, frame in enumerate(frames(400)):
        data = bytearray(frame.payload)
        if damage == "random":
            data = bytearray(chance.randbytes(chance.randrange(1, 300)))
        elif damage == "cut":
            del data[chance.randrange(1, len(data)) :]
        else:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        bad = Frame(source="s", seq=k, at_samples=k * 960, samples=960, payload=bytes(data))
        try:
            voice.is_new(bad)
            voice.queue(bad, k * TICK_S)
        except PacketMalformed:
            pass
        sound, _ = voice.next_tick(k * TICK_S + 0.01)
        loudest = min(loudest, level_dbov(sound))
    assert loudest > 8.5
