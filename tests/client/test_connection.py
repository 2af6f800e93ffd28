"""Requests, deadlines, drops, and readers that miss nothing."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from mesh.client import (
    CapabilityUnavailable,
    DeadlinePassed,
    InputMismatch,
    OutcomeUnknown,
    ReceiptNotFound,
    RequestRejected,
    RoomEvent,
    RoomGap,
    RoomItem,
    RoomSignal,
    Unreachable,
    connect,
    connection,
)
from mesh.client.subscription import QUEUE_MAX
from tests.client.fake_node import FakeRooms, fake_node, write_control
from tests.http.edge import TOKEN, running_edge

ROOM = "r_" + "1" * 32


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def rooms() -> FakeRooms:
    return FakeRooms(logs={ROOM: []})


def seqs(items: list[RoomItem]) -> list[int]:
    return [item.seq for item in items if isinstance(item, RoomEvent)]


async def test_a_request_finds_the_node_through_its_home(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms), connect(home) as node:
        assert await node.request("toy.echo", {"text": "a"}) == {"text": "a", "count": 0}
        assert node.is_up


async def test_a_node_is_found_by_url_and_token() -> None:
    async with running_edge() as edge, connect(url=edge.url + "/", token=TOKEN) as node:
        assert await node.request("toy.who") == {"kind": "program"}


async def test_what_the_block_raises_stays_what_it_is(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms):
        with pytest.raises(KeyError):
            async with connect(home):
                raise KeyError("mine")


async def test_without_a_node_nothing_is_asked(home: Path) -> None:
    with pytest.raises(Unreachable, match="No node is running") as error:
        async with connect(home):
            pass
    assert "roommesh up" in error.value.next
    with pytest.raises(Unreachable, match="No node answers at"):
        async with connect(url="http://127.0.0.1:9", token=TOKEN):
            pass
    with pytest.raises(ValueError, match="go together"):
        connect(url="http://127.0.0.1:9")


async def test_refusals_have_their_type(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms), connect(home) as node:
        with pytest.raises(CapabilityUnavailable):
            await node.request("toy.nothing")
        with pytest.raises(ReceiptNotFound):
            await node.invitations.operation("q_1")
        with pytest.raises(InputMismatch):
            await node.invitations.accept("link", request_id="q_1")
        with pytest.raises(RequestRejected) as error:
            await node.request("toy.refuse", {"text": "a"})
        assert (error.value.reason, error.value.status) == ("conflict", 409)
        assert error.value.fields == {"seq": 7}


async def test_requests_overlap_and_each_gets_its_answer(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms) as edge, connect(home) as node:
        async with asyncio.TaskGroup() as group:
            slow = group.create_task(node.request("toy.wait", {"text": "slow"}))
            await edge.toys.until_started(1)
            assert (await node.request("toy.echo", {"text": "quick"}))["text"] == "quick"
            edge.toys.gate.set()
        assert slow.result() == {"text": "slow"}


async def test_a_lost_reply_of_a_change_is_never_repeated(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms), connect(home) as node:
        rooms.mute = {"groups.send"}
        with pytest.raises(OutcomeUnknown) as error:
            await node.rooms.send(ROOM, "hello", event_id="e_mine")
        assert error.value.request_id == "e_mine"
        assert [name for name, _ in rooms.calls] == ["groups.send"]
        # The caller may send the same identity again; only the caller.
        assert (await node.rooms.send(ROOM, "hello", event_id="e_mine"))["accepted"]


async def test_a_lost_reply_of_a_read_is_asked_again(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms), connect(home) as node:
        rooms.mute = {"groups.log"}
        assert await node.rooms.log(ROOM) == {"events": []}
        assert [name for name, _ in rooms.calls] == ["groups.log", "groups.log"]


async def test_a_socket_that_is_closing_is_not_tried_twice(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms), connect(home) as node:
        # The transport is closing and whoever reads from it has not had a turn yet. Asking on it
        # again and again would never give it one.
        node._socket._writer.transport.close()  # type: ignore[union-attr]
        with pytest.raises(OutcomeUnknown):
            await node.request("toy.echo", {"text": "a"})
        assert not node.is_up
        assert await node.rooms.log(ROOM)
        node._socket._writer.transport.close()  # type: ignore[union-attr]
        assert await node.rooms.log(ROOM)


async def test_a_deadline_tells_reads_from_changes(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms), connect(home) as node:
        with pytest.raises(OutcomeUnknown):
            await node.request("toy.wait", {"text": "a"}, deadline_s=0.02)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "READS", frozenset({"toy.wait"}))
        async with fake_node(home, rooms), connect(home) as node:
            with pytest.raises(DeadlinePassed, match="was not answered"):
                await node.request("toy.wait", {"text": "a"}, deadline_s=0.02)


async def test_a_node_that_starts_again_elsewhere_is_found(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms) as first:
        client = connect(home)
        await client.__aenter__()
        before = first.url
    with pytest.raises(Unreachable, match="within"):
        params = {"room_id": ROOM, "event_id": "e_1", "payload": {"text": "nobody there"}}
        await client.request("groups.send", params, deadline_s=0.05)
    assert rooms.calls == []
    async with fake_node(home, rooms) as second:
        assert second.url != before
        assert (await client.rooms.send(ROOM, "back"))["accepted"]
        await client.__aexit__(None, None, None)


async def test_a_closed_connection_answers_nothing(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms):
        async with connect(home) as node:
            pass
        with pytest.raises(Unreachable, match="closed"):
            await node.request("toy.who")


async def test_a_reader_gets_the_log_then_what_comes(home: Path, rooms: FakeRooms) -> None:
    for n in range(3):
        rooms.add(ROOM, f"before {n}")
    async with fake_node(home, rooms), connect(home) as node:
        items: list[RoomItem] = []
        async with aclosing(node.subscribe(ROOM, 1)) as reader:
            async for item in reader:
                items.append(item)
                if len(items) == 2:
                    rooms.add(ROOM, "live")
                    rooms.signal(ROOM, "delta")
                if len(items) == 4:
                    break
        assert seqs(items) == [2, 3, 4]
        assert isinstance(items[3], RoomSignal) and items[3].kind == "turn.delta"
        assert isinstance(items[2], RoomEvent) and items[2].payload == {"text": "live"}
        assert rooms.readers[ROOM] == []


async def test_events_of_an_outage_come_once_and_in_order(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms), connect(home) as node:
        rooms.add(ROOM, "1")
        got: list[RoomItem] = []
        async with aclosing(node.subscribe(ROOM)) as reader:
            async for item in reader:
                got.append(item)
                if len(got) in {1, 6, 11}:
                    rooms.add(ROOM, "pushed, and maybe lost with the connection")
                    rooms.drop_all()
                    for _ in range(4):
                        rooms.add(ROOM, "while away")
                if len(got) == 16:
                    break
        assert seqs(got) == list(range(1, 17))


async def test_a_reader_follows_a_node_that_starts_again(home: Path, rooms: FakeRooms) -> None:
    got: list[RoomItem] = []

    async def read(client: Any) -> None:
        async with aclosing(client.subscribe(ROOM)) as reader:
            async for item in reader:
                got.append(item)
                if len(got) == 3:
                    return

    async with fake_node(home, rooms):
        client = connect(home)
        await client.__aenter__()
        rooms.add(ROOM, "1")
    rooms.readers.clear()
    rooms.add(ROOM, "2")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(read(client))
        async with fake_node(home, rooms):
            rooms.add(ROOM, "3")
            await task
            await client.__aexit__(None, None, None)
    assert seqs(got) == [1, 2, 3]


async def test_a_slow_reader_misses_no_event(home: Path, rooms: FakeRooms) -> None:
    total = 3 * QUEUE_MAX
    async with fake_node(home, rooms), connect(home) as node:
        rooms.add(ROOM, "first")
        got: list[int] = []
        async with aclosing(node.subscribe(ROOM)) as reader:
            async for item in reader:
                assert isinstance(item, RoomEvent)
                got.append(item.seq)
                if item.seq == 1:
                    for n in range(total - 1):
                        rooms.add(ROOM, str(n))
                        if n % 100 == 0:
                            await node.request("toy.who")
                if item.seq == total:
                    break
        assert got == list(range(1, total + 1))


async def test_a_gap_in_what_is_pushed_is_fetched(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms), connect(home) as node:
        rooms.add(ROOM, "1")
        got: list[RoomItem] = []
        async with aclosing(node.subscribe(ROOM)) as reader:
            async for item in reader:
                got.append(item)
                if len(got) == 1:
                    kept = rooms.readers.pop(ROOM)
                    rooms.add(ROOM, "2, which is not pushed")
                    rooms.readers[ROOM] = kept
                    rooms.add(ROOM, "3")
                if len(got) == 3:
                    break
        assert seqs(got) == [1, 2, 3]


async def test_a_cursor_ahead_of_the_log_gets_a_gap(home: Path, rooms: FakeRooms) -> None:
    rooms.add(ROOM, "1")
    async with fake_node(home, rooms), connect(home) as node:
        got: list[RoomItem] = []
        async with aclosing(node.subscribe(ROOM, 9)) as reader:
            async for item in reader:
                got.append(item)
                if len(got) == 1:
                    rooms.add(ROOM, "2")
                if len(got) == 2:
                    break
        assert got[0] == RoomGap(room_id=ROOM, from_seq=9, latest_seq=1, state={"room": {}})
        assert seqs(got) == [2]


async def test_a_room_that_is_not_there_is_said(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms), connect(home) as node:
        with pytest.raises(RequestRejected, match="not_found"):
            async for _ in node.subscribe("r_none"):
                pass


async def test_a_second_reader_takes_the_place(home: Path, rooms: FakeRooms) -> None:
    rooms.add(ROOM, "1")
    async with fake_node(home, rooms), connect(home) as node:
        first = node.subscribe(ROOM)
        assert isinstance(await anext(first), RoomEvent)
        async with aclosing(node.subscribe(ROOM)) as second:
            item = await anext(second)
            assert isinstance(item, RoomEvent) and item.seq == 1
            with pytest.raises(RequestRejected, match="took over"):
                await anext(first)
            rooms.add(ROOM, "2")
            item = await anext(second)
            assert isinstance(item, RoomEvent) and item.seq == 2


async def test_readers_end_when_the_connection_is_closed(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms):
        async with connect(home) as node:
            reader = node.subscribe(ROOM)
            rooms.add(ROOM, "1")
            await anext(reader)
        with pytest.raises(Unreachable, match="closed"):
            await anext(reader)


async def test_changes_of_the_node_are_told_and_told_again(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms), connect(home) as node:
        async with aclosing(node.changes()) as changes:
            assert await anext(changes) is None
            rooms.changed("rooms")
            assert await anext(changes) == "rooms"
            rooms.drop_all()
            assert await anext(changes) is None
            rooms.changed("links")
            assert await anext(changes) == "links"


async def test_what_a_node_never_says_is_as_good_as_a_drop(home: Path, rooms: FakeRooms) -> None:
    rooms.add(ROOM, "1")
    async with fake_node(home, rooms), connect(home) as node:
        async with aclosing(node.subscribe(ROOM)) as reader:
            assert seqs([await anext(reader)]) == [1]
            rooms.readers.pop(ROOM)[0].notify(b"{not json")
            rooms.add(ROOM, "2")
            assert seqs([await anext(reader)]) == [2]
        assert [name for name, _ in rooms.calls].count("groups.subscribe") == 2


async def test_a_token_that_no_longer_counts_ends_a_connection_by_url(
    monkeypatch: pytest.MonkeyPatch, rooms: FakeRooms
) -> None:
    denied = RequestRejected("unauthenticated", "Not this token.", status=401)

    async def refuse(*_: object) -> None:
        raise denied

    rooms.add(ROOM, "1")
    async with (
        running_edge(methods=rooms.methods()) as edge,
        connect(url=edge.url, token=TOKEN) as node,
        aclosing(node.subscribe(ROOM)) as reader,
    ):
        await anext(reader)
        monkeypatch.setattr(node._address, "open", refuse)
        rooms.drop_all()
        with pytest.raises(RequestRejected) as error:
            await anext(reader)
        assert error.value is denied
        with pytest.raises(RequestRejected):
            await node.request("toy.who")


async def test_an_old_token_in_the_home_is_read_again(home: Path, rooms: FakeRooms) -> None:
    async with fake_node(home, rooms) as edge, connect(home) as node:
        write_control(home, edge.url, token="x" * 43)
        rooms.connections.clear()
        await node.rooms.log(ROOM)
        rooms.drop_all()
        with pytest.raises((Unreachable, DeadlinePassed)):
            await node.request("groups.log", {"room_id": ROOM}, deadline_s=0.3)
        write_control(home, edge.url)
        assert await node.request("toy.who") == {"kind": "program"}
