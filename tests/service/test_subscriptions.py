"""Readers: in order, without a gap, whatever happens while they catch up."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from mesh.core.errors import Refused, StorageFailed
from mesh.core.event import Event
from mesh.service import subscriptions
from mesh.service.subscriptions import Subscriptions
from tests.service.installs import Client, a_house, turns_of_the_loop


class Numbered:
    """Stands for an event: only its seq is looked at here."""

    def __init__(self, seq: int) -> None:
        self.seq = seq


class Book:
    """A log of so many events, whose reading a test may hold up or break."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.faults: list[Exception] = []
        self.reads = 0
        self.may_read = asyncio.Event()
        self.may_read.set()

    async def page(self, since_seq: int, limit: int) -> Sequence[Event]:
        """Events after a cursor."""
        self.reads += 1
        await self.may_read.wait()
        if self.faults:
            raise self.faults.pop()
        upto = min(self.size, since_seq + limit)
        return [cast(Event, Numbered(seq)) for seq in range(since_seq + 1, upto + 1)]


def readers_of(book: Book) -> Subscriptions:
    """The readers of a room whose log is that book."""
    return Subscriptions("r", book.page, lambda event: {"n": event.seq}, book.size)


def show(readers: Subscriptions, book: Book) -> None:
    """The next event is on the disk."""
    book.size += 1
    readers.show(cast(Event, Numbered(book.size)))


async def test_a_reader_catches_up_page_by_page_and_goes_live_without_a_gap() -> None:
    book, client = Book(1_000), Client()
    readers = readers_of(book)
    reader = readers.add(client, 3)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(readers.catch_up(reader))
        for _ in range(30):  # the room goes on meanwhile
            await asyncio.sleep(0)
            show(readers, book)
    show(readers, book)
    assert client.seqs() == list(range(4, book.size + 1))
    assert book.reads >= 5


async def test_a_reader_that_is_slow_is_waited_for_between_pages() -> None:
    book, client = Book(500), Client()
    readers = readers_of(book)
    client.is_roomy.clear()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(readers.catch_up(readers.add(client, 0)))
        await turns_of_the_loop()
        assert client.seqs() == list(range(1, 201))
        client.is_roomy.set()
    assert client.seqs() == list(range(1, 501))


async def test_a_page_that_cannot_be_read_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "_RETRY_S", 0)
    book, client = Book(10), Client()
    readers = readers_of(book)
    book.faults = [Refused("busy", "Too many reads."), StorageFailed("storage_failed", "No.")]
    await readers.catch_up(readers.add(client, 0))
    assert client.seqs() == list(range(1, 11)) and book.reads == 3


async def test_a_connection_reads_a_room_once_and_is_asked_about_its_end_once() -> None:
    book, client = Book(5), Client()
    readers = readers_of(book)
    for since in (0, 2, 4):
        await readers.catch_up(readers.add(client, since))
    assert len(readers) == 1 and len(client.callbacks) == 1
    assert client.seqs() == [1, 2, 3, 4, 5, 3, 4, 5, 5]
    show(readers, book)
    assert client.seqs()[-1] == 6 and client.seqs().count(6) == 1
    client.close()
    assert len(readers) == 0
    again = readers.add(client, 0)
    assert again.stopped and len(readers) == 0, "a closed connection reads nothing"


async def test_a_reader_that_left_gets_nothing_more() -> None:
    book, client = Book(400), Client()
    readers = readers_of(book)
    client.is_roomy.clear()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(readers.catch_up(readers.add(client, 0)))
        await turns_of_the_loop()
        assert readers.remove(client) and not readers.remove(client)
        client.is_roomy.set()
    show(readers, book)
    assert client.seqs() == list(range(1, 201))


async def test_signals_reach_only_who_is_live() -> None:
    book, live, behind = Book(3), Client(), Client()
    readers = readers_of(book)
    await readers.catch_up(readers.add(live, 3))
    book.may_read.clear()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(readers.catch_up(readers.add(behind, 0)))
        await turns_of_the_loop()
        readers.tell({"kind": "presence"})
        book.may_read.set()
    assert live.signals("presence") and not behind.signals("presence")


async def test_there_is_room_for_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "SUBSCRIBERS_MAX", 2)
    readers = readers_of(Book(1))
    first = Client()
    for client in (first, Client()):
        readers.add(client, 0)
    with pytest.raises(Refused, match="busy"):
        readers.add(Client(), 0)
    readers.add(first, 1)  # its own place is not another one


async def test_a_cursor_ahead_is_told_of_the_gap_with_a_snapshot(tmp_path: Path) -> None:
    """Situation 154, at the service."""
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")
        client = await host.follows(room_id, since_seq=9)
        gap: dict[str, Any] = client.told[0]
        assert (gap["type"], gap["from_seq"], gap["latest_seq"]) == ("group.gap", 9, 1)
        assert gap["state"]["room"]["room_id"] == room_id
        await host.says(room_id, "after")
        await client.until(lambda c: c.seqs() == [2])
