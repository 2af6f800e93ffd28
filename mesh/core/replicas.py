"""How far each copy is: what was sent to it, what it has acknowledged, what it may get next.

A copy asks (`CaughtUp`); from then on it is fed in order, with a bounded number of events in
flight. Where the driver sent less, because the events are large, the rest waits until what was
sent is acknowledged. A copy whose members have all left still gets the log up to the event that
says so, so that an install learns of its own removal (situation 59).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mesh.core.effects import Effect, Send, Stream
from mesh.core.limits import REPLICA_WINDOW_EVENTS
from mesh.core.link_messages import NotHere
from mesh.core.room import RoomState


@dataclass(slots=True, kw_only=True)
class Progress:
    """One copy. `0 <= acked_seq <= sent_seq`; nothing is sent while not `live`.

    While `paced`, everything that was sent must be acknowledged before more goes out.
    """

    live: bool = False
    sent_seq: int = 0
    acked_seq: int = 0
    paced: bool = False


class Replicas:
    """All copies of one room, as its authority feeds them."""

    def __init__(self, state: RoomState, me: str) -> None:
        self._state = state
        self._me = me
        self._progress: dict[str, Progress] = {}

    def caught_up(self, install_id: str, have_seq: int) -> Iterator[Effect]:
        """A copy says what it has. What it has beyond our log cannot be ours."""
        room_id, last = self._state.room_id, self._entitled(install_id)
        if last is None:
            yield Send(install_id=install_id, message=NotHere(room_id=room_id, reason="forbidden"))
        elif have_seq > self._state.head.seq:
            yield Send(
                install_id=install_id, message=NotHere(room_id=room_id, reason="rolled_back")
            )
        else:
            self._progress[install_id] = Progress(live=True, sent_seq=have_seq, acked_seq=have_seq)

    def acknowledged(self, install_id: str, seq: int) -> None:
        """A copy has stored everything up to `seq`."""
        progress = self._progress.get(install_id)
        if progress is not None and progress.acked_seq < seq <= progress.sent_seq:
            progress.acked_seq = seq

    def sent(self, install_id: str, upto_seq: int) -> None:
        """The driver sent a `Stream` only up to there, which is enough for now."""
        progress = self._progress.get(install_id)
        if progress is not None and progress.acked_seq <= upto_seq < progress.sent_seq:
            progress.sent_seq = upto_seq
            progress.paced = True

    def down(self, install_id: str) -> None:
        """The link is gone; the copy will ask again."""
        progress = self._progress.get(install_id)
        if progress is not None:
            progress.live = False

    def resume(self, before: "Replicas") -> None:
        """Go on feeding after the machine was built anew: from what each copy acknowledged."""
        for install_id, progress in before._progress.items():
            acked = min(progress.acked_seq, self._state.head.seq)
            self._progress[install_id] = Progress(
                live=progress.live, sent_seq=acked, acked_seq=acked
            )

    def live(self) -> tuple[str, ...]:
        """Copies that are being fed, in a fixed order."""
        return tuple(sorted(i for i, p in self._progress.items() if p.live))

    def acked_seq(self, install_id: str) -> int:
        """How far a copy is known to be."""
        progress = self._progress.get(install_id)
        return progress.acked_seq if progress else 0

    def feed(self) -> Iterator[Effect]:
        """What every copy may get now."""
        for install_id in self.live():
            progress, last = self._progress[install_id], self._entitled(install_id)
            if progress.paced and progress.acked_seq < progress.sent_seq:
                continue
            progress.paced = False
            upto = min(
                last if last is not None else 0,
                self._state.head.seq,
                progress.acked_seq + REPLICA_WINDOW_EVENTS,
            )
            if upto > progress.sent_seq:
                yield Stream(install_id=install_id, since_seq=progress.sent_seq, upto_seq=upto)
                progress.sent_seq = upto

    def _entitled(self, install_id: str) -> int | None:
        """The last seq this install may read: the head, its removal, or None for a stranger."""
        if install_id == self._me:
            return None
        homed = [m for m in self._state.members.values() if m.install_id == install_id]
        if not homed:
            return None
        if any(m.present for m in homed):
            return self._state.head.seq
        return max(m.left_seq for m in homed)
