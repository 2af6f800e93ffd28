"""The SDK: one connection to a running node, and a small object per area of its surface.

    from mesh.client import connect

    async with connect() as node:
        room = await node.rooms.create("Den")
        await node.rooms.send(room["room_id"], "hello")
        async for item in node.subscribe(room["room_id"]):
            ...

The connection comes back by itself after a drop. Reads may be asked again; nothing that changes
anything ever is (a lost reply raises `OutcomeUnknown`), and a subscription goes on from its cursor
without a gap or a repetition.
"""

from mesh.client.connection import Connection, connect
from mesh.client.errors import (
    CapabilityUnavailable,
    ClientError,
    DeadlinePassed,
    InputMismatch,
    LimitExceeded,
    OutcomeUnknown,
    ReceiptNotFound,
    RequestRejected,
    Unreachable,
)
from mesh.client.subscription import RoomEvent, RoomGap, RoomItem, RoomSignal

__all__ = [
    "CapabilityUnavailable",
    "ClientError",
    "Connection",
    "DeadlinePassed",
    "InputMismatch",
    "LimitExceeded",
    "OutcomeUnknown",
    "ReceiptNotFound",
    "RequestRejected",
    "RoomEvent",
    "RoomGap",
    "RoomItem",
    "RoomSignal",
    "Unreachable",
    "connect",
]
