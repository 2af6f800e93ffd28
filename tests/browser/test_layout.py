"""Every view fits: on a phone and on a desk, light and dark, for a finger and for a pointer.

Nothing goes beyond the edge, no view scrolls sideways, the message field is there and free, and
on a touch screen a finger that lands within 22 px of a button's middle presses that button.
"""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.machines import Machine
from tests.browser.screens import Screen, Visit
from tests.browser.views import PHONE, photograph, strangers_view, walk

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(90)]

# What reaches beyond the screen, and what can be scrolled sideways though it is no code or table.
_BEYOND = """
() => {
  const found = [];
  const wide = document.scrollingElement;
  if (wide.scrollWidth > innerWidth) found.push(`the document: ${wide.scrollWidth}`);
  const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  for (const element of document.querySelectorAll("#page *")) {
    if (element.closest(".visually-hidden, .skip, svg svg")) continue;
    const name = `${element.localName}.${element.getAttribute("class")}`;
    const mayScroll = element.matches("pre, .table");
    if (!mayScroll && scrolls(element) && element.scrollWidth > element.clientWidth) {
      found.push(`${name} scrolls sideways: ${element.scrollWidth} in ${element.clientWidth}`);
    }
    if (element.parentElement.closest("pre, .table")) continue;
    if (element.parentElement.closest("[data-cut]")) continue;
    if (getComputedStyle(element).textOverflow === "ellipsis") element.dataset.cut = "";
    const box = element.getBoundingClientRect();
    if (box.width > 0 && box.height > 0 && (box.left < -0.5 || box.right > innerWidth + 0.5)) {
      found.push(`${name} from ${box.left} to ${box.right}`);
    }
  }
  return found;
}
"""

# Presses around the middle of each target that lies open, and tells which press went elsewhere.
_MISSED = """
() => {
  const REACH = 21.5;
  const SELECTOR = "a[href], button, input, select, textarea, summary";
  const target = (element) => element?.closest("label")?.querySelector("input, select, textarea")
    ?? element?.closest(SELECTOR);
  const missed = [];
  let count = 0;
  for (const element of document.querySelectorAll(SELECTOR)) {
    const style = getComputedStyle(element);
    if (element.closest(".skip") || style.visibility === "hidden" || element.disabled) continue;
    if (element.localName === "a" && style.display === "inline") continue; // A link in a text.
    element.scrollIntoView({ block: "center", behavior: "instant" });
    const box = (element.closest("label:has(input)") ?? element).getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    if (box.width === 0 || target(document.elementFromPoint(x, y)) !== target(element)) continue;
    count += 1;
    for (const [dx, dy] of [[-REACH, 0], [REACH, 0], [0, -REACH], [0, REACH]]) {
      const hit = document.elementFromPoint(x + dx, y + dy);
      const isEdge = x + dx < 0 || y + dy < 0 || x + dx > innerWidth || y + dy > innerHeight;
      if (!isEdge && target(hit) !== target(element)) {
        const name = element.dataset.role ?? element.name ?? element.className;
        missed.push(`${element.localName} ${name} (${box.width} x ${box.height}) at ${dx},${dy}`);
      }
    }
  }
  return { count, missed };
}
"""


async def fits(screen: Screen, name: str) -> None:
    """Everything of this view is where it can be seen and reached, in both themes."""
    page = screen.page
    grounds: dict[str, int] = {}
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        await photograph(screen, f"{name}-{theme}")
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        grounds[theme] = int(str(ground).removeprefix("rgb(").partition(",")[0])
        assert await page.evaluate(_BEYOND) == [], f"{name} {theme}"
    assert grounds["dark"] < 64 and grounds["light"] > 192, grounds
    if await page.evaluate("matchMedia('(pointer: coarse)').matches"):
        pressed: dict[str, Any] = await page.evaluate(_MISSED)
        assert pressed["count"] >= 1, f"{name}: no target was found"
        assert pressed["missed"] == [], name


async def has_a_free_message_field(screen: Screen) -> None:
    """The field is on the screen and nothing lies over it."""
    await expect(screen.composer).to_be_in_viewport(ratio=1)
    await screen.composer.click(trial=True)


async def every_view_fits(visit: Visit, screen: Screen, room_id: str, size: str) -> None:
    """Walk over all views."""
    async for view in walk(screen, room_id):
        await fits(screen, f"{size}-{view}")
        if view == "room":
            await has_a_free_message_field(screen)
        if view == "members":
            assert ".," not in await screen.role("members").inner_text()
    await fits(await strangers_view(visit, screen), f"{size}-login")


async def test_every_view_fits_a_phone(visit: Visit, phone: Screen, lively: str) -> None:
    assert await phone.page.evaluate("innerWidth") == 360
    await every_view_fits(visit, phone, lively, "phone")


async def test_every_view_fits_a_desk(visit: Visit, ann: Screen, lively: str) -> None:
    assert await ann.page.evaluate("innerWidth") == 1280
    await every_view_fits(visit, ann, lively, "wide")


async def test_the_offer_of_an_invitation_fits_a_phone(
    phone: Screen, desktop: Machine, laptop: Machine
) -> None:
    made = await laptop.ask("invitations.create", room_id=await laptop.founds("W" * 80))
    await phone.page.goto(f"{desktop.url}/i#{made['link'].partition('#')[2]}")
    loan = phone.role("loan", profile="echo")
    await loan.get_by_label("Echo").check()
    await expect(loan.get_by_label("Called there")).to_be_visible()
    await fits(phone, "phone-offer")


async def test_the_message_field_stays_above_the_keyboard_of_a_phone(
    phone: Screen, lively: str
) -> None:
    await phone.open(lively)
    await phone.composer.click()
    await phone.page.set_viewport_size({"width": PHONE["width"], "height": 400})
    await has_a_free_message_field(phone)
    await expect(phone.role("message", state="posted").last).to_be_in_viewport()
    await phone.composer.fill("a line\n" * 30)
    await has_a_free_message_field(phone)
    await photograph(phone, "phone-keyboard")
    await phone.composer.fill("")
    await phone.page.set_viewport_size(PHONE)
