"""What losses on the way in leave of speech: encoder, packets, loss, play-out, in made-up time.

The whole uplink path of the engine is here but the socket: RED as a browser sends it, `Incoming`,
`Voice` with its jitter buffer, libopus. The clock is made up, so a minute takes a second and every
seed replays.
"""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from audio import opus, red, rtp, sdp
from audio.incoming import Incoming
from audio.limits import SAMPLE_RATE, TICK_S, TICK_SAMPLES
from audio.mix import Pcm
from audio.voice import Voice
from tests.audio.offers import offer
from tests.audio.speech import speech
from tests.audio.stoi import stoi

LINE = sdp.read(offer()).usable[0]
SECONDS = 60


@cache
def packets_of(folder: Path, told_loss: float) -> tuple[tuple[bytes, ...], Pcm]:
    """A minute of speech as Opus packets, and the same without a network."""
    sound = speech(folder)
    ticks = np.resize(sound, SECONDS * SAMPLE_RATE).reshape(-1, TICK_SAMPLES)
    encoder, decoder = opus.Encoder(), opus.Decoder()
    encoder.expect_loss(told_loss)
    packets = tuple(encoder.encode(tick) for tick in ticks)
    return packets, np.concatenate([decoder.decode(packet) for packet in packets])


def played(
    packets: tuple[bytes, ...], lost: Callable[[int], bool], *, uses_red: bool
) -> tuple[Pcm, Voice, list[float]]:
    """What the mix gets of the packets, and the buffer's depth at each tick."""
    incoming, voice, redundant = Incoming("anna"), Voice(), red.Redundant(111)
    incoming.agree((LINE,))
    out: list[Pcm] = []
    depths: list[float] = []
    for number, frame in enumerate(packets):
        payload = redundant.wrap("own", number * TICK_SAMPLES, frame) if uses_red else frame
        now_s = number * TICK_S + 0.006
        if not lost(number):
            packet = rtp.RtpPacket(
                payload_type=63 if uses_red else 111, seq=number & 0xFFFF,
                at_samples=number * TICK_SAMPLES, ssrc=1_234_567, payload=payload,
            )
            _, frames = incoming.take(rtp.serialize(packet), now_s)
            for one in frames:
                if voice.is_new(one):
                    voice.queue(one, now_s)
        out.append(voice.next_tick((number + 1) * TICK_S)[0])
        depths.append(voice.jitter.counts.depth_s)
    return np.concatenate(out), voice, depths


def losses(seed: int, share: float, *, burst: float | None = None) -> Callable[[int], bool]:
    """Which packets are lost: evenly by chance, or in bursts after a first one."""
    chance, gone, was_lost = random.Random(seed), set[int](), False
    for number in range(10, SECONDS * 50):
        was_lost = chance.random() < (burst if was_lost and burst is not None else share)
        if was_lost:
            gone.add(number)
    return gone.__contains__


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("speech")


def score(reference: Pcm, heard: Pcm, depths: list[float]) -> float:
    """Intelligibility, with the delay that the buffer took at each moment undone.

    The depth changes a few times only; each stretch between changes is aligned by itself.
    """
    whole = np.zeros(reference.size)
    begin = 0
    for tick in range(1, len(depths) + 1):
        if tick < len(depths) and depths[tick] == depths[begin]:
            continue
        shift = round(depths[begin] / TICK_S) * TICK_SAMPLES
        part = heard[begin * TICK_SAMPLES : tick * TICK_SAMPLES]
        start = max(0, begin * TICK_SAMPLES - shift)
        whole[start : start + part.size] = part[: whole.size - start]
        begin = tick
    return stoi(reference, whole, SAMPLE_RATE)


@pytest.mark.parametrize(
    ("share", "uses_red", "least"),
    [(0.0, False, 0.999), (0.05, True, 0.99), (0.05, False, 0.985), (0.10, True, 0.985),
     (0.10, False, 0.975), (0.20, True, 0.95), (0.20, False, 0.94)],
)
def test_speech_survives_loss_without_a_growing_delay(
    folder: Path, share: float, uses_red: bool, least: float
) -> None:
    packets, reference = packets_of(folder, max(0.1, share))
    heard, voice, depths = played(packets, losses(7, share), uses_red=uses_red)
    assert max(depths) <= 0.040, "drift"
    intelligibility = score(reference, heard, depths)
    counts = voice.jitter.counts
    print(f"loss {share:.0%} red {uses_red}: STOI {intelligibility:.4f} depth {depths[-1]:.3f} s "
          f"recovered {counts.recovered} concealed {counts.concealed}")
    assert intelligibility >= least


def test_bursts_of_losses_end(folder: Path) -> None:
    packets, _ = packets_of(folder, 0.1)
    _, voice, depths = played(packets, losses(3, 0.03, burst=0.7), uses_red=True)
    assert max(depths) <= 0.040
    assert voice.jitter.counts.played > 0.85 * len(packets)
