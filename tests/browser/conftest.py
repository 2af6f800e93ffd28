"""One browser, two machines and their owners' pages for this folder; a fresh room for each test.

The machines are called desktop (Ann's) and laptop (Ben's). A test may kill them: the next one
finds both running again, on the same homes and ports. Ann's and Ben's pages stay open over all
tests, as people's pages do, and what they do behind a test's back is watched in each.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.browser.machines import Machine
from tests.browser.screens import Screen, Visit
from tests.browser.views import PHONE, a_lively_room

PARROT = {
    "name": "parrot",
    "backend": "builtin",
    "display_name": "Parrot",
    "description": "Says your own words again, slowly enough to watch.",
    "options": {"agent": "echo", "pace_ms": 60},
}
SLOTH = PARROT | {
    "name": "sloth",
    "display_name": "Sloth",
    "description": "Says your own words again, slowly enough to be stopped.",
    "options": {"agent": "echo", "pace_ms": 500},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Den:
    """A room that Ann's desktop hosts, where Ben's laptop lends its parrot."""

    room_id: str
    parrot: str


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str, chromium_arguments: list[str]) -> AsyncIterator[Browser]:
    """A Chromium without a window."""
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(
            executable_path=chromium,
            # The machines are here: no proxy of the environment lies between.
            args=[*chromium_arguments, "--no-proxy-server"],
        )
        yield opened
        await opened.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def machines(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[list[Machine]]:
    """Both machines, for the whole session."""
    folder: Path = tmp_path_factory.mktemp("machines")
    pair = [
        Machine(folder / "desktop", "desktop", person="Ann"),
        Machine(folder / "laptop", "laptop", person="Ben", lan=True),
    ]
    try:
        await _start(pair)
        for profile in (PARROT, SLOTH):
            await pair[1].ask("profiles.add", config=profile)
        yield pair
        await _start(pair)
        statuses = [await machine.stop() for machine in pair]
    finally:
        for machine in pair:
            await machine.end()
    assert statuses == [0, 0]
    assert [machine.said for machine in pair] == ["", ""], "a node complained"


async def _start(machines: list[Machine]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for machine in machines:
            if not machine.is_running:
                tasks.create_task(machine.start())


@pytest_asyncio.fixture(loop_scope="session")
async def pair(machines: list[Machine]) -> list[Machine]:
    """Desktop and laptop, both running."""
    await _start(machines)
    return machines


@pytest.fixture
def desktop(pair: list[Machine]) -> Machine:
    """Ann's machine; it hosts the rooms."""
    return pair[0]


@pytest.fixture
def laptop(pair: list[Machine]) -> Machine:
    """Ben's machine; other machines may connect to it."""
    return pair[1]


@pytest_asyncio.fixture(loop_scope="session")
async def den(desktop: Machine, laptop: Machine) -> Den:
    """A fresh room with Ann, Ben and his parrot."""
    room_id = await desktop.founds("Den")
    lent = await laptop.joins(desktop, room_id, "parrot")
    return Den(room_id=room_id, parrot=lent["parrot"])


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def lively_room(machines: list[Machine]) -> str:
    """The id of a room that has everything in it, made once."""
    await _start(machines)
    return await a_lively_room(*machines)


@pytest_asyncio.fixture(loop_scope="session")
async def lively(pair: list[Machine], lively_room: str) -> str:
    """That room, with both machines running."""
    assert all(machine.is_running for machine in pair)
    return lively_room


# --- what people have open -----------------------------------------------------------------------


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def whole_visit(browser: Browser) -> AsyncIterator[Visit]:
    """Everything that is opened in this folder."""
    opened = Visit(browser)
    yield opened
    await opened.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visit(whole_visit: Visit) -> AsyncIterator[Visit]:
    """The same, for one test: nothing that it has not asked for may happen in any page."""
    whole_visit.begin()
    yield whole_visit
    await whole_visit.close_but_kept()
    whole_visit.check()


@pytest_asyncio.fixture(loop_scope="session")
async def ann(visit: Visit, desktop: Machine) -> Screen:
    """Ann's page, at her desktop."""
    return await visit.kept("ann", desktop)


@pytest_asyncio.fixture(loop_scope="session")
async def ben(visit: Visit, laptop: Machine) -> Screen:
    """Ben's page, at his laptop."""
    return await visit.kept("ben", laptop)


@pytest_asyncio.fixture(loop_scope="session")
async def nobody(visit: Visit, desktop: Machine) -> Screen:
    """A blank page in a browser that is signed in nowhere."""
    return await visit.kept_stranger(desktop)


@pytest_asyncio.fixture(loop_scope="session")
async def phone(visit: Visit, desktop: Machine) -> Screen:
    """Ann's page, on a phone."""
    return await visit.kept("phone", desktop, viewport=PHONE, has_touch=True, is_mobile=True)
