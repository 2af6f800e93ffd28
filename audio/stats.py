"""What the engine counts, as values that an owner can show or add up.

Nothing here is measured anew: each part keeps its own counters, and a snapshot is asked for once a
second at most. It refuses names and addresses: a snapshot may be shown to every member.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerStats:
    """One connection. Loss is 0..1, since its start for `lost_in`, as last told for `lost_out`."""

    participant_id: str
    packets_in: int
    packets_out: int
    lost_in: float
    lost_out: float
    jitter_ms: float
    round_trip_ms: float | None
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStats:
    """One call: who is heard, how it is carried, and its connections.

    `depth_ms` is the deepest play-out buffer of the present talkers.
    """

    call_id: str
    talkers: tuple[str, ...]
    mode: str
    ticks: int
    late_ticks: int
    concealed: int
    recovered: int
    depth_ms: float
    peers: tuple[PeerStats, ...]
