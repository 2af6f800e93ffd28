"""The end of a run: what was promised against what all logs hold, and the logs against each other.

The logs are read twice: through `groups.log`, as any program reads them, and as bytes from the
databases, which go to `tests/vectors/verify_log.py`. That script imports nothing of ours and runs
in a process of its own.
"""

import asyncio
import base64
import json
import sqlite3
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mesh.client import Connection
from tests.netns.account_book import AccountBook

_PAGE: Final = 1_000
_VERIFY_S: Final = 120.0
_SCRIPT: Final = Path(__file__).parent.with_name("vectors") / "verify_log.py"
_ROWS: Final = """
    SELECT raw, author_sig, header, authority_sig FROM events JOIN rooms USING (room)
    WHERE room_id = ? ORDER BY place
"""

Events = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is wrong, by ids; all empty when nothing is."""

    missing: Sequence[str]
    twice: Sequence[str]
    moved: Sequence[str]
    unanswered: Sequence[str]
    foreign: Sequence[str]
    unordered: Sequence[str]

    @property
    def are_none(self) -> bool:
        """True if every promise was kept."""
        return not any(
            (self.missing, self.twice, self.moved, self.unanswered, self.foreign, self.unordered)
        )


async def whole_log(node: Connection, room_id: str) -> list[dict[str, Any]]:
    """All events of a room at one node, through `groups.log`."""
    events: list[dict[str, Any]] = []
    while True:
        page = await node.rooms.log(room_id, since_seq=len(events), limit=_PAGE)
        events += page["events"]
        if not page["has_more"]:
            return events


async def refusals(node: Connection, room_id: str) -> dict[str, str]:
    """Queued ids that were refused there in the end, with the reason."""
    outbox = (await node.rooms.state(room_id))["outbox"]
    return {row["event_id"]: row["reason"] for row in outbox if row["state"] == "refused"}


def judge(book: AccountBook, events: Events, refused: Mapping[str, str]) -> Findings:
    """Compare the promises with one log."""
    said = [event for event in events if event["kind"] == "message.user"]
    places = {event["event_id"]: (event["seq"], event["hash"]) for event in said}
    counts = Counter(event["event_id"] for event in said)
    settled = places.keys() | {event_id for event_id, reason in refused.items() if reason}
    return Findings(
        missing=[i for i in book.acknowledged if i not in places],
        twice=[i for i, count in counts.items() if count > 1],
        moved=[
            i
            for i, promise in book.acknowledged.items()
            if i in places and places[i] != (promise.seq, promise.hash)
        ],
        unanswered=[
            i
            for i in book.offered
            if i not in book.acknowledged and i not in book.refused and i not in settled
        ],
        foreign=[i for i in places if i not in book.offered],
        unordered=_unordered(book, places),
    )


def _unordered(book: AccountBook, places: Mapping[str, tuple[int, str]]) -> list[str]:
    """Ids that stand before one that their sender had offered, and been answered, earlier."""
    last: dict[str, int] = {}
    found: list[str] = []
    for event_id, sender in book.offered.items():
        if event_id in places:
            if places[event_id][0] < last.get(sender, 0):
                found.append(event_id)
            last[sender] = places[event_id][0]
    return found


def assert_identical(logs: Mapping[str, Events]) -> None:
    """All logs are the same, event by event. Raises AssertionError with the first difference."""
    (first, expected), *others = logs.items()
    for name, events in others:
        for ours, theirs in zip(expected, events, strict=False):
            same = (ours["seq"], ours["hash"]) == (theirs["seq"], theirs["hash"])
            assert same, f"{first} and {name} differ: {ours} {theirs}"
        assert len(events) == len(expected), (first, len(expected), name, len(events))


def exported(home: Path, room_id: str) -> bytes:
    """A room's bytes from the database of a home, one event a line, for the verifying script."""
    database = sqlite3.connect(f"file:{home / 'mesh.db'}?mode=ro", uri=True)
    try:
        rows = database.execute(_ROWS, (room_id,)).fetchall()
    finally:
        database.close()
    names = ("p", "author_sig", "h", "authority_sig")
    return b"".join(
        json.dumps(
            {name: base64.b64encode(part).decode() for name, part in zip(names, row, strict=True)}
        ).encode()
        + b"\n"
        for row in rows
    )


async def verified(exports: Sequence[Path]) -> str:
    """Let the script verify all copies of one log; what it said of the first.

    Raises AssertionError if one is not sound, or if they disagree.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", str(_SCRIPT), *map(str, exports)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(_VERIFY_S):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    lines = said.decode().splitlines()
    assert process.returncode == 0 and len(lines) == len(exports), said.decode()
    return lines[0].partition(": ")[2]
