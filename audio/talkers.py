"""Who is heard: the three loudest, held long enough that nobody is cut off in mid-word.

A header's level is its sender's claim. It costs nothing to claim, so it only earns a look: a
claimant is let in after one of its packets was decoded and found loud. Five claims in a row that
prove false earn a second without looks: one may be the first packet of a decoder that knows no
past.

    silent --claims loud--> to be verified --measured loud--> talking --quiet for 0.4 s--> silent

A full house is entered only by somebody clearly louder than its quietest, who has had his time.
Pure: ids are strings, levels are decibels below full scale (0 loudest, 127 silent), `now_s` is
monotonic. It refuses to know packets.
"""

from dataclasses import dataclass
from typing import Final

from audio.limits import TALKERS_MAX
from audio.rtp import SILENCE_DBOV

LOUD_DBOV: Final = 50
# An honest level is not far off what decoding finds; beyond this it was a lie or an accident.
_QUIETER_THAN_CLAIMED_DB: Final = 20
HOLD_S: Final = 0.4
_TURN_MIN_S: Final = 0.6
_LOUDER_BY_DB: Final = 6
_DISTRUST_S: Final = 1.0
_FALSE_CLAIMS_MAX: Final = 5
_SMOOTHING: Final = 0.25


@dataclass(slots=True, kw_only=True)
class _Voice:
    """What is known of one participant's loudness."""

    claimed_dbov: float = SILENCE_DBOV
    measured_dbov: float | None = None
    loud_s: float = float("-inf")
    talking_since_s: float | None = None
    false_claims: int = 0
    distrusted_until_s: float = float("-inf")
    smooth_dbov: float = SILENCE_DBOV


class Talkers:
    """The selection of one call. Tell it levels, ask it for the talkers."""

    def __init__(self, *, talkers_max: int = TALKERS_MAX) -> None:
        assert talkers_max > 0
        self._max = talkers_max
        self._voices: dict[str, _Voice] = {}

    def claim(self, who: str, level_dbov: int, now_s: float) -> bool:
        """Take a header's level. Returns whether a packet of `who` must now be decoded."""
        voice = self._voices.setdefault(who, _Voice())
        voice.claimed_dbov = level_dbov
        if level_dbov > LOUD_DBOV:
            return False
        if now_s < voice.distrusted_until_s:
            return False
        if voice.talking_since_s is None:
            return True
        self._smooth(voice, level_dbov)
        voice.loud_s = now_s
        return False

    def measure(self, who: str, level_dbov: float, now_s: float) -> None:
        """Take a level that decoding found; it overrules every claim."""
        voice = self._voices.setdefault(who, _Voice())
        voice.measured_dbov = level_dbov
        self._smooth(voice, level_dbov)
        if level_dbov <= LOUD_DBOV:
            voice.loud_s = now_s
            voice.false_claims = 0
            voice.distrusted_until_s = float("-inf")
        elif level_dbov > voice.claimed_dbov + _QUIETER_THAN_CLAIMED_DB:
            voice.false_claims += 1
            if voice.false_claims >= _FALSE_CLAIMS_MAX:
                # Until decoding finds him loud again, his claims do not even keep his place.
                voice.false_claims = 0
                voice.distrusted_until_s = now_s + _DISTRUST_S

    def remove(self, who: str) -> None:
        """Forget a participant who left, was muted or was removed: he is no talker from now on."""
        self._voices.pop(who, None)

    def choose(self, now_s: float) -> tuple[str, ...]:
        """The talkers from now on, in a stable order: who began first stands first."""
        for voice in self._voices.values():
            if voice.talking_since_s is not None and now_s - voice.loud_s >= HOLD_S:
                voice.talking_since_s = None
                voice.measured_dbov = None
                voice.smooth_dbov = SILENCE_DBOV
        waiting = sorted(
            (who for who, voice in self._voices.items() if self._may_enter(voice, now_s)),
            key=lambda who: (self._voices[who].smooth_dbov, who),
        )
        for who in waiting:
            self._enter(who, now_s)
        talking = [who for who, voice in self._voices.items() if voice.talking_since_s is not None]
        assert len(talking) <= self._max
        return tuple(sorted(talking, key=lambda who: (self._since_s(who), who)))

    def _enter(self, who: str, now_s: float) -> None:
        talking = [one for one, voice in self._voices.items() if voice.talking_since_s is not None]
        if len(talking) >= self._max:
            quietest = max(talking, key=lambda one: (self._voices[one].smooth_dbov, one))
            held_s = now_s - self._since_s(quietest)
            louder_db = self._voices[quietest].smooth_dbov - self._voices[who].smooth_dbov
            if held_s < _TURN_MIN_S or louder_db < _LOUDER_BY_DB:
                return
            self._voices[quietest].talking_since_s = None
            self._voices[quietest].measured_dbov = None
        self._voices[who].talking_since_s = now_s

    def _may_enter(self, voice: _Voice, now_s: float) -> bool:
        return (
            voice.talking_since_s is None
            and voice.measured_dbov is not None
            and voice.measured_dbov <= LOUD_DBOV
            and now_s - voice.loud_s < HOLD_S
        )

    def _since_s(self, who: str) -> float:
        since_s = self._voices[who].talking_since_s
        assert since_s is not None
        return since_s

    @staticmethod
    def _smooth(voice: _Voice, level_dbov: float) -> None:
        if voice.smooth_dbov == SILENCE_DBOV:
            voice.smooth_dbov = level_dbov
        voice.smooth_dbov += (level_dbov - voice.smooth_dbov) * _SMOOTHING
