"""Sockets that ask nothing are cut; those that ask are not."""

import asyncio

import pytest

from mesh.http import sockets
from tests.http.edge import running_edge


async def test_a_header_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "HTTP_HEADER_S", 0.02)
    async with running_edge() as edge:
        reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
        writer.write(b"GET /livez HTTP/1.1\r\nHost: local")
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_a_second_request_has_its_own_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "HTTP_IDLE_S", 0.02)
    async with running_edge() as edge:
        reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
        writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /livez HT")
        answer = await reader.read()
        assert answer.count(b"200 OK") == 1
        writer.close()
        await writer.wait_closed()


async def test_a_long_request_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "HTTP_HEADER_S", 0.02)
    monkeypatch.setattr(sockets, "HTTP_IDLE_S", 0.02)
    async with running_edge() as edge, asyncio.TaskGroup() as group:
        call = group.create_task(edge.call("toy.wait", {"text": "long"}))
        await edge.toys.until_started(1)
        # A second socket is cut meanwhile: more than the bound has passed for the first.
        reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        edge.toys.gate.set()
        assert (await call)["result"] == {"text": "long"}


async def test_a_header_without_end_is_refused() -> None:
    async with running_edge() as edge:
        reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
        writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 100_000)
        answer = await reader.read()
        assert answer.split(b" ")[1] == b"400"
        writer.close()
        await writer.wait_closed()
