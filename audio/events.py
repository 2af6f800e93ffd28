"""What the engine tells its owner without being asked. Frozen values, no media in them."""

from dataclasses import dataclass

from audio.stats import CallStats


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A participant's connection carries media from now on."""

    call_id: str
    participant_id: str
    member_id: str
    is_muted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaking:
    """Who is heard now; remote ones by their origin. At most ten a second for each call."""

    call_id: str
    talkers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The counters of a call, once a second."""

    call_id: str
    stats: CallStats


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """A participant or link is gone, or (without one) the whole call. Told once."""

    call_id: str
    participant_id: str | None
    reason: str


Event = Joined | Speaking | Stats | Closed
