"""Rooms of scripted participants around a real engine, for tests in real time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

from audio.engine import Engine
from audio.events import Event
from tests.audio.impaired_path import ImpairedPath
from tests.audio.participant import Participant, Script

T = TypeVar("T")


class Told:
    """The events of an engine, kept and waited for."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._news = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._news.set()

    async def until(self, kind: type[T], *, deadline_s: float = 8.0, **fields: object) -> T:
        """Wait for an event of a kind with these fields, which may have come already."""
        async with asyncio.timeout(deadline_s):
            while True:
                for event in self.events:
                    if isinstance(event, kind) and all(
                        getattr(event, name) == value for name, value in fields.items()
                    ):
                        return event
                self._news.clear()
                await self._news.wait()


class Room:
    """An engine with one call, and a way in."""

    def __init__(self, engine: Engine, told: Told, stack: AsyncExitStack) -> None:
        self.engine, self.told, self._stack = engine, told, stack

    async def join(
        self, name: str, script: Script | None = None, *, member: str | None = None,
        call: str = "room", direction: str = "sendrecv", may_speak: bool = True,
        path: ImpairedPath | None = None, keeps_s: float = 3.0,
    ) -> Participant:
        """A participant who is connected; he leaves the sockets closed behind him."""
        one = await self._stack.enter_async_context(
            Participant(name, script, direction=direction, keeps_s=keeps_s))
        offer = await one.offer(without_candidates=path is not None)
        text = await self.engine.join(call, name, member or name, offer, may_speak=may_speak)
        one.accept(text if path is None else await path.answer_through(text))
        async with asyncio.timeout(10):
            await one.connected.wait()
        return one


@asynccontextmanager
async def room(engine_id: str = "install:a") -> AsyncIterator[Room]:
    """An engine, its events, and participants who are gone before it is."""
    told = Told()
    async with Engine(engine_id, on_event=told) as engine, AsyncExitStack() as stack:
        yield Room(engine, told, stack)
