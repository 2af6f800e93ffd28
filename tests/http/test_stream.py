"""The WebSocket: who may open it, in which order it works, and when it is cut."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType

from mesh.core.limits import (
    CALLS_IN_FLIGHT_MAX,
    CALLS_WAITING_MAX,
    SUBSCRIBER_QUEUE_BYTES_MAX,
    SUBSCRIBER_QUEUE_MAX,
)
from mesh.http import stream
from mesh.ports import Connection
from tests.http.edge import TOKEN, Edge, running_edge


def request(request_id: int, name: str, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": name, "params": params})


async def open_stream(edge: Edge, **headers: str) -> aiohttp.ClientWebSocketResponse:
    return await edge.client.ws_connect(edge.url + "/rpc", headers=headers or edge.bearer)


async def subscribed(edge: Edge, socket: aiohttp.ClientWebSocketResponse) -> Connection:
    """Subscribe and return the node's end of the connection."""
    await socket.send_str(request(1, "toy.subscribe"))
    assert (await socket.receive_json())["result"] == {}
    connection = edge.toys.callers[-1].connection
    assert connection is not None
    return connection


async def refused(edge: Edge, **headers: str) -> int:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await open_stream(edge, **headers)
    assert TOKEN not in str(refusal.value)
    return refusal.value.status


async def test_requests_are_answered_by_id() -> None:
    async with running_edge() as edge:
        socket = await open_stream(edge)
        for n in range(5):
            await socket.send_str(request(n, "toy.echo", text="é" * n, count=n))
        answers = [await socket.receive_json() for _ in range(5)]
        assert [(a["id"], a["result"]["count"]) for a in answers] == [(n, n) for n in range(5)]
        await socket.close()


async def test_only_programs_and_our_page_may_open_it() -> None:
    async with running_edge() as edge:
        cookie = await edge.cookie()
        await (await open_stream(edge, **cookie)).close()
        await (await open_stream(edge, **edge.bearer, Origin=edge.url)).close()
        foreign = "https://evil.example"
        assert await refused(edge, Origin=foreign) == 403
        assert await refused(edge, Cookie=cookie["Cookie"], Origin=foreign) == 403
        assert await refused(edge, Cookie=cookie["Cookie"], Origin="null") == 403
        assert await refused(edge, Cookie=cookie["Cookie"]) == 403
        assert await refused(edge, **edge.bearer, Origin=foreign) == 403
        assert await refused(edge, Origin=edge.url) == 401
        assert await refused(edge, Authorization="Bearer wrong") == 401
        assert await refused(edge, **edge.bearer, Host="evil.example") == 421


async def test_compression_is_never_agreed() -> None:
    async with running_edge() as edge:
        socket = await edge.client.ws_connect(edge.url + "/rpc", headers=edge.bearer, compress=15)
        assert socket.compress == 0
        await socket.close()


async def test_calls_start_in_the_order_in_which_they_came() -> None:
    async with running_edge() as edge:
        socket = await open_stream(edge)
        more = CALLS_IN_FLIGHT_MAX + 40
        for n in range(more):
            await socket.send_str(request(n, "toy.wait", text=str(n)))
        await edge.toys.until_started(CALLS_IN_FLIGHT_MAX)
        assert edge.toys.started == [str(n) for n in range(CALLS_IN_FLIGHT_MAX)]
        edge.toys.gate.set()
        answers = [await socket.receive_json() for _ in range(more)]
        assert edge.toys.started == [str(n) for n in range(more)]
        assert {a["id"] for a in answers} == set(range(more))
        await socket.close()


async def test_too_many_waiting_calls_are_refused_as_busy() -> None:
    async with running_edge() as edge:
        socket = await open_stream(edge)
        taken = CALLS_IN_FLIGHT_MAX + CALLS_WAITING_MAX
        for n in range(taken + 2):
            await socket.send_str(request(n, "toy.wait", text=str(n)))
        for n in (taken, taken + 1):
            answer = await socket.receive_json()
            assert (answer["id"], answer["error"]["data"]["reason"]) == (n, "busy")
        await socket.close()


async def test_notifications_arrive_in_order() -> None:
    async with running_edge() as edge:
        socket = await open_stream(edge)
        connection = await subscribed(edge, socket)
        for n in range(SUBSCRIBER_QUEUE_MAX):
            connection.notify(json.dumps({"n": n, "text": "héllo"}).encode())
        got = [await socket.receive_json() for _ in range(SUBSCRIBER_QUEUE_MAX)]
        assert got == [{"n": n, "text": "héllo"} for n in range(SUBSCRIBER_QUEUE_MAX)]
        await socket.close()


async def test_a_reader_who_catches_up_is_not_cut() -> None:
    async with running_edge() as edge:
        socket = await open_stream(edge)
        connection = await subscribed(edge, socket)
        pages = 8

        async def catch_up() -> None:
            for n in range(pages * SUBSCRIBER_QUEUE_MAX // 2):
                if n % (SUBSCRIBER_QUEUE_MAX // 2) == 0:
                    await connection.drain()
                connection.notify(b"%d" % n)

        async with asyncio.TaskGroup() as group:
            group.create_task(catch_up())
            for n in range(pages * SUBSCRIBER_QUEUE_MAX // 2):
                assert await socket.receive_str() == str(n)
        assert not connection.closed
        await socket.close()


async def raw_subscriber(edge: Edge) -> tuple[Connection, asyncio.StreamReader, Any]:
    """A client that reads its answer and then nothing; its buffers are as small as they get."""
    reader, writer = await asyncio.open_connection("127.0.0.1", edge.port, limit=1024)
    head = (
        f"GET /rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
    )
    writer.write(head.encode())
    await reader.readuntil(b"\r\n\r\n")
    text = request(1, "toy.subscribe").encode()
    writer.write(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
    await reader.readuntil(b"}")
    connection = edge.toys.callers[-1].connection
    assert connection is not None
    return connection, reader, writer


@pytest.mark.parametrize("size_bytes", [16_000, SUBSCRIBER_QUEUE_BYTES_MAX // 4])
async def test_a_reader_who_does_not_read_is_cut_and_others_are_not(size_bytes: int) -> None:
    async with running_edge() as edge:
        connection, reader, writer = await raw_subscriber(edge)
        other = await open_stream(edge)
        beside = await subscribed(edge, other)
        ended = asyncio.Event()
        connection.on_close(ended.set)
        sent = 0
        while not connection.closed:
            connection.notify(b"x" * size_bytes)
            sent += 1
            await asyncio.sleep(0)
        assert ended.is_set()
        assert sent * size_bytes < 64 << 20
        beside.notify(b'"still here"')
        assert await other.receive_json() == "still here"
        # Who wakes up in time hears why.
        rest = await reader.read()
        assert rest.endswith(b"\x0f\xa8slow_reader")
        writer.close()
        await other.close()
        await edge.log.until("stream.slow_reader")
        assert "roommesh_slow_readers_total 1.0" in edge.metrics.render().decode()


async def test_a_cut_reader_who_stays_asleep_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CUT_READER_S", 0.05)
    async with running_edge() as edge:
        connection, _, writer = await raw_subscriber(edge)
        while not connection.closed:
            connection.notify(b"x" * 100_000)
            await asyncio.sleep(0)
        await edge.log.until("stream.slow_reader")
        writer.transport.abort()


async def test_an_answer_is_never_a_reason_to_cut() -> None:
    async with running_edge() as edge:
        socket = await open_stream(edge)
        size, calls = 600_000, 40
        for n in range(calls):
            await socket.send_str(request(n, "toy.echo", text="x" * size))
        for n in range(calls):
            assert (await socket.receive_json())["id"] == n
        await socket.close()


async def test_the_end_is_told_once_and_late_listeners_at_once() -> None:
    async with running_edge() as edge:
        socket = await open_stream(edge)
        connection = await subscribed(edge, socket)
        calls: list[str] = []
        ended = asyncio.Event()
        connection.on_close(lambda: calls.append("first"))
        connection.on_close(ended.set)
        await socket.close()
        await ended.wait()
        connection.on_close(lambda: calls.append("late"))
        assert calls == ["first", "late"]
        connection.notify(b"{}")
        await connection.drain()
        assert connection.closed


async def test_a_call_under_way_is_finished_after_the_client_has_gone() -> None:
    async with running_edge() as edge:
        socket = await open_stream(edge)
        connection = await subscribed(edge, socket)
        await socket.send_str(request(2, "toy.wait", text="accept"))
        await edge.toys.until_started(1)
        ended = asyncio.Event()
        connection.on_close(ended.set)
        await socket.close()
        await ended.wait()
        edge.toys.gate.set()
        await edge.toys.until_finished(1)
        assert edge.toys.finished == ["accept"]


async def test_a_call_that_does_not_end_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "DRAIN_S", 0.02)
    async with running_edge() as edge:
        socket = await open_stream(edge)
        await socket.send_str(request(2, "toy.wait", text="stuck"))
        await edge.toys.until_started(1)
        await socket.close()
        await edge.log.until("stream.calls_cancelled")
        assert edge.toys.finished == []


@pytest.mark.parametrize(("size", "code"), [(1 << 20, None), ((1 << 20) + 1, 1009)])
async def test_a_message_has_a_bound(size: int, code: int | None) -> None:
    async with running_edge() as edge:
        socket = await edge.client.ws_connect(edge.url + "/rpc", headers=edge.bearer)
        await socket.send_str(request(1, "toy.echo", text="").ljust(size))
        message = await socket.receive()
        if code is None:
            assert message.type is WSMsgType.TEXT
        else:
            assert message.type is WSMsgType.CLOSE
        assert socket.close_code == code
        await socket.close()


async def test_bytes_are_not_requests() -> None:
    async with running_edge() as edge:
        socket = await open_stream(edge)
        await socket.send_bytes(request(1, "toy.who").encode())
        assert (await socket.receive()).type is WSMsgType.CLOSE
        assert socket.close_code == 1003
        assert edge.toys.callers == []


async def test_an_ended_session_cuts_its_open_pages() -> None:
    async with running_edge() as edge:
        socket = await open_stream(edge, **await edge.cookie())
        program = await open_stream(edge)
        await subscribed(edge, socket)
        (row,) = edge.sessions.rows()
        await edge.sessions.revoke(row.session_id)
        assert (await socket.receive()).type is WSMsgType.CLOSE
        assert socket.close_code == 4001
        await program.send_str(request(1, "toy.who"))
        assert (await program.receive_json())["result"] == {"kind": "program"}
        await program.close()


async def test_the_drain_says_goodbye() -> None:
    async with running_edge() as edge:
        socket = await open_stream(edge)
        await subscribed(edge, socket)
        async with asyncio.TaskGroup() as group:
            group.create_task(edge.sockets.close())
            assert (await socket.receive()).type is WSMsgType.CLOSE
        assert socket.close_code == 1001
