"""The laws of a log, in one checker used where events are received and where they are read.

1. seq is dense from 1.   2. prev_hash is the hash of the event before (GENESIS for the first).
3. epochs never decrease along the chain.   4. the authority of the epoch signed the header.
5. the author's install signed the proposal, and was entitled to at that seq (see `room`).
"""

from dataclasses import dataclass

from mesh.core.errors import PeerFault
from mesh.core.event import GENESIS, Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of a chain."""

    seq: int = 0
    epoch: int = 0
    hash: str = GENESIS

    def follow(self, event: Event) -> "Head":
        """The head after `event`.

        Raises:
            PeerFault: reason `fork` if the event does not continue this chain.
        """
        if event.seq != self.seq + 1 or event.prev_hash != self.hash:
            raise PeerFault(
                "fork", "An event does not continue the log.", have=self.seq, got=event.seq
            )
        if event.epoch < self.epoch:
            raise PeerFault("stale_epoch", "An event's epoch goes back.", epoch=self.epoch)
        return Head(seq=event.seq, epoch=event.epoch, hash=event.hash)
