"""The external ledger: what nodes have promised, written down outside of them.

One JSON line per fact, fsynced before the book's own reader believes it. A node cannot take a
promise back: an acknowledged id (`accepted: true`, with its seq and hash) must be in every log at
the end, once and in that place; a queued id must be there once, or be refused with a reason.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """An acknowledgment: the event is in the log, there and nowhere else."""

    seq: int
    hash: str


class AccountBook:
    """What was offered, and what was said to it. `with` it; the file stays."""

    def __init__(self, path: Path) -> None:
        """`path` is appended to."""
        self.offered: dict[str, str] = {}
        self.acknowledged: dict[str, Promise] = {}
        self.queued: set[str] = set()
        self.refused: dict[str, str] = {}
        self.retries = 0
        self._file = open(path, "ab", buffering=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def offer(self, event_id: str, sender: str) -> None:
        """This id is going to be sent by that sender, who sends one after the other."""
        assert event_id not in self.offered, event_id
        self._write({"offered": event_id, "sender": sender})
        self.offered[event_id] = sender

    def answer(self, event_id: str, answer: dict[str, Any]) -> None:
        """What `groups.send` said."""
        if answer["accepted"]:
            event = answer["event"]
            assert event["event_id"] == event_id, answer
            promise = Promise(seq=event["seq"], hash=event["hash"])
            self._write({"acknowledged": event_id, "seq": promise.seq, "hash": promise.hash})
            self.acknowledged[event_id] = promise
        else:
            assert answer["queued"], answer
            self._write({"queued": event_id})
            self.queued.add(event_id)

    def refuse(self, event_id: str, reason: str) -> None:
        """It was refused, for good."""
        self._write({"refused": event_id, "reason": reason})
        self.refused[event_id] = reason

    def retry(self) -> None:
        """An answer was lost and the same id is sent again."""
        self.retries += 1

    def _write(self, fact: dict[str, Any]) -> None:
        self._file.write(json.dumps(fact).encode() + b"\n")
        os.fdatasync(self._file.fileno())
