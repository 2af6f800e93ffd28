"""A fake node for the SDK: the real edge, in front of rooms that are lists.

`FakeRooms` keeps logs in memory and pushes to subscribers; tests drop connections, hold replies and
start it again at another address, as a node does.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mesh.core.errors import Refused
from mesh.http.stream import LiveConnection
from mesh.ports import Connection
from mesh.rpc.caller import Caller
from mesh.rpc.registry import Method, NoParams, method
from mesh.rpc.surface import Surface
from tests.http.edge import INSTALL, TOKEN, Edge, running_edge


class Anything(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Parameters of all the faked methods together."""

    room_id: str = ""
    since_seq: int = 0
    limit: int = 100
    event_id: str = ""
    payload: dict[str, Any] = {}
    request_id: str = ""
    link: str = ""
    lend: list[dict[str, Any]] = []
    display_name: str = ""
    wait_ms: int = 0


@dataclass
class FakeRooms:
    """Rooms as lists of events, and who reads them."""

    logs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    readers: dict[str, list[Connection]] = field(default_factory=dict)
    connections: list[Connection] = field(default_factory=list)
    node_readers: list[Connection] = field(default_factory=list)
    calls: list[tuple[str, Anything]] = field(default_factory=list)
    mute: set[str] = field(default_factory=set)

    def add(self, room_id: str, text: str) -> dict[str, Any]:
        """Append an event and push it."""
        log = self.logs.setdefault(room_id, [])
        event = {"seq": len(log) + 1, "kind": "message.user", "payload": {"text": text}}
        log.append(event)
        for reader in self.readers.get(room_id, []):
            push(reader, type="group.event", room_id=room_id, seq=event["seq"], payload=event)
        return event

    def signal(self, room_id: str, text: str) -> None:
        """Push something that is not stored."""
        for reader in self.readers.get(room_id, []):
            payload = {"kind": "turn.delta", "text": text}
            push(reader, type="group.signal", room_id=room_id, payload=payload)

    def drop_all(self) -> None:
        """Cut every connection, as a lost network does."""
        for connection in self.connections:
            assert isinstance(connection, LiveConnection)
            connection._transport.abort()
        self.connections.clear()
        self.readers.clear()
        self.node_readers.clear()

    def methods(self) -> dict[str, Method]:
        """The faked part of the surface."""
        table: dict[str, Method] = {}

        @method("groups.subscribe", params=Anything, live=True, table=table)
        async def subscribe(surface: Surface, caller: Caller, params: Anything) -> dict[str, Any]:
            connection = self.met(caller, "groups.subscribe", params)
            if params.room_id not in self.logs:
                raise Refused("not_found", "There is no such room.")
            log = self.logs[params.room_id]
            self.readers.setdefault(params.room_id, []).append(connection)
            if params.since_seq > len(log):
                push(
                    connection,
                    type="group.gap",
                    room_id=params.room_id,
                    from_seq=params.since_seq,
                    latest_seq=len(log),
                    state={"room": {}},
                )
            for event in log[params.since_seq :]:
                await connection.drain()
                push(
                    connection,
                    type="group.event",
                    room_id=params.room_id,
                    seq=event["seq"],
                    payload=event,
                )
            return {"latest_seq": len(log), "protected_seq": len(log), "authority": {}}

        @method("groups.unsubscribe", params=Anything, table=table)
        async def leave(surface: Surface, caller: Caller, params: Anything) -> dict[str, Any]:
            connection = self.met(caller, "groups.unsubscribe", params)
            readers = self.readers.get(params.room_id, [])
            self.readers[params.room_id] = [one for one in readers if one is not connection]
            return {}

        @method("groups.send", params=Anything, table=table)
        async def send(surface: Surface, caller: Caller, params: Anything) -> dict[str, Any]:
            self.met(caller, "groups.send", params)
            return {"event": self.add(params.room_id, params.payload["text"]), "accepted": True}

        @method("groups.log", params=Anything, table=table)
        async def log_(surface: Surface, caller: Caller, params: Anything) -> dict[str, Any]:
            self.met(caller, "groups.log", params)
            return {"events": self.logs[params.room_id]}

        @method("invitations.accept", params=Anything, table=table)
        async def accept(surface: Surface, caller: Caller, params: Anything) -> dict[str, Any]:
            self.met(caller, "invitations.accept", params)
            raise Refused("conflict", "Other input.")

        @method("invitations.operation", params=Anything, table=table)
        async def operation(surface: Surface, caller: Caller, params: Anything) -> dict[str, Any]:
            raise Refused("not_found", "No such receipt.")

        @method("node.subscribe", live=True, table=table)
        async def node(surface: Surface, caller: Caller, params: NoParams) -> dict[str, Any]:
            self.node_readers.append(self.met(caller, "node.subscribe", Anything()))
            return {}

        return table

    def met(self, caller: Caller, name: str, params: Anything) -> Connection:
        """Remember a call; a mute method loses its connection before it answers."""
        assert caller.connection is not None
        if caller.connection not in self.connections:
            self.connections.append(caller.connection)
        self.calls.append((name, params))
        if name in self.mute:
            self.mute.discard(name)
            self.drop_all()
        return caller.connection

    def changed(self, what: str) -> None:
        """Tell those who watch the node."""
        for reader in self.node_readers:
            push(reader, type="node.changed", what=what)


def push(connection: Connection, **params: object) -> None:
    """One notification."""
    body = {"jsonrpc": "2.0", "method": "event", "params": params}
    connection.notify(json.dumps(body).encode())


def write_control(home: Path, url: str, token: str = TOKEN, mode: int = 0o600) -> Path:
    """control.json as a node writes it."""
    home.mkdir(mode=0o700, exist_ok=True)
    path = home / "control.json"
    value = {
        "url": url,
        "token": token,
        "pid": os.getpid(),
        "install_id": INSTALL,
        "boot_id": "b",
        "version": "0.1.0",
    }
    path.write_text(json.dumps(value))
    path.chmod(mode)
    return path


@asynccontextmanager
async def fake_node(home: Path, rooms: FakeRooms) -> AsyncIterator[Edge]:
    """The node, announced in that home while it runs."""
    async with running_edge(methods=rooms.methods()) as edge:
        path = write_control(home, edge.url)
        try:
            yield edge
        finally:
            path.unlink()
