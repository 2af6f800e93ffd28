"""The call's media: one talker's packets passed on as they are, or several mixed every 20 ms.

    nobody talks ----> one talks: passing ----> more talk: mixing ----> one talks: passing
                       his packets, no added     one sum, one encoding for all who listen,
                       delay, no transcoding     and one without himself for each talker

Whoever leaves the mix as the only talker has frames waiting in his buffer: they are passed on
first, so that no syllable is lost on the way. Frames of a remote engine's talkers come in by
`take` like anybody's, and never go back by the link that brought them.

The tick runs in `run`, which the owner awaits in a task; everything else happens at the moment a
packet arrives. It refuses to play anybody whom the `Call` does not hold for audible.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from audio.errors import PacketMalformed
from audio.incoming import Frame
from audio.limits import TICK_S, TICK_SAMPLES
from audio.mix import Limiter, Pcm, Sum, mix_minus
from audio.opus import EXPECTED_LOSS, Encoder
from audio.talkers import Talkers
from audio.voice import Voice

# A loop that fell behind further than this does not make up for it: old sound helps nobody.
_CATCH_UP_S: Final = 0.1
_EXPIRY_EVERY_S: Final = 0.1
_PHASE_S: Final = 0.005


class Listener(Protocol):
    """Somebody to whom frames are played."""

    @property
    def hears(self) -> bool:
        """Whether anything may be played to him now."""

    @property
    def lost_out(self) -> float:
        """The part of what he was sent that he last said he lost (0..1)."""

    def play(self, frame: Frame, now_s: float) -> bool:
        """Send a frame; whether it went out."""


class Output:
    """One mix on its way out: its limiter, its encoder, its numbers."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._limiter = Limiter()
        self._encoder = Encoder()
        self._seq = 0

    def frame(self, total: Sum, *, lost_out: float) -> Frame:
        """The next frame of this mix: turned down as needed, encoded, numbered."""
        self._encoder.expect_loss(max(EXPECTED_LOSS, lost_out))
        self._seq += 1
        return Frame(
            source=self._source, seq=self._seq, at_samples=self._seq * TICK_SAMPLES,
            samples=TICK_SAMPLES, payload=self._encoder.encode(self._limiter.limit(total)),
        )


class Bridge:
    """The media of one call. `take` frames, `run` the tick, `drop` who is unheard from now on.

    `may_be_heard(who)` is asked for every frame; `on_talkers` is told when the talkers change;
    `on_passed(who, frame, now_s)` gets each talker's own packets (for links).
    """

    def __init__(
        self,
        listeners: Mapping[str, Listener],
        *,
        may_be_heard: Callable[[str], bool],
        on_talkers: Callable[[tuple[str, ...]], None],
        on_passed: Callable[[str, Frame, float], None] | None = None,
    ) -> None:
        self._listeners = listeners
        self._may_be_heard = may_be_heard
        self._on_talkers, self._on_passed = on_talkers, on_passed
        self._selection = Talkers()
        self._talkers: tuple[str, ...] = ()
        self._voices: dict[str, Voice] = {}
        self._shared: Output | None = None
        self._without: dict[str, Output] = {}
        self._changed = asyncio.Event()
        self._mixes = 0
        self.ticks = self.late_ticks = 0

    @property
    def talkers(self) -> tuple[str, ...]:
        """Who is heard now, the earliest first."""
        return self._talkers

    @property
    def mode(self) -> str:
        """`silent`, `passing` or `mixing`."""
        return ("silent", "passing", "mixing")[min(2, len(self._talkers))]

    @property
    def mended(self) -> tuple[int, int, float]:
        """Frames of the present voices that were recovered, concealed; the deepest buffer, in s."""
        counts = [voice.jitter.counts for voice in self._voices.values()]
        return (
            sum(one.recovered for one in counts), sum(one.concealed for one in counts),
            max((one.depth_s for one in counts), default=0.0),
        )

    def take(self, who: str, frame: Frame, now_s: float) -> None:
        """A frame of a participant, or of a talker behind a link, at the moment it came."""
        if not self._may_be_heard(who):
            return
        voice = self._voices.get(who)
        if voice is None:
            voice = self._voices[who] = Voice()
        if not voice.is_new(frame):
            return
        try:
            self._hear(who, voice, frame, now_s)
        except PacketMalformed:
            # It cost its sender his turn in the buffer; what is lost is concealed.
            return

    def drop(self, who: str) -> None:
        """Nothing of him is played from this moment: he left, was muted or removed."""
        self._selection.remove(who)
        self._voices.pop(who, None)
        self._without.pop(who, None)
        if who in self._talkers:
            self._choose(time.monotonic())

    async def run(self) -> None:
        """Tick until cancelled. Costs nothing while nobody talks."""
        while True:
            self._changed.clear()
            if len(self._talkers) > 1:
                await self._mix_while_several()
            elif self._talkers:
                # His packets pass without a tick; only his silence has to be noticed.
                try:
                    async with asyncio.timeout(_EXPIRY_EVERY_S):
                        await self._changed.wait()
                except TimeoutError:
                    self._choose(time.monotonic())
            else:
                await self._changed.wait()

    async def _mix_while_several(self) -> None:
        # A little after the packet that made it a mix: the next ones of its sender come in time.
        due_s = time.monotonic() + _PHASE_S
        while len(self._talkers) > 1:
            now_s = time.monotonic()
            if now_s - due_s > _CATCH_UP_S:
                self.late_ticks += 1
                due_s = now_s
            await asyncio.sleep(max(0.0, due_s - now_s))
            now_s = time.monotonic()
            if len(self._talkers) > 1:
                self._mix(now_s)
                self._choose(now_s)
            due_s += TICK_S

    def _hear(self, who: str, voice: Voice, frame: Frame, now_s: float) -> None:
        if who not in self._talkers:
            # The claim earns a look: only what decodes as loud is let in.
            if self._earns_a_look(who, frame, now_s):
                self._look(who, voice, frame, now_s)
            if who not in self._talkers:
                return
        elif (who,) == self._talkers:
            # Heard for its level, and refused if it does not decode, before anybody gets it.
            self._earns_a_look(who, frame, now_s)
            self._look(who, voice, frame, now_s)
        elif frame.level_dbov is not None:
            self._selection.claim(who, frame.level_dbov, now_s)
        if (who,) == self._talkers:
            self._play_to_others(who, frame, now_s)
        elif who in self._talkers:
            voice.queue(frame, now_s)
        if self._on_passed is not None and who in self._talkers:
            self._on_passed(who, frame, now_s)

    def _earns_a_look(self, who: str, frame: Frame, now_s: float) -> bool:
        if frame.is_copy:
            return False
        return frame.level_dbov is None or self._selection.claim(who, frame.level_dbov, now_s)

    def _look(self, who: str, voice: Voice, frame: Frame, now_s: float) -> None:
        level = voice.listen(frame)
        if level is not None:
            self._selection.measure(who, level, now_s)
            self._choose(now_s)

    def _choose(self, now_s: float) -> None:
        """Take the selection's word for who talks, and change between passing and mixing."""
        chosen = self._selection.choose(now_s)
        if chosen == self._talkers:
            return
        before, self._talkers = self._talkers, chosen
        for who in chosen:
            if who not in before or len(before) == 1:
                self._voices[who].restart()
        if len(before) > 1 and len(chosen) == 1:
            for frame in self._voices[chosen[0]].unplayed():
                self._play_to_others(chosen[0], frame, now_s)
        if len(chosen) > 1 and len(before) < 2:
            # Each stretch of mixing is a source of its own, with its own numbers.
            self._mixes += 1
            self._shared, self._without = None, {}
        self._changed.set()
        self._on_talkers(chosen)

    def _play_to_others(self, who: str, frame: Frame, now_s: float) -> None:
        for name, listener in self._listeners.items():
            if name != who and listener.hears:
                listener.play(frame, now_s)

    def _mix(self, now_s: float) -> None:
        """One tick: every talker's next sound, their sum, and the sums without each."""
        self.ticks += 1
        sounds: dict[str, Pcm] = {}
        for who in self._talkers:
            sounds[who], level = self._voices[who].next_tick(now_s)
            self._selection.measure(who, level, now_s)
        total, without = mix_minus(sounds)
        lost_out = max((one.lost_out for one in self._listeners.values()), default=0.0)
        shared: Frame | None = None
        for name, listener in self._listeners.items():
            if not listener.hears:
                continue
            if name in without:
                output = self._without.get(name)
                if output is None:
                    output = self._without[name] = Output(f"mix {self._mixes} without {name}")
                frame = output.frame(without[name], lost_out=listener.lost_out)
            else:
                if shared is None:
                    if self._shared is None:
                        self._shared = Output(f"mix {self._mixes}")
                    shared = self._shared.frame(total, lost_out=lost_out)
                frame = shared
            listener.play(frame, now_s)
