"""What is said once is there once: ids, lost replies, dropped sockets, every character."""

import socket
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from mesh.client import (
    Connection,
    OutcomeUnknown,
    RequestRejected,
    RoomEvent,
    RoomGap,
    Unreachable,
    connect,
)
from mesh.client.rooms import new_event_id
from tests.node.fault_wire import a_wire
from tests.node.followed import eventually
from tests.node.nodes import Install, a_world

BMP = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x10000)]))
FLOOD = "e" + "\N{COMBINING ACUTE ACCENT}" * 20_000


async def test_an_id_counts_once_at_the_authority_and_at_a_copy(tmp_path: Path) -> None:
    """Situation 13."""
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        for install in (host, guest):
            name = f"id-of-{install.name}"
            first = await install.says(room_id, "a", event_id=name)
            again = await install.sdk.rooms.send(room_id, "a", event_id=name)
            assert again["idempotent"] and again["event"] == first
            with pytest.raises(RequestRejected, match="conflict") as refusal:
                await install.sdk.rooms.send(room_id, "b", event_id=name)
            assert refusal.value.fields["seq"] == first["seq"]
            with pytest.raises(RequestRejected, match="conflict"):
                await install.sdk.rooms.send(room_id, "a", event_id=name, thread_id="t")
        both = await guest.has_the_log_of(host, room_id)
        assert [e["event_id"] for e in both if e["kind"] == "message.user"] == [
            "id-of-desktop",
            "id-of-laptop",
        ]


async def test_an_id_counts_once_while_it_waits(tmp_path: Path) -> None:
    """Situation 13, where the copy is alone: the same waits, the other is refused at once."""
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        await host.stop()
        for _ in range(2):
            queued = await guest.sdk.rooms.send(room_id, "a", event_id="x", wait_ms=0)
            assert (queued["accepted"], queued["queued"]) == (False, True)
        with pytest.raises(RequestRejected, match="conflict"):
            await guest.sdk.rooms.send(room_id, "b", event_id="x", wait_ms=0)
        seen = guest.follows(room_id)
        await host.start()
        await seen.until(lambda s: s.texts == ["a"])
        await guest.says(room_id, "last")
        await seen.until(lambda s: s.texts == ["a", "last"])


async def test_a_refused_connection_means_that_nothing_was_sent(tmp_path: Path) -> None:
    """Situation 24 (a): the TCP connection is refused, so a retry is safe."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Unreachable):
            async with connect(url=nobody, token=host.token):
                pass
        async with a_wire(host.port) as wire:
            async with connect(url=wire.url, token=host.token) as sdk:
                await wire.closes()
                await _is_down(sdk)
                name = new_event_id()
                with pytest.raises(Unreachable):
                    await sdk.request(
                        "groups.send",
                        {"room_id": room_id, "event_id": name, "payload": {"text": "a"}},
                        deadline_s=0.5,
                    )
                assert not _said(await host.log(room_id))
                await wire.opens()
                assert (await sdk.rooms.send(room_id, "a", event_id=name))["accepted"]
        assert _said(await host.log(room_id)) == ["a"]


@pytest.mark.parametrize("arrives", [True, False])
async def test_a_lost_reply_is_unknown_until_it_is_asked_for(
    tmp_path: Path, arrives: bool
) -> None:
    """Situation 24 (b): read, then closed. It may have happened; the id tells."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        async with a_wire(host.port) as wire, connect(url=wire.url, token=host.token) as sdk:
            name = new_event_id()
            wire.is_deaf, wire.is_numb = arrives, not arrives
            wire.cuts_when_swallowed = True
            with pytest.raises(OutcomeUnknown) as unknown:
                await sdk.rooms.send(room_id, "a", event_id=name)
            assert unknown.value.request_id == name
            wire.heals()
            before = await sdk.rooms.log(room_id)
            assert [e["event_id"] for e in before["events"][1:]] == ([name] if arrives else [])
            again = await sdk.rooms.send(room_id, "a", event_id=name)
            assert again["idempotent"] is arrives
        assert _said(await host.log(room_id)) == ["a"]


async def test_a_dropped_reader_resumes_and_a_dropped_send_is_never_acknowledged(
    tmp_path: Path,
) -> None:
    """Situations 21 and 154: the socket dies during five events and one send of ours."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        async with a_wire(host.port) as wire, connect(url=wire.url, token=host.token) as sdk:
            async with aclosing(sdk.subscribe(room_id)) as items:
                await host.says(room_id, "before")
                got = [await anext(items) for _ in range(2)]
                await wire.closes()
                for n in range(5):
                    await host.says(room_id, f"missed {n}")
                await _is_down(sdk)
                with pytest.raises(Unreachable):
                    await sdk.request(
                        "groups.send",
                        {"room_id": room_id, "event_id": "lost", "payload": {"text": "lost"}},
                        deadline_s=0.3,
                    )
                await wire.opens()
                got += [await anext(items) for _ in range(5)]
        events = [item for item in got if isinstance(item, RoomEvent)]
        assert [e.seq for e in events] == list(range(1, 8))
        assert "lost" not in _said(await host.log(room_id))


async def test_a_cursor_behind_replays_and_one_ahead_is_told_of_the_gap(tmp_path: Path) -> None:
    """Situation 154: too old a cursor gets everything, an impossible one a snapshot."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        for n in range(3):
            await host.says(room_id, str(n))
        async with aclosing(host.sdk.subscribe(room_id, 0)) as items:
            old = [await anext(items) for _ in range(4)]
        assert [item.seq for item in old if isinstance(item, RoomEvent)] == [1, 2, 3, 4]
        async with aclosing(host.sdk.subscribe(room_id, 99)) as items:
            gap = await anext(items)
            assert isinstance(gap, RoomGap)
            assert (gap.from_seq, gap.latest_seq) == (99, 4)
            assert gap.state["room"]["name"] == "Den" and gap.state["latest_seq"] == 4
            await host.says(room_id, "after")
            after = await anext(items)
        assert isinstance(after, RoomEvent) and after.seq == 5


@pytest.mark.parametrize("text", [BMP, FLOOD], ids=["all of the BMP", "combining marks"])
async def test_any_text_passes_byte_for_byte(tmp_path: Path, text: str) -> None:
    """Situation 84."""
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        seen = {install.name: install.follows(room_id) for install in (host, guest)}
        await guest.says(room_id, text)
        await guest.says(room_id, "and on")
        for followed in seen.values():
            await followed.until(lambda s: s.texts == [text, "and on"])
        assert (await guest.has_the_log_of(host, room_id))[-2]["payload"]["text"] == text


async def test_a_lone_surrogate_is_refused_and_blocks_nothing(tmp_path: Path) -> None:
    """Situation 84: 422 at the authority and at a copy, and what follows goes on."""
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        for install in (host, guest):
            answer = await _raw_send(install, room_id, r"half \ud83d of it")
            assert answer["error"]["data"]["reason"] == "invalid_params"
            assert answer["error"]["data"]["status"] == 422
            whole = await _raw_send(install, room_id, r"whole \ud83d\ude00")
            assert whole["result"]["event"]["payload"]["text"] == "whole \N{GRINNING FACE}"


async def _raw_send(install: Install, room_id: str, escaped: str) -> Any:
    body = (
        f'{{"jsonrpc":"2.0","id":1,"method":"groups.send","params":{{"room_id":"{room_id}",'
        f'"event_id":"{new_event_id()}","payload":{{"text":"{escaped}"}}}}}}'
    )
    return await install.posts(body.encode())


async def _is_down(sdk: Connection) -> None:
    async def is_up() -> bool:
        return sdk.is_up

    await eventually(is_up, lambda up: not up)


def _said(log: list[dict[str, Any]]) -> list[str]:
    return [e["payload"]["text"] for e in log if e["kind"] == "message.user"]
