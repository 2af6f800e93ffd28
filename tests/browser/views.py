"""The views of the page, one after the other, for tests that look at all of them.

`a_lively_room` makes a room that has what stretches a page: long words and names, wide code and
tables, other scripts, an agent's answers, what the system says. `walk` brings each view onto the
screen in turn and gives its name.
"""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from playwright.async_api import ViewportSize, expect

from tests.browser.machines import Machine, until
from tests.browser.screens import Screen

SCREENSHOTS: Final = os.environ.get("BROWSER_SCREENSHOTS", "")
"""A folder that gets a picture of every view; none are taken without it."""

PHONE: Final[ViewportSize] = {"width": 360, "height": 740}

ROOM_NAME: Final = "The room with a name that is a good deal longer than a line of a phone"
_MESSAGES: Final = (
    "Good morning! Who is **here** today?",
    "W" * 400,
    "https://example.org/" + "a-very-long-path/" * 20,
    "# A heading\n\n1. first\n2. second\n   - inside\n\n> what was said before\n\n~~old~~ `code`",
    "```python\n" + "result = [event for event in log if event.seq > cursor] + " * 6 + "rest\n```",
    "| machine | agent | answers in | hosted by | until |\n|:--|:--|--:|:--|:--|\n"
    + "| desktop | scribe | 0.4 s | desktop | Friday night |\n" * 2,
    "مرحبا بالجميع، كيف حالكم؟",
    "你好世界" * 40,
)


async def a_lively_room(desktop: Machine, laptop: Machine) -> str:
    """Make it once, for tests that look at it; returns its id."""
    room_id = await desktop.founds(ROOM_NAME, "scribe", "echo")
    name = "Maximiliane Freifrau von und zu Oberniederhausen-Unterhochstein"
    lent = await laptop.joins(desktop, room_id, "parrot", "guide", display_name=name)
    for number, text in enumerate(_MESSAGES):
        await (desktop, laptop)[number % 2].says(room_id, text)
    await desktop.says(room_id, "@parrot @echo how do you do?")
    await desktop.says(room_id, "@guide show us around")
    await laptop.ask("grants.revoke", room_id=room_id, member_id=lent["guide"])

    async def is_said() -> bool:
        kinds = [event["kind"] for event in await desktop.log(room_id)]
        return kinds.count("message.member") >= 2 and "grant.revoked" in kinds

    await until(is_said, "both agents answered and a loan was taken back")
    return room_id


async def walk(screen: Screen, room_id: str) -> AsyncIterator[str]:
    """Bring each view of a signed-in page onto the screen, in turn."""
    page = screen.page
    await page.evaluate("location.hash = '#/'")
    await expect(screen.role("room", room_id=room_id)).to_be_attached()
    yield "rooms"
    await screen.open(room_id)
    await expect(screen.role("message", state="posted").last).to_be_visible()
    yield "room"
    if not await screen.role("members").count():
        await screen.role("members-toggle").click()
    await screen.role("member").filter(has_text="Parrot").locator("button.summary").click()
    await expect(screen.role("members").get_by_role("button", name="Mention")).to_be_visible()
    yield "members"
    await page.keyboard.press("Escape")
    await screen.role("room-title").click()
    await expect(screen.role("policy-form")).to_be_visible()
    yield "settings"
    await page.keyboard.press("Escape")
    await screen.role("invite").click()
    await expect(screen.role("invite-form")).to_be_visible()
    yield "invitation"
    await screen.role("create-invitation").click()
    await expect(screen.role("qr")).to_be_visible()
    yield "link"
    await page.keyboard.press("Escape")
    await expect(screen.role("dialog")).to_have_count(0)
    await page.evaluate("location.hash = '#/node'")
    await expect(screen.role("browsers-section").get_by_text("this one")).to_be_visible()
    yield "machine"


async def wears(screen: Screen, theme: str) -> None:
    """Let the system ask for that theme, and wait until the page has it on."""
    await screen.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    ground = re.compile(r"rgb\([0-5]?\d," if theme == "dark" else r"rgb\(2\d\d,")
    await expect(screen.page.locator("body")).to_have_css("background-color", ground)


async def photograph(screen: Screen, name: str) -> None:
    """Keep a picture of what the screen shows, where somebody asked for them."""
    if SCREENSHOTS:
        await screen.page.screenshot(path=Path(SCREENSHOTS, f"{name}.png"), animations="disabled")
