"""The books of one open link: what waits, when it was heard, when something is due.

The driver (`transport.link_runner`) tells what happened and when (`now_s`, monotonic), and does
what the answers say. TLS and WebSocket keep the order and lose nothing while the link lives, so
frames carry no numbers; what was queued when a link ends is gone, and the layer above catches
up when the next one opens.

    OPEN ----drain----> DRAINING      takes no more frames; sends what it holds
     |                     |
     +------close----------+--------> CLOSED   with the first code that was given

The queue is bounded by LINK_QUEUE_BYTES_MAX. A peer that does not read is cut with its own code
(`slow_reader`) rather than slowing the rooms of everybody else (situation 157). A link is alive
as long as *anything* is heard: a ping is sent every LINK_PING_S, and after LINK_SILENCE_S
without a byte it is closed (`silent`).
"""

import enum
from collections import deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mesh.core.limits import (
    LINK_CHUNK_BYTES_MAX,
    LINK_PING_S,
    LINK_QUEUE_BYTES_MAX,
    LINK_SILENCE_S,
)

PING_BYTES: Final = 8

# WebSocket close codes between nodes, and the word each end reports for it.
CLOSE_CODES: Final[Mapping[int, str]] = MappingProxyType(
    {
        1000: "peer_offline",
        1001: "drain",
        1006: "peer_offline",
        1009: "too_large",
        4001: "peer_identity_mismatch",
        4002: "protocol",
        4003: "silent",
        4004: "unsupported",
        4005: "duplicate_instance",
        4006: "busy",
        4007: "skew",
        4008: "slow_reader",
        4009: "replaced",
        4010: "drain",
        4011: "unwanted",
    }
)
LOST: Final = 1006
IDENTITY: Final = 4001
PROTOCOL: Final = 4002
SILENT: Final = 4003
UNSUPPORTED: Final = 4004
DUPLICATE: Final = 4005
BUSY: Final = 4006
SKEW: Final = 4007
SLOW_READER: Final = 4008
REPLACED: Final = 4009
DRAIN: Final = 4010
UNWANTED: Final = 4011

_CODE_OF_REASON: Final[Mapping[str, int]] = MappingProxyType(
    {
        "peer_identity_mismatch": IDENTITY,
        "bad_signature": IDENTITY,
        "unsupported": UNSUPPORTED,
        "duplicate_instance": DUPLICATE,
        "busy": BUSY,
        "skew": SKEW,
    }
)


def code_of(reason: str) -> int:
    """The close code that tells a peer why; PROTOCOL for reasons without their own."""
    return _CODE_OF_REASON.get(reason, PROTOCOL)


def word_of(code: int | None) -> str:
    """The word for a close code; `peer_offline` for none, `protocol` for one we do not know."""
    return "peer_offline" if code is None else CLOSE_CODES.get(code, "protocol")


class Status(enum.Enum):
    """Where a link stands."""

    OPEN = "open"
    DRAINING = "draining"
    CLOSED = "closed"


class Move(enum.Enum):
    """What can happen to a link as a whole."""

    DRAIN = "drain"
    CLOSE = "close"


MOVES: Final[Mapping[tuple[Status, Move], Status]] = MappingProxyType(
    {
        (Status.OPEN, Move.DRAIN): Status.DRAINING,
        (Status.OPEN, Move.CLOSE): Status.CLOSED,
        (Status.DRAINING, Move.DRAIN): Status.DRAINING,
        (Status.DRAINING, Move.CLOSE): Status.CLOSED,
        (Status.CLOSED, Move.DRAIN): Status.CLOSED,
        (Status.CLOSED, Move.CLOSE): Status.CLOSED,
    }
)


class Due(enum.Enum):
    """What `tick` asks of the driver."""

    NOTHING = "nothing"
    PING = "ping"
    CUT = "cut"


class Link:
    """One link's state. All instants are monotonic seconds that count suspended time."""

    def __init__(self, now_s: float) -> None:
        self.status = Status.OPEN
        self.code: int | None = None
        self.rtt_us: int | None = None
        self.queued_bytes = 0
        self._queue: deque[bytes | memoryview] = deque()
        self._heard_s = now_s
        self._pinged_s = now_s - LINK_PING_S  # the first ping is due at once: it tells the rtt
        self._spoken_s = now_s

    @property
    def is_flushed(self) -> bool:
        """True when nothing waits to be sent."""
        return not self._queue

    def queue(self, frame: bytes, now_s: float) -> bool:
        """Queue a frame. False if the link takes none, or if the peer reads too slowly.

        In the second case the link is closed now, with SLOW_READER, and what waited is dropped.
        """
        if self.status is not Status.OPEN:
            return False
        if self.queued_bytes + len(frame) > LINK_QUEUE_BYTES_MAX:
            self.close(SLOW_READER)
            return False
        self._queue.append(frame)
        self.queued_bytes += len(frame)
        self._spoken_s = now_s
        return True

    def take(self) -> bytes:
        """The next chunk of the stream to send; empty when nothing waits."""
        parts: list[bytes | memoryview] = []
        room = LINK_CHUNK_BYTES_MAX
        while self._queue and room:
            piece = self._queue.popleft()
            if len(piece) > room:
                rest = memoryview(piece)
                self._queue.appendleft(rest[room:])
                piece = rest[:room]
            parts.append(piece)
            room -= len(piece)
        self.queued_bytes -= LINK_CHUNK_BYTES_MAX - room
        assert self.queued_bytes >= 0
        return b"".join(parts)

    def heard(self, now_s: float, *, is_message: bool = False) -> None:
        """Something arrived; a message also counts against idleness."""
        self._heard_s = now_s
        if is_message:
            self._spoken_s = now_s

    def ping(self, now_s: float) -> bytes:
        """The content of a ping sent now: the instant, to be echoed."""
        self._pinged_s = now_s
        return int(now_s * 1e6).to_bytes(PING_BYTES, "big")

    def ponged(self, echo: bytes, now_s: float) -> bool:
        """An echo arrived. True if it is one of ours; then the round trip is known."""
        self.heard(now_s)
        if len(echo) != PING_BYTES:
            return False
        rtt_us = int(now_s * 1e6) - int.from_bytes(echo, "big")
        # An echo from the future or from before any silence is not one that we sent.
        if not 0 <= rtt_us <= LINK_SILENCE_S * 2e6:
            return False
        self.rtt_us = rtt_us
        return True

    def tick(self, now_s: float) -> Due:
        """What is due now. CUT has already closed the link, with SILENT."""
        if self.status is Status.CLOSED:
            return Due.NOTHING
        if now_s - self._heard_s >= LINK_SILENCE_S:
            self.close(SILENT)
            return Due.CUT
        if now_s - self._pinged_s >= LINK_PING_S:
            return Due.PING
        return Due.NOTHING

    def deadline_s(self) -> float:
        """When `tick` is worth calling next."""
        return min(self._pinged_s + LINK_PING_S, self._heard_s + LINK_SILENCE_S)

    def idle_s(self, now_s: float) -> float:
        """Seconds since the last message either way; pings do not count."""
        return max(0.0, now_s - self._spoken_s)

    def drain(self) -> None:
        """Take no more frames; what waits is still sent."""
        self._apply(Move.DRAIN)

    def close(self, code: int) -> None:
        """Close for this reason, unless closed already. What waited is dropped."""
        if self.status is not Status.CLOSED:
            self.code = code
        self._apply(Move.CLOSE)
        self._queue.clear()
        self.queued_bytes = 0

    def _apply(self, move: Move) -> None:
        self.status = MOVES[self.status, move]
