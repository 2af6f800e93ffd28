"""Bodies: bounded before they are read, and read only for someone we know."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from mesh.core.limits import RPC_BYTES_MAX
from mesh.http import request_body
from tests.http.edge import TOKEN, Edge, running_edge

FRAMINGS = ["Content-Length: 500000000", "Transfer-Encoding: chunked"]


async def send_head(edge: Edge, *headers: str) -> tuple[bytes, dict[str, str]]:
    """Send a POST's header and a first piece, never the rest; read the answer to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
    head = ["POST /rpc HTTP/1.1", f"Host: 127.0.0.1:{edge.port}", *headers, "", ""]
    writer.write("\r\n".join(head).encode() + b"5\r\n[1,2,\r\n")
    status = await reader.readline()
    body = await reader.read()
    writer.close()
    await writer.wait_closed()
    return status, json.loads(body.partition(b"\r\n\r\n")[2])["error"]


@pytest.mark.parametrize("framing", FRAMINGS)
async def test_a_stranger_is_refused_before_the_body(framing: str) -> None:
    async with running_edge() as edge:
        origin = f"Origin: {edge.url}"
        status, error = await send_head(edge, "Content-Type: application/json", origin, framing)
        assert b" 401 " in status
        assert error["reason"] == "unauthenticated"


async def test_a_large_body_is_refused_by_its_length() -> None:
    async with running_edge() as edge:
        status, error = await send_head(
            edge, "Content-Type: application/json", f"Authorization: Bearer {TOKEN}", FRAMINGS[0]
        )
        assert b" 413 " in status
        assert error["reason"] == "too_large"


async def test_a_large_body_without_a_length_is_refused_at_the_bound() -> None:
    async with running_edge() as edge:
        pieces = [b" " * 65_536] * (RPC_BYTES_MAX // 65_536 + 1)

        async def stream() -> AsyncIterator[bytes]:
            for piece in pieces:
                yield piece

        headers = {**edge.bearer, "Content-Type": "application/json"}
        async with edge.client.post(edge.url + "/rpc", data=stream(), headers=headers) as response:
            assert response.status == 413


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
async def test_what_a_form_could_send_is_refused(headers: dict[str, str]) -> None:
    async with running_edge() as edge:
        url = edge.url + "/rpc"
        async with edge.client.post(
            url, data=b"{}", headers={**edge.bearer, **headers}
        ) as response:
            assert response.status == 400
            assert (await response.json())["error"]["reason"] == "invalid_request"


async def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "HTTP_BODY_S", 0.01)
    async with running_edge() as edge:
        status, error = await send_head(
            edge,
            "Content-Type: application/json",
            f"Authorization: Bearer {TOKEN}",
            "Transfer-Encoding: chunked",
        )
        assert b" 504 " in status
        assert error["reason"] == "timeout"
