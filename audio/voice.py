"""One talker as the call hears him: decoded for his true level, put in order for the mix.

A voice decodes each packet once. While its packets are passed on as they are, decoding only tells
the level and whether the packet is whole; in a mix the jitter buffer decides what is decoded when.
Sound that would be louder than any voice is turned down: a damaged or made-up packet may decode to
noise at full scale.

It refuses packets that do not decode, and never plays what it did not check.
"""

from collections import deque
from typing import Final

import numpy as np

from audio.errors import PacketMalformed
from audio.incoming import Frame
from audio.jitter import Do, JitterBuffer, Step
from audio.limits import TICK_SAMPLES
from audio.mix import Pcm, level_dbov, silence
from audio.opus import Decoder

# Speech into a close microphone stays below; noise at full scale is at 0 to 5.
_LOUDEST_DBOV: Final = 9.0
_RECENT_FRAMES: Final = 8
_SEEN_FRAMES: Final = 64


class Voice:
    """One talker's decoder, jitter buffer and level."""

    def __init__(self) -> None:
        self._decoder = Decoder()
        self.jitter = JitterBuffer()
        self._source = ""
        self._highest_seq = self._newest_seq = -1
        self._seen: set[int] = set()
        self._rest: Pcm = np.zeros(0, dtype=np.int16)
        self._recent: deque[Frame] = deque(maxlen=_RECENT_FRAMES)

    def is_new(self, frame: Frame) -> bool:
        """Whether this frame was not there before, as a packet or as a copy. Remembers it."""
        self._follow(frame)
        if frame.seq in self._seen or frame.seq < self._newest_seq - _SEEN_FRAMES:
            return False
        self._seen.add(frame.seq)
        self._newest_seq = max(self._newest_seq, frame.seq)
        if len(self._seen) > 2 * _SEEN_FRAMES:
            self._seen = {seq for seq in self._seen if seq >= self._newest_seq - _SEEN_FRAMES}
        return True

    def listen(self, frame: Frame) -> float | None:
        """The level of a frame that is passed on or only looked at; decodes it.

        None for a copy or a frame out of turn, which is not decoded. Raises PacketMalformed.
        """
        if frame.is_copy or frame.seq <= self._highest_seq:
            return None
        self._highest_seq = frame.seq
        return level_dbov(self._decoder.decode(frame.payload))

    def queue(self, frame: Frame, now_s: float) -> None:
        """Put a frame in order for the mix. Raises PacketMalformed."""
        self._recent.append(frame)
        self.jitter.push(frame.at_samples, frame.payload, now_s, is_copy=frame.is_copy)

    def next_tick(self, now_s: float) -> tuple[Pcm, float]:
        """The sound of the next 20 ms, and its level as decoded."""
        while self._rest.size < TICK_SAMPLES:
            sound = self._sound_of(self.jitter.pull(now_s))
            self._rest = sound if self._rest.size == 0 else np.concatenate((self._rest, sound))
        frame, self._rest = self._rest[:TICK_SAMPLES], self._rest[TICK_SAMPLES:]
        level = level_dbov(frame)
        if level < _LOUDEST_DBOV:
            frame = (frame * 10 ** ((level - _LOUDEST_DBOV) / 20)).astype(np.int16)
        return frame, level

    def unplayed(self) -> tuple[Frame, ...]:
        """Frames that the mix took and has not played; the buffer is empty after it."""
        due = self.jitter.due
        left = tuple(
            frame for frame in self._recent if due is not None and frame.at_samples >= due
        )
        self.restart()
        return tuple(sorted(left, key=lambda frame: frame.seq))

    def restart(self) -> None:
        """Forget what is buffered: this voice leaves the mix, or enters it."""
        self.jitter.restart()
        self._recent.clear()
        self._rest = np.zeros(0, dtype=np.int16)

    def _follow(self, frame: Frame) -> None:
        """A new track of the same talker is another stream for decoder and buffer."""
        if frame.source != self._source:
            self._source, self._highest_seq, self._newest_seq = frame.source, -1, frame.seq
            self._seen.clear()
            self._decoder.reset()
            self.restart()

    def _sound_of(self, step: Step) -> Pcm:
        if step.do is Do.SILENCE:
            return silence()
        try:
            if step.do is Do.PLAY:
                return self._decoder.decode(step.payload)
            if step.do is Do.RECOVER:
                return self._decoder.recover(step.payload, step.samples)
        except PacketMalformed:
            # It looked like a packet and is none: as good as lost.
            pass
        return self._decoder.conceal(step.samples)
