"""The stream of a page is cut while events go on: nothing is missing, nothing stands there twice.

Situation 154. Once the page's own node is killed and started again, once only the WebSocket is
cut, in the middle of what is being said and with the code for readers that are too slow.
"""

import asyncio

import pytest
from playwright.async_api import WebSocketRoute, expect

from tests.browser.conftest import Den
from tests.browser.machines import Machine
from tests.browser.screens import NODE_IS_AWAY, Screen, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(90)]

SLOW_READER = 4008


async def is_whole(screen: Screen, machine: Machine, room_id: str, texts: list[str]) -> None:
    """All texts stand there once, in the order of the log, and nothing else does."""
    await screen.shows(texts[-1])
    assert await screen.texts() == texts
    shown, log = await screen.seqs(), await machine.log(room_id)
    assert shown == sorted(set(shown)), "an event stands there twice, or out of order"
    said = {event["seq"] for event in log if event["kind"] == "message.user"}
    assert said <= set(shown)


async def test_a_node_that_is_killed_and_back_leaves_no_gap_on_its_page(
    visit: Visit, desktop: Machine, laptop: Machine, den: Den
) -> None:
    ben = await visit.enter(laptop)
    await ben.open(den.room_id)
    visit.expects(NODE_IS_AWAY)
    texts = [f"number {number}" for number in range(15)]
    for text in texts[:5]:
        await desktop.says(den.room_id, text)
    await ben.shows(texts[4])
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(laptop.kill())
        for text in texts[5:10]:  # Some of these reach the laptop before it dies, some do not.
            await desktop.says(den.room_id, text)
    await expect(ben.role("banner")).to_be_visible()
    await laptop.restart()
    for text in texts[10:]:
        await desktop.says(den.room_id, text)
    await is_whole(ben, laptop, den.room_id, texts)
    await expect(ben.role("banner")).to_have_count(0)


async def test_a_websocket_that_is_cut_again_and_again_leaves_no_gap(
    visit: Visit, desktop: Machine, den: Den
) -> None:
    opened: asyncio.Queue[WebSocketRoute] = asyncio.Queue()

    def through(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        opened.put_nowait(socket)

    ann = await visit.enter(desktop)
    await ann.page.route_web_socket("**/rpc", through)
    await ann.page.reload()
    await ann.is_in()
    await ann.open(den.room_id)
    texts = [f"number {number}" for number in range(32)]
    for number, text in enumerate(texts):
        await desktop.says(den.room_id, text)
        if number % 8 == 4:
            socket = await opened.get()
            await socket.close(code=SLOW_READER)
    await opened.get()
    await is_whole(ann, desktop, den.room_id, texts)


async def test_a_page_that_knows_more_than_the_log_reads_it_anew(
    visit: Visit, desktop: Machine, den: Den
) -> None:
    """A cursor that is ahead is answered with a gap and a snapshot, and the page starts over."""
    ann = await visit.enter(desktop)
    await ann.page.route_web_socket("**/rpc", lambda socket: _ahead(socket, den.room_id))
    await desktop.says(den.room_id, "before")
    await ann.page.reload()
    await ann.is_in()
    await ann.open(den.room_id)
    await expect(ann.role("system", state="reloaded")).to_be_visible()
    await ann.shows("before")
    await desktop.says(den.room_id, "after")
    await ann.shows("after")
    assert await ann.texts() == ["before", "after"]


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
