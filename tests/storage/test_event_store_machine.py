"""The store against a model, in any order of appends, refusals, crashes and orderly restarts.

A crash is a copy of the files as they are at that instant, opened instead of the originals.
"""

import asyncio
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mesh.core.errors import Refused
from mesh.core.event import Event
from mesh.storage.database import Database
from mesh.storage.event_store import DiskEventStore
from mesh.stores import OutboxRow, RoomChange
from tests.storage.logs import ROOM, change, follow, log, proposal, room, waiting


class StoreMachine(RuleBasedStateMachine):
    """One room: its log, its promised epoch and its outbox, here as values and there on disk."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="store-machine-"))
        self.runner = asyncio.Runner()
        self.events: tuple[Event, ...] = ()
        self.epoch = 1
        self.outbox: dict[int, OutboxRow] = {}
        self.lives = 0
        self.database = self.opened()

    def path(self) -> Path:
        return self.folder / f"life-{self.lives}.db"

    def opened(self) -> Database:
        database = Database(self.path())
        self.runner.run(database.__aenter__())
        return database

    def close(self) -> None:
        self.runner.run(self.database.__aexit__(None, None, None))

    @property
    def store(self) -> DiskEventStore:
        return DiskEventStore(self.database)

    @property
    def last(self) -> Event | None:
        return self.events[-1] if self.events else None

    @initialize()
    def begin(self) -> None:
        self.runner.run(self.store.create_room(room(), ()))

    @rule(count=st.integers(1, 5), rise=st.integers(0, 2), in_pieces=st.booleans())
    def append(self, count: int, rise: int, in_pieces: bool) -> None:
        epoch = self.epoch + rise
        events = log(count, after=self.last, epoch=epoch)

        async def apply() -> None:
            pieces = [(event,) for event in events] if in_pieces else [events]
            async with asyncio.TaskGroup() as group:
                for piece in pieces:
                    group.create_task(self.store.apply(change(*piece)))

        self.runner.run(apply())
        self.events += events
        self.epoch = epoch

    def refused(self, wanted: RoomChange) -> str:
        try:
            self.runner.run(self.store.apply(wanted))
        except Refused as error:
            return error.reason
        return "applied"

    @precondition(lambda self: self.epoch > 1)
    @rule()
    def append_in_a_lower_epoch(self) -> None:
        (event,) = log(1, after=self.last, epoch=self.epoch - 1)
        assert self.refused(change(event)) == "stale_epoch"

    @precondition(lambda self: self.events)
    @rule(back=st.integers(0, 3))
    def append_to_an_old_head(self, back: int) -> None:
        number = max(0, len(self.events) - 1 - back)
        event = follow(
            self.events[number - 1] if number else None, proposal(10_000), self.epoch + 5
        )
        assert self.refused(change(event)) == "stale_epoch"

    @precondition(lambda self: self.events)
    @rule(data=st.data())
    def append_a_known_key(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(1, len(self.events)))
        event = follow(self.last, proposal(number, text="another body"), self.epoch)
        assert self.refused(change(event)) == "conflict"

    @rule(n=st.integers(1, 6))
    def queue(self, n: int) -> None:
        row = waiting(n)
        self.runner.run(self.store.apply(RoomChange(room_id=ROOM, outbox_put=(row,))))
        self.outbox[n] = row

    @rule(n=st.integers(1, 6), drop=st.booleans())
    def settle(self, n: int, drop: bool) -> None:
        key = waiting(n).proposal.key
        wanted = RoomChange(
            room_id=ROOM,
            outbox_drop=(key,) if drop else (),
            outbox_refuse=() if drop else ((key, "muted"),),
        )
        self.runner.run(self.store.apply(wanted))
        if drop:
            self.outbox.pop(n, None)
        elif n in self.outbox:
            self.outbox[n] = replace(self.outbox[n], state="refused", reason="muted")

    @rule()
    def restart(self) -> None:
        self.close()
        self.database = self.opened()
        assert not self.database.was_unclean

    @rule()
    def crash(self) -> None:
        before = self.path()
        self.lives += 1
        for suffix in ("", "-wal"):
            shutil.copy(f"{before}{suffix}", f"{self.path()}{suffix}")
        self.close()
        self.database = self.opened()
        assert self.database.was_unclean
        assert self.runner.run(self.store.verify_chain(ROOM)) is None

    @invariant()
    def the_disk_holds_what_the_model_holds(self) -> None:
        rooms = self.runner.run(self.store.rooms())
        if not rooms:
            return  # before `begin`
        assert rooms == (room(self.events, epoch=self.epoch),)
        assert self.runner.run(self.store.read(ROOM, 0, 1_000, 1 << 20)) == self.events
        outbox = tuple(self.outbox[n] for n in sorted(self.outbox))
        assert self.runner.run(self.store.outbox(ROOM)) == outbox

    def teardown(self) -> None:
        self.close()
        self.runner.close()
        shutil.rmtree(self.folder)


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
