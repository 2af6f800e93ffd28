"""When each frame of one talker is played, and what is played instead of a lost one.

Frames go in as they come, by their media time; every tick takes the next one out. The cursor is
the media time that is due. A frame that is missing when it is due is mended, in this order, from

    a redundant copy         it was put in as a frame of its own
    the frame after it       which carries a low-rate copy (in-band FEC): `RECOVER`
    nothing                  the decoder continues the sound, fading: `CONCEAL`

and the cursor goes on: **a loss never delays what follows.** The depth changes for two causes
only. Frames that do come, but late, deepen it up to 120 ms; copies of lost frames (of either
kind) that come too late to help deepen it up to 40 ms, so that the next one is in time. When for
three seconds every frame had a whole frame to spare, one is skipped. A talker who pauses starts
again at the depth he had.

Pure: `now_s` is the monotonic clock of whoever drives it. It refuses to hold more than
`JITTER_PACKETS_MAX` frames (the oldest goes), and takes a jump of the media clock for a new start.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from audio.limits import (
    CLOCK_JUMP_MAX_S,
    CONCEAL_MAX_S,
    FRAME_SAMPLES_MIN,
    JITTER_DEPTH_MAX_S,
    JITTER_PACKETS_MAX,
    RECOVERY_DEPTH_MAX_S,
    SAMPLE_RATE,
    TICK_S,
    TICK_SAMPLES,
)
from audio.opus_toc import frame_samples, has_recovery

# One frame of 50 may be late before the depth grows: chasing the last one costs more than it heals.
_LATE_BEFORE_GROWTH: Final = 2
_LATE_WINDOW_S: Final = 1.0
_SHRINK_WINDOW_S: Final = 3.0
# How long the memory of mended losses keeps the time in which copies come.
_COPIES_MATTER_S: Final = 5.0


class Do(Enum):
    """What the decoder has to do for the next stretch of sound."""

    PLAY = "play"
    RECOVER = "recover"
    CONCEAL = "conceal"
    SILENCE = "silence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One decision: what to do, with which packet, for how many samples."""

    do: Do
    samples: int
    payload: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class JitterCounts:
    """What became of the frames so far, and the present depth in seconds."""

    played: int
    recovered: int
    concealed: int
    late: int
    skipped: int
    depth_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    samples: int
    payload: bytes
    is_copy: bool


class JitterBuffer:
    """The play-out of one talker. `push` what arrives, `pull` once for each stretch of sound."""

    def __init__(self) -> None:
        self._frames: dict[int, _Frame] = {}
        self._cursor: int | None = None
        self._starts_s = 0.0
        self._pulled_s = 0.0
        self._depth_s = 0.0
        self._concealed_samples = 0
        self._late_s: list[float] = []
        self._late_copies_s: list[float] = []
        self._mended_s = float("-inf")
        self._concealed_at: int | None = None
        self._window_from_s: float | None = None
        self._least_spare_s = JITTER_DEPTH_MAX_S
        self._stretch = 0
        self._played = self._recovered = self._concealed = self._late = self._skipped = 0

    @property
    def counts(self) -> JitterCounts:
        """What became of the frames so far."""
        return JitterCounts(
            played=self._played, recovered=self._recovered, concealed=self._concealed,
            late=self._late, skipped=self._skipped, depth_s=self._depth_s,
        )

    @property
    def due(self) -> int | None:
        """The media time that is played next; None between two stretches of talk."""
        return self._cursor

    @property
    def held(self) -> int:
        """Frames that wait for their turn."""
        return len(self._frames)

    def push(
        self, at_samples: int, payload: bytes, now_s: float, *, is_copy: bool = False
    ) -> None:
        """Put a frame in, at its unwrapped media time. Raises PacketMalformed."""
        samples = frame_samples(payload)
        if self._cursor is not None:
            away_s = (at_samples - self._cursor) / SAMPLE_RATE
            if abs(away_s) > CLOCK_JUMP_MAX_S:
                if is_copy:
                    return
                self.restart()
        if self._cursor is None:
            if is_copy:
                return
            self._cursor = at_samples
            self._starts_s = now_s + self._depth_s
            self._window_from_s = None
        elif at_samples < self._cursor:
            self._note_late(at_samples, now_s, is_copy=is_copy)
            return
        if at_samples in self._frames:
            return
        self._frames[at_samples] = _Frame(samples=samples, payload=payload, is_copy=is_copy)
        if not is_copy:
            self._note_spare(at_samples, now_s)
            if self._concealed_at == at_samples - TICK_SAMPLES and has_recovery(payload):
                self._note_late(self._concealed_at, now_s, is_copy=True)
                self._concealed_at = None
        if len(self._frames) > JITTER_PACKETS_MAX:
            self._drop_oldest()

    def pull(self, now_s: float) -> Step:
        """The decision for the sound that is due now. Raises nothing."""
        if self._cursor is None or now_s < self._starts_s:
            return Step(do=Do.SILENCE, samples=TICK_SAMPLES)
        self._pulled_s = now_s
        if self._stretch > 0:
            # One concealed frame more than there was: everything after it has that much more time.
            self._stretch -= 1
            self._concealed += 1
            return Step(do=Do.CONCEAL, samples=TICK_SAMPLES)
        self._shrink_if_idle(now_s)
        frame = self._frames.pop(self._cursor, None)
        if frame is not None:
            self._concealed_samples = 0
            self._cursor += frame.samples
            self._played += 1
            if frame.is_copy:
                self._mended_s = now_s
            return Step(do=Do.PLAY, samples=frame.samples, payload=frame.payload)
        return self._mend(now_s)

    def restart(self) -> None:
        """Forget what is buffered; the next frame is a beginning. The depth is kept."""
        self._frames.clear()
        self._cursor = None
        self._concealed_samples = 0
        self._stretch = 0

    def _mend(self, now_s: float) -> Step:
        """The decision for a frame that is not there."""
        assert self._cursor is not None
        following = min(self._frames, default=None)
        missing = TICK_SAMPLES
        if following is not None:
            missing = following - self._cursor
            if missing < FRAME_SAMPLES_MIN:
                # Senders that change their frames' length may leave a sliver: go on from there.
                self._cursor = following
                frame = self._frames.pop(following)
                self._cursor += frame.samples
                self._played += 1
                return Step(do=Do.PLAY, samples=frame.samples, payload=frame.payload)
            payload = self._frames[following].payload
            if missing <= TICK_SAMPLES and has_recovery(payload):
                self._cursor = following
                self._concealed_samples = 0
                self._recovered += 1
                self._mended_s = now_s
                return Step(do=Do.RECOVER, samples=missing, payload=payload)
        samples = min(TICK_SAMPLES, missing - missing % FRAME_SAMPLES_MIN)
        if self._concealed_samples + samples > CONCEAL_MAX_S * SAMPLE_RATE:
            return self._give_up(following)
        self._concealed_samples += samples
        self._concealed_at = self._cursor
        self._cursor += samples
        self._concealed += 1
        return Step(do=Do.CONCEAL, samples=samples)

    def _give_up(self, following: int | None) -> Step:
        """Nothing to play for too long: the talker pauses, or goes on after a gap."""
        if following is None:
            self.restart()
        else:
            assert self._cursor is not None
            # The gap (DTX, or a long loss) is played as silence, so that the depth stays.
            self._cursor = min(following, self._cursor + TICK_SAMPLES)
        return Step(do=Do.SILENCE, samples=TICK_SAMPLES)

    def _drop_oldest(self) -> None:
        oldest = min(self._frames)
        frame = self._frames.pop(oldest)
        assert self._cursor is not None
        self._cursor = max(self._cursor, oldest + frame.samples)
        self._skipped += 1

    def _note_late(self, at_samples: int, now_s: float, *, is_copy: bool) -> None:
        """A frame or a copy came after its turn: deepen if that is the rule and not the exception.
        """
        assert self._cursor is not None
        if (self._cursor - at_samples) > JITTER_DEPTH_MAX_S * SAMPLE_RATE:
            return
        times, limit_s = self._late_s, JITTER_DEPTH_MAX_S
        if is_copy:
            if at_samples + TICK_SAMPLES < self._cursor:
                return
            times, limit_s = self._late_copies_s, RECOVERY_DEPTH_MAX_S
        else:
            self._late += 1
        times.append(now_s)
        window_s = _COPIES_MATTER_S if is_copy else _LATE_WINDOW_S
        del times[: sum(1 for late_s in times if late_s < now_s - window_s)]
        if len(times) >= _LATE_BEFORE_GROWTH and self._depth_s + TICK_S <= limit_s + 1e-9:
            times.clear()
            self._depth_s += TICK_S
            self._stretch += 1
            self._window_from_s = None

    def _note_spare(self, at_samples: int, now_s: float) -> None:
        """Remember how much earlier than its turn the tightest frame of this window came."""
        assert self._cursor is not None
        due_s = max(self._starts_s, self._pulled_s + TICK_S)
        spare_s = due_s + (at_samples - self._cursor) / SAMPLE_RATE - now_s
        if self._window_from_s is None:
            self._window_from_s = now_s
            self._least_spare_s = spare_s
        self._least_spare_s = min(self._least_spare_s, spare_s)

    def _shrink_if_idle(self, now_s: float) -> None:
        """Skip a frame when for a whole window every frame had more than a frame to spare."""
        if self._window_from_s is None or now_s - self._window_from_s < _SHRINK_WINDOW_S:
            return
        assert self._cursor is not None
        # Where copies mended losses, the time in which they come is not to spare.
        mended = now_s - self._mended_s < _COPIES_MATTER_S
        reserve_s = RECOVERY_DEPTH_MAX_S + TICK_S if mended else TICK_S * 1.25
        if self._least_spare_s > reserve_s and self._cursor in self._frames and (
            len(self._frames) > 1
        ):
            skipped = self._frames.pop(self._cursor)
            self._cursor += skipped.samples
            self._skipped += 1
            self._depth_s = max(0.0, self._depth_s - TICK_S)
        self._window_from_s = None
