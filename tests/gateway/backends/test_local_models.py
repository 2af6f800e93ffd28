"""Looking for local model servers: quick, all at once, and not put off by strangers."""

import asyncio
from contextlib import AsyncExitStack

from gateway.backends.local_models import PORTS, Found, discover_local_models
from tests.gateway.backends.raw_server import closed_port, raw_server, response
from tests.stub_model.process import StubModel


def port_of(base_url: str) -> int:
    return int(base_url.rsplit(":", 1)[1].removesuffix("/v1"))


async def test_finds_model_servers_among_strangers(stub: StubModel) -> None:
    async with AsyncExitStack() as stack:
        strangers = [
            await stack.enter_async_context(raw_server(response(b"<html>", kind="text/html"))),
            await stack.enter_async_context(raw_server(b"SSH-2.0-OpenSSH_9.2\r\n")),
            await stack.enter_async_context(raw_server(response(b'{"data":[]}'))),
            await stack.enter_async_context(raw_server(b"", hangs=True)),
            await closed_port(),
        ]
        ports = [*map(port_of, strangers), stub.port]
        started = asyncio.get_running_loop().time()
        found = await discover_local_models(ports)
        took_s = asyncio.get_running_loop().time() - started
    assert found == [Found(base_url=stub.url, model="stub-echo")], "an embedder cannot talk"
    assert took_s < 2 * 0.3, "all at once, each within its time"


async def test_nobody_there() -> None:
    assert await discover_local_models([port_of(await closed_port())]) == []


def test_the_usual_ports() -> None:
    assert PORTS == (11434, 8080, 1234)
