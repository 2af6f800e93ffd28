"""An edge with toy methods on a real socket, and a fake of what lies behind it.

`FakeStore` stands for the storage of sessions: it keeps rows in memory and counts writes.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from mesh.core.errors import Refused
from mesh.core.inputs import Now
from mesh.core.limits import JSON_INT_MAX
from mesh.http.app import EdgeParts, make_app
from mesh.http.browser_session import BrowserSessions
from mesh.http.own_hosts import OwnHosts
from mesh.http.sockets import HttpSockets
from mesh.rpc import sessions as session_methods
from mesh.rpc.caller import Caller
from mesh.rpc.registry import METHODS, Method, NoParams, method
from mesh.rpc.surface import Surface
from mesh.stores import SessionRow
from mesh.telemetry import Metrics

TOKEN = "t" * 43
INSTALL = "install:" + "0123abcd" * 4
CANARY = "canary-secret-7f3a"


class HandClock:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.wall_ms = 1_700_000_000_000
        self.mono_s = 1_000.0

    def now(self) -> Now:
        return Now(wall_ms=self.wall_ms, mono_s=self.mono_s)

    def pass_s(self, seconds: float) -> None:
        self.wall_ms += int(seconds * 1000)
        self.mono_s += seconds


class CountedEntropy:
    """Distinct bytes on every call, the same in every run."""

    def __init__(self) -> None:
        self._n = 0

    def bytes(self, count: int) -> bytes:
        self._n += 1
        return self._n.to_bytes(count, "big")

    def uniform(self, low: float, high: float) -> float:
        return (low + high) / 2


class KeptLog:
    """A log that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, object]]] = []
        self._written = asyncio.Event()

    async def until(self, event: str) -> None:
        """Wait for a line of that event."""
        while not any(line[1] == event for line in self.lines):
            self._written.clear()
            await self._written.wait()

    def _write(self, level: str, event: str, values: dict[str, object]) -> None:
        self.lines.append((level, event, values))
        self._written.set()

    def debug(self, event: str, **values: object) -> None:
        self._write("debug", event, values)

    def info(self, event: str, **values: object) -> None:
        self._write("info", event, values)

    def warning(self, event: str, **values: object) -> None:
        self._write("warning", event, values)

    def error(self, event: str, **values: object) -> None:
        self._write("error", event, values)


class FakeStore:
    """Sessions and login links in memory; counts what would be an fsync."""

    def __init__(self) -> None:
        self.rows: dict[str, SessionRow] = {}
        self.logins: dict[str, int] = {}
        self.writes = 0

    async def put(self, row: SessionRow) -> None:
        self.writes += 1
        self.rows[row.session_id] = row

    async def all(self) -> tuple[SessionRow, ...]:
        return tuple(self.rows.values())

    async def delete(self, session_id: str) -> bool:
        return self.rows.pop(session_id, None) is not None

    async def put_login(self, secret_sha256: str, expires_at_ms: int) -> None:
        self.logins[secret_sha256] = expires_at_ms

    async def spend_login(self, secret_sha256: str, now_ms: int) -> bool:
        return self.logins.pop(secret_sha256, 0) > now_ms


class ToyParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What the toy methods take."""

    text: str
    count: int = 0


@dataclass
class Toys:
    """Methods that a test can look into: `gate` holds `toy.wait`, `started` is their order."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    started: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    callers: list[Caller] = field(default_factory=list)
    seen: asyncio.Condition = field(default_factory=asyncio.Condition)

    def methods(self) -> dict[str, Method]:
        table: dict[str, Method] = {}

        @method("toy.echo", params=ToyParams, table=table)
        async def echo(surface: Surface, caller: Caller, params: ToyParams) -> dict[str, Any]:
            return {"text": params.text, "count": params.count}

        @method("toy.who", table=table)
        async def who(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
            self.callers.append(caller)
            return {"kind": caller.kind}

        @method("toy.wait", params=ToyParams, table=table)
        async def wait(surface: Surface, caller: Caller, params: ToyParams) -> dict[str, Any]:
            async with self.seen:
                self.started.append(params.text)
                self.seen.notify_all()
            await self.gate.wait()
            async with self.seen:
                self.finished.append(params.text)
                self.seen.notify_all()
            return {"text": params.text}

        @method("toy.refuse", params=ToyParams, table=table)
        async def refuse(surface: Surface, caller: Caller, params: ToyParams) -> dict[str, Any]:
            raise Refused("conflict", "Told to refuse.", seq=7)

        @method("toy.break", table=table)
        async def break_(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
            raise RuntimeError(CANARY)

        @method("toy.subscribe", live=True, table=table)
        async def subscribe(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
            self.callers.append(caller)
            return {}

        @method("toy.program", program=True, table=table)
        async def program(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
            return {"most": JSON_INT_MAX}

        return table

    async def until_finished(self, count: int) -> None:
        async with self.seen:
            await self.seen.wait_for(lambda: len(self.finished) >= count)

    async def until_started(self, count: int) -> None:
        async with self.seen:
            await self.seen.wait_for(lambda: len(self.started) >= count)


def bare_surface(sessions: Any = None) -> Surface:
    """A surface with nothing behind it but sessions."""
    parts: dict[str, Any] = {part.name: None for part in fields(Surface)}
    return Surface(**{**parts, "sessions": sessions})


async def no_link(request: web.Request) -> web.StreamResponse:
    """Stands for the nodes' WebSocket."""
    return web.Response(text="link")


@dataclass
class Edge:
    """A running edge and its parts."""

    url: str
    port: int
    sockets: HttpSockets
    client: aiohttp.ClientSession
    sessions: BrowserSessions
    store: FakeStore
    clock: HandClock
    toys: Toys
    log: KeptLog
    metrics: Metrics
    problems: list[str]

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {TOKEN}"}

    async def cookie(self) -> dict[str, str]:
        """The headers of a browser that has just logged in."""
        link, _ = await self.sessions.login_link()
        secret = await self.sessions.log_in(link.split("#login=")[1], "Toy/1.0")
        return {"Cookie": f"{self.sessions.cookie_name}={secret}", "Origin": self.url}

    async def call(
        self, name: str, params: object = None, headers: dict[str, str] | None = None
    ) -> Any:
        """POST one request as a program and return the whole answer."""
        request = {"jsonrpc": "2.0", "id": 1, "method": name, "params": params or {}}
        async with self.client.post(
            self.url + "/rpc", json=request, headers=headers or self.bearer
        ) as response:
            assert response.status == 200, await response.text()
            return await response.json()


@asynccontextmanager
async def running_edge(
    web_folder: Path | None = None,
    hosts: OwnHosts | None = None,
    methods: dict[str, Method] | None = None,
    tls: ssl.SSLContext | None = None,
    **changes: Any,
) -> AsyncIterator[Edge]:
    """An edge on a free loopback port."""
    clock, store, toys, log, metrics = HandClock(), FakeStore(), Toys(), KeptLog(), Metrics()
    entropy = CountedEntropy()
    address: list[str] = []
    url: Callable[[], str] = lambda: address[0]  # noqa: E731
    sessions = BrowserSessions(
        store=store, clock=clock, entropy=entropy, install_id=INSTALL, url=url
    )
    await sessions.load()
    methods = {**toys.methods(), **session_table(), **(methods or {})}
    problems: list[str] = []
    parts = EdgeParts(
        surface=bare_surface(sessions),
        methods=methods,
        sessions=sessions,
        hosts=hosts or OwnHosts(hostname="toybox"),
        token=TOKEN,
        clock=clock,
        entropy=entropy,
        log=log,
        metrics=metrics,
        problems=lambda: problems,
        well_known=b"{}",
        link=no_link,
        **({"web": web_folder} if web_folder else {}),
        **changes,
    )
    sockets = HttpSockets(make_app(parts))
    await sockets.start()
    server = await asyncio.get_running_loop().create_server(
        sockets.protocol, "127.0.0.1", 0, ssl=tls
    )
    port = server.sockets[0].getsockname()[1]
    address.append(f"{'https' if tls else 'http'}://127.0.0.1:{port}")
    try:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client:
            yield Edge(
                url=address[0],
                port=port,
                sockets=sockets,
                client=client,
                sessions=sessions,
                store=store,
                clock=clock,
                toys=toys,
                log=log,
                metrics=metrics,
                problems=problems,
            )
    finally:
        toys.gate.set()
        server.close()
        await sockets.close()
        await server.wait_closed()


def session_table() -> dict[str, Method]:
    """The real methods on sessions."""
    assert session_methods.__doc__
    return {name: found for name, found in METHODS.items() if name.startswith("node.")}
