"""Readers: a hundred subscribers of one room, and pages of its log."""

import asyncio
import json
import time
from contextlib import AsyncExitStack

from tests.bench.nodes import Client, Pair, client
from tests.bench.report import Report, Row

SUBSCRIBERS = 100


async def _take(reader: Client, count: int) -> float:
    """Read that many events; answers when the last one came."""
    got = 0
    async for message in reader.socket:
        if json.loads(message.data).get("params", {}).get("type") == "group.event":
            got += 1
            if got == count:
                break
    return time.perf_counter()


async def subscribers(pair: Pair, report: Report, count: int) -> None:
    """Messages that reach every one of a hundred subscribers."""
    async with AsyncExitStack() as stack:
        sender = await stack.enter_async_context(client(pair.a))
        state = await sender.call("groups.state", room_id=pair.room_id)
        readers = []
        for _ in range(SUBSCRIBERS):
            reader = await stack.enter_async_context(client(pair.a))
            await reader.call(
                "groups.subscribe", room_id=pair.room_id, since_seq=state["latest_seq"]
            )
            readers.append(reader)
        cpu, began = pair.a.cpu_s, time.perf_counter()
        async with asyncio.TaskGroup() as group:
            ends = [group.create_task(_take(reader, count)) for reader in readers]
            for number in range(count):
                await sender.call(
                    "groups.send",
                    room_id=pair.room_id,
                    event_id=f"many-{number}",
                    payload={"text": f"to a hundred readers {number}"},
                )
        taken = max(end.result() for end in ends) - began
        report.add(
            Row(
                name=f"deliveries to {SUBSCRIBERS} subscribers",
                value=count * SUBSCRIBERS / taken,
                unit="events/s",
                note=f"({(pair.a.cpu_s - cpu) / count / SUBSCRIBERS * 1e6:.0f} us CPU each)",
            )
        )


async def log_pages(pair: Pair, report: Report) -> None:
    """The whole log in pages of 1,000."""
    async with client(pair.a) as reader:
        cursor, events, began = 0, 0, time.perf_counter()
        while True:
            page = await reader.call(
                "groups.log", room_id=pair.room_id, since_seq=cursor, limit=1_000
            )
            events += len(page["events"])
            cursor = page["cursor"]
            if not page["has_more"]:
                break
        rate = events / (time.perf_counter() - began)
    report.add(Row(name="groups.log", value=rate, unit="events/s", note=f"({events} events)"))
