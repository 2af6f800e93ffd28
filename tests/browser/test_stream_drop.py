"""The stream of a page is cut while events go on: nothing is missing, nothing stands there twice.

Situation 154. Once the page's own node is killed and started again, once only the WebSocket is
cut, in the middle of what is being said and with the code for readers that are too slow.
"""

import asyncio
from collections.abc import Callable

import pytest
from playwright.async_api import WebSocketRoute, expect

from tests.browser.conftest import Den
from tests.browser.machines import Machine
from tests.browser.screens import Screen

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(90)]

SLOW_READER = 4008


async def another_tab(beside: Screen, through: Callable[[WebSocketRoute], None]) -> Screen:
    """The same page in another tab, whose WebSocket goes through the test's hands."""
    tab = Screen(await beside.page.context.new_page(), beside.machine)
    await tab.page.route_web_socket("**/rpc", through)
    await tab.page.goto(beside.machine.url)
    await tab.is_in()
    return tab


async def is_whole(screen: Screen, machine: Machine, room_id: str, texts: list[str]) -> None:
    """All texts stand there once, in the order of the log, and nothing else does."""
    await screen.shows(texts[-1])
    assert await screen.texts() == texts
    shown, log = await screen.seqs(), await machine.log(room_id)
    assert shown == sorted(set(shown)), "an event stands there twice, or out of order"
    said = {event["seq"] for event in log if event["kind"] == "message.user"}
    assert said <= set(shown)


async def test_a_node_that_is_killed_and_back_leaves_no_gap_and_loses_nothing(
    ben: Screen, desktop: Machine, laptop: Machine, den: Den
) -> None:
    await ben.open(den.room_id)
    texts = [f"number {number}" for number in range(15)]
    for text in texts[:5]:
        await desktop.says(den.room_id, text)
    await ben.shows(texts[4])
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(laptop.kill())
        for text in texts[5:10]:  # Some of these reach the laptop before it dies, some do not.
            await desktop.says(den.room_id, text)
    await expect(ben.role("banner")).to_contain_text("lost")
    await ben.says("written into the dark")
    await expect(ben.message("written into the dark", state="unsent")).to_contain_text("Not sent")
    await laptop.restart()
    await ben.shows("written into the dark")
    await expect(ben.role("banner")).to_have_count(0)
    for text in texts[10:]:
        await desktop.says(den.room_id, text)
    await is_whole(ben, laptop, den.room_id, [*texts[:10], "written into the dark", *texts[10:]])


async def test_a_websocket_that_is_cut_again_and_again_leaves_no_gap(
    ann: Screen, desktop: Machine, den: Den
) -> None:
    opened: asyncio.Queue[WebSocketRoute] = asyncio.Queue()

    def through(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        opened.put_nowait(socket)

    tab = await another_tab(ann, through)
    await tab.open(den.room_id)
    texts = [f"number {number}" for number in range(16)]
    for number, text in enumerate(texts):
        await desktop.says(den.room_id, text)
        if number % 4 == 2:
            socket = await opened.get()
            await socket.close(code=SLOW_READER)
    await opened.get()
    await is_whole(tab, desktop, den.room_id, texts)


async def test_a_page_that_knows_more_than_the_log_reads_it_anew(
    ann: Screen, desktop: Machine, den: Den
) -> None:
    """A cursor that is ahead is answered with a gap and a snapshot, and the page starts over."""
    await desktop.says(den.room_id, "before")
    tab = await another_tab(ann, lambda socket: _ahead(socket, den.room_id))
    await tab.open(den.room_id)
    await expect(tab.role("system", state="reloaded")).to_be_visible()
    await tab.shows("before")
    await desktop.says(den.room_id, "after")
    await tab.shows("after")
    assert await tab.texts() == ["before", "after"]


async def test_a_room_made_while_a_page_connects_is_listed_all_the_same(
    ann: Screen, desktop: Machine
) -> None:
    answers: asyncio.Queue[tuple[WebSocketRoute, str | bytes]] = asyncio.Queue()

    def through(socket: WebSocketRoute) -> None:
        node = socket.connect_to_server()
        node.on_message(lambda message: answers.put_nowait((socket, message)))

    async def pass_on() -> None:
        while True:
            page, message = await answers.get()
            page.send(message)

    tab = Screen(await ann.page.context.new_page(), desktop)
    await tab.page.route_web_socket("**/rpc", through)
    await tab.page.goto(desktop.url)
    while '"rooms":[' not in str((held := await answers.get())[1]):
        held[0].send(held[1])
    late = await desktop.founds("Late")  # The list that the page gets knows nothing of it.
    assert late not in str(held[1])
    held[0].send(held[1])
    async with asyncio.TaskGroup() as tasks:
        passing = tasks.create_task(pass_on())
        await expect(tab.role("room", room_id=late)).to_be_visible()
        passing.cancel()


def _ahead(socket: WebSocketRoute, room_id: str) -> None:
    """Pass everything through; say another cursor than the page's, once."""
    node = socket.connect_to_server()
    is_told = False

    def to_node(message: str | bytes) -> None:
        nonlocal is_told
        text = message if isinstance(message, str) else message.decode()
        if not is_told and '"groups.subscribe"' in text and room_id in text:
            is_told = True
            text = text.replace('"since_seq":', '"since_seq":1000')
        node.send(text)

    socket.on_message(to_node)
