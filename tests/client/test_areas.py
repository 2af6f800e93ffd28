"""Each area asks the methods of docs/surface.md with the parameters written there."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from mesh.client.grants import Grants
from mesh.client.invitations import Invitations, new_request_id
from mesh.client.node import Node
from mesh.client.peers import Peers
from mesh.client.profiles import Profiles
from mesh.client.request import READS
from mesh.client.rooms import Rooms, new_event_id

SURFACE = Path(__file__).parent.parent.parent / "docs" / "surface.md"
AREAS = {
    "groups": Rooms,
    "invitations": Invitations,
    "peers": Peers,
    "grants": Grants,
    "profiles": Profiles,
    "node": Node,
}
ROWS = dict(
    re.findall(
        r"^\| `((?:node|groups|invitations|peers|grants|profiles)\.[a-z_.]+)` \|"
        r"((?:[^|\\]|\\\|)*)\|",
        SURFACE.read_text(),
        re.MULTILINE,
    )
)
ANSWER: dict[str, Any] = {
    "room": {},
    "rooms": [],
    "invitations": [],
    "peers": [],
    "grants": [],
    "profiles": [],
    "sessions": [],
    "stopping": [],
    "revoked": [],
    "discarded": True,
    "removed": True,
    "rtt_us": 5,
}
BY_CONNECTION = {
    "groups.subscribe",
    "groups.unsubscribe",
    "node.subscribe",
}


class Recorder:
    """Stands for the connection: remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def __call__(
        self, method: str, params: dict[str, Any] | None = None, *, deadline_s: float = 1
    ) -> dict[str, Any]:
        self.asked.append((method, params or {}))
        return ANSWER


async def everything() -> list[tuple[str, dict[str, Any]]]:
    """Call every method of every area with every parameter."""
    recorder = Recorder()
    for area in AREAS.values():
        made = area(recorder)
        for name, call in inspect.getmembers(made, inspect.ismethod):
            if name.startswith("_"):
                continue
            values: dict[str, Any] = {
                p.name: [] if p.name in {"members", "lend"} else p.name
                for p in inspect.signature(call).parameters.values()
            }
            for number in ("wait_ms", "uses", "ttl_seconds", "limit", "since_seq"):
                if number in values:
                    values[number] = 1
            await call(**values)
    return recorder.asked


async def test_every_method_of_the_surface_has_its_call() -> None:
    assert len(ROWS) > 30
    asked = {method for method, _ in await everything()}
    assert asked | BY_CONNECTION == ROWS.keys()


async def test_parameters_are_those_of_the_surface() -> None:
    for method, params in await everything():
        known = set(re.findall(r"[a-z_]+", re.sub(r"`|\[|\]", " ", ROWS[method])))
        assert params.keys() <= known, method


def test_only_what_changes_nothing_may_be_asked_twice() -> None:
    assert READS <= ROWS.keys()
    verbs = {"create", "send", "accept", "revoke", "set", "add", "remove", "leave", "disband"}
    assert not [name for name in READS if verbs & set(re.split(r"[._]", name))]


async def test_what_is_not_said_is_left_out() -> None:
    recorder = Recorder()
    await Rooms(recorder).create("Den")
    await Invitations(recorder).list()
    await Rooms(recorder).send("r", "text", event_id="e")
    assert recorder.asked == [
        ("groups.create", {"name": "Den"}),
        ("invitations.list", {}),
        ("groups.send", {"room_id": "r", "event_id": "e", "payload": {"text": "text"}}),
    ]


@pytest.mark.parametrize("make", [new_event_id, new_request_id])
def test_new_ids_are_opaque_and_new(make: Any) -> None:
    assert re.fullmatch(r"[eq]_[0-9a-f]{32}", make())
    assert make() != make()
