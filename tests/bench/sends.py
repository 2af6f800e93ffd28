"""`groups.send`: how many, how many to a commit, at what cost, and how soon it is seen."""

import asyncio
import itertools
import json
import time
from typing import Any

from tests.bench.disk import Disk
from tests.bench.nodes import Client, Pair, client
from tests.bench.report import Report, Row

TEXT = "A message of ordinary length, as people write them, number "
_numbers = itertools.count()


def _request(pair: Pair, number: int) -> str:
    params = {
        "room_id": pair.room_id,
        "event_id": f"bench-{number}",
        "payload": {"text": f"{TEXT}{number}"},
    }
    return json.dumps(
        {"jsonrpc": "2.0", "id": f"n{number}", "method": "groups.send", "params": params}
    )


async def _rate(to: Client, pair: Pair, in_flight: int, count: int) -> float:
    """Sends per second with that many in flight, each answered as accepted."""
    began = time.perf_counter()
    for _ in range(in_flight):
        await to.socket.send_str(_request(pair, next(_numbers)))
    sent, answered = in_flight, 0
    async for message in to.socket:
        answer = json.loads(message.data)
        assert answer["result"]["accepted"], answer
        answered += 1
        if sent < count:
            await to.socket.send_str(_request(pair, next(_numbers)))
            sent += 1
        if answered == count:
            break
    return count / (time.perf_counter() - began)


async def _storage(to: Client) -> dict[str, int]:
    storage: dict[str, int] = (await to.call("node.status"))["storage"]
    return storage


async def throughput(pair: Pair, disk: Disk, report: Report, count: int) -> None:
    """1 and 32 in flight over one WebSocket, durable, with one copy."""
    async with client(pair.a) as to:
        alone = await _rate(to, pair, 1, count // 4)
        report.add(Row(name="groups.send, 1 in flight", value=alone, unit="events/s"))
        before, cpu_a, cpu_b = await _storage(to), pair.a.cpu_s, pair.b.cpu_s
        many = await _rate(to, pair, 32, count)
        after = await _storage(to)
        goal = min(1_000.0, disk.group_rows_per_s / 2)
        report.add(
            Row(
                name="groups.send, 32 in flight",
                value=many,
                unit="events/s",
                goal=goal,
                at_most=False,
                note=f"({many / disk.group_rows_per_s:.2f} of the bare group commit)",
            )
        )
        commits = after["commits"] - before["commits"]
        report.add(
            Row(
                name="events a commit, 32 in flight",
                value=(after["events"] - before["events"]) / commits,
                unit="events",
                goal=16,
                at_most=False,
            )
        )
        report.add(
            Row(
                name="CPU of the host's node",
                value=(pair.a.cpu_s - cpu_a) / count * 1_000,
                unit="ms/event",
                goal=0.5,
            )
        )
        report.add(
            Row(
                name="CPU of the copy's node",
                value=(pair.b.cpu_s - cpu_b) / count * 1_000,
                unit="ms/event",
            )
        )


class _Watch:
    """A subscriber that notes when it saw which event id."""

    def __init__(self) -> None:
        self._seen: dict[str, asyncio.Future[float]] = {}

    def expect(self, event_id: str) -> asyncio.Future[float]:
        made: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._seen[event_id] = made
        return made

    async def run(self, reader: Client) -> None:
        async for message in reader.socket:
            now = time.perf_counter()
            params: dict[str, Any] = json.loads(message.data).get("params", {})
            event_id = params.get("payload", {}).get("event_id")
            waiting = self._seen.pop(event_id, None)
            if waiting is not None:
                waiting.set_result(now)


async def _seen_ms(sender: Client, reader: Client, pair: Pair, count: int) -> list[float]:
    """Milliseconds from the send to the moment a subscriber has the event, one at a time."""
    shown = await reader.call("groups.state", room_id=pair.room_id)
    await reader.call("groups.subscribe", room_id=pair.room_id, since_seq=shown["latest_seq"])
    watch, taken = _Watch(), []
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(watch.run(reader))
        for _ in range(count):
            number = next(_numbers)
            seen = watch.expect(f"bench-{number}")
            began = time.perf_counter()
            await sender.socket.send_str(_request(pair, number))
            taken.append((await seen - began) * 1_000)
            await sender.socket.receive()
        watching.cancel()
    return sorted(taken)


async def latency(pair: Pair, disk: Disk, report: Report, count: int) -> None:
    """From send to seen: by a reader on the host, and the far way, from a copy back to it."""
    ways = (
        ("host -> host", pair.a, pair.a, 2, 4.0),
        ("host -> copy", pair.a, pair.b, 3, 6.0),
        ("copy -> host", pair.b, pair.a, 3, 6.0),
        ("copy -> copy", pair.b, pair.b, 3, 6.0),
    )
    for name, at, looking, syncs, ms in ways:
        async with client(at) as sender, client(looking) as reader:
            taken = await _seen_ms(sender, reader, pair, count)
        goal = syncs * disk.fdatasync_ms + ms
        for word, share in (("p50", 0.5), ("p99", 0.99)):
            report.add(
                Row(
                    name=f"send to seen, {name}, {word}",
                    value=taken[min(len(taken) - 1, int(len(taken) * share))],
                    unit="ms",
                    goal=goal,
                )
            )
