"""Connections over a network that loses, doubles, delays and reorders.

The model's network delivers each message by itself, or not. Our links are ordered and lose
nothing while they last, as TCP is. This layer makes the one of the other *without* sending
anything again: frames are numbered; what comes early waits; a frame that stays away for GAP_S,
or a silence of SILENCE_S, ends the connection for both ends, and the dialing side opens another.
So every loss becomes a LinkDown and a LinkUp, which is what the room has to live with.

    dialing side:    -- dial(conn) -->   accepting side: link is up
    link is up       <-- accept(conn) --
                     <-- frame(conn, n, bytes), ping(conn, frames sent) -->
    of a connection that the receiver does not have:  <-- reset(conn) --
"""

from dataclasses import dataclass, field
from typing import Any, Final

GAP_S: Final = 1.0
SILENCE_S: Final = 3.0
DIAL_S: Final = 1.0

Out = list[tuple[str, tuple[Any, ...]]]


@dataclass(slots=True, kw_only=True)
class Connection:
    """One end of a connection.

    `got` frames were handed on, `told` says how many there are at least, `early` holds those
    that came before their turn.
    """

    conn: int
    heard_s: float
    is_up: bool
    sent: int = 0
    got: int = 0
    told: int = 0
    early: dict[int, bytes] = field(default_factory=dict)
    gap_since_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What the layer tells the room: a link is up or down, or a frame's content has come."""

    peer: str
    what: str
    data: bytes = b""


class LinkLayer:
    """All connections of one node. `me` and peers are voter ids, as the model names nodes."""

    def __init__(self, me: str, dials: tuple[str, ...]) -> None:
        self._me = me
        self._dials = dials
        self._ends: dict[str, Connection] = {}

    def is_up(self, peer: str) -> bool:
        """True while frames can be given to a link of that peer."""
        end = self._ends.get(peer)
        return end is not None and end.is_up

    def frame(self, peer: str, data: bytes) -> Out:
        """Send a frame; nothing where the link is down."""
        end = self._ends.get(peer)
        if end is None or not end.is_up:
            return []
        end.sent += 1
        return [(peer, ("frame", self._me, end.conn, end.sent, data))]

    def tick(self, now_s: float, fresh: int) -> tuple[list[Happened], Out]:
        """Dial, ping, give up. `fresh` names a connection that may be opened now."""
        happened: list[Happened] = []
        out: Out = []
        for peer, end in list(self._ends.items()):
            gap = end.gap_since_s is not None and now_s - end.gap_since_s > GAP_S
            if gap or now_s - end.heard_s > (SILENCE_S if end.is_up else DIAL_S):
                happened += self._drop(peer)
                out.append((peer, ("reset", self._me, end.conn)))
            elif end.is_up:
                out.append((peer, ("ping", self._me, end.conn, end.sent)))
        for peer in self._dials:
            if peer not in self._ends:
                self._ends[peer] = Connection(conn=fresh, heard_s=now_s, is_up=False)
                out.append((peer, ("dial", self._me, fresh)))
        return happened, out

    def handle(self, message: tuple[Any, ...], now_s: float) -> tuple[list[Happened], Out]:
        """Take what the network brought."""
        kind, peer, conn = message[:3]
        end = self._ends.get(peer)
        if kind == "dial":
            return self._dialed(peer, conn, now_s)
        if end is None or end.conn != conn:
            return [], [] if kind == "reset" else [(peer, ("reset", self._me, conn))]
        if kind == "reset":
            return self._drop(peer), []
        end.heard_s = now_s
        before = end.got
        happened: list[Happened] = []
        if kind == "accept" and not end.is_up:
            end.is_up = True
            happened.append(Happened(peer=peer, what="up"))
        elif kind in {"frame", "ping"}:
            end.told = max(end.told, message[3])
            if kind == "frame" and message[3] > end.got:
                end.early.setdefault(message[3], message[4])
        while end.is_up and end.got + 1 in end.early:
            end.got += 1
            happened.append(Happened(peer=peer, what="frame", data=end.early.pop(end.got)))
        if end.told == end.got:
            end.gap_since_s = None
        elif end.got > before or end.gap_since_s is None:
            end.gap_since_s = now_s
        return happened, []

    def hang_up(self, peer: str) -> tuple[list[Happened], Out]:
        """End the link to a peer, if there is one."""
        end = self._ends.get(peer)
        if end is None:
            return [], []
        return self._drop(peer), [(peer, ("reset", self._me, end.conn))]

    def _dialed(self, peer: str, conn: int, now_s: float) -> tuple[list[Happened], Out]:
        end = self._ends.get(peer)
        if end is not None and end.conn == conn:
            return [], []  # a double
        happened = self._drop(peer)
        self._ends[peer] = Connection(conn=conn, heard_s=now_s, is_up=True)
        happened.append(Happened(peer=peer, what="up"))
        return happened, [(peer, ("accept", self._me, conn))]

    def _drop(self, peer: str) -> list[Happened]:
        end = self._ends.pop(peer, None)
        return [Happened(peer=peer, what="down")] if end is not None and end.is_up else []
