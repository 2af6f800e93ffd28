"""The whole main road without a pointer: make a room, write, invite, and back out."""

import pytest
from playwright.async_api import expect

from tests.browser.machines import Machine
from tests.browser.screens import Screen

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(60)]

TABS_MAX = 60


async def tabs_to(screen: Screen, role: str) -> None:
    """Press Tab until that element has the focus, as somebody without a pointer does."""
    for _ in range(TABS_MAX):
        await screen.page.keyboard.press("Tab")
        if await screen.page.evaluate("document.activeElement.dataset.role") == role:
            # Whoever cannot point has to see where they are.
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert await screen.page.evaluate(outline) != "none", role
            return
    raise AssertionError(f"{TABS_MAX} times Tab did not reach {role}")


async def test_a_room_is_made_used_and_shared_with_the_keyboard_alone(
    ann: Screen
) -> None:
    keys = ann.page.keyboard
    await tabs_to(ann, "create-room")
    await keys.press("Enter")
    await expect(ann.role("dialog", kind="create-room").get_by_label("Name")).to_be_focused()
    await keys.type("By hand")
    await keys.press("Enter")
    await expect(ann.role("room-title")).to_contain_text("By hand")
    await expect(ann.role("dialog")).to_have_count(0)

    # Escape leads to the message field from wherever one is.
    await keys.press("Escape")
    await expect(ann.composer).to_be_focused()
    await keys.type("hello")
    await keys.press("Shift+Enter")
    await keys.type("a second line")
    await keys.press("Enter")
    sent = ann.role("message", state="posted")
    await expect(sent).to_have_count(1)
    assert await sent.locator(".body").inner_text() == "hello\na second line"
    await expect(ann.composer).to_be_focused()

    await tabs_to(ann, "invite")
    await keys.press("Enter")
    dialog = ann.role("dialog", kind="invite")
    await expect(dialog).to_be_visible()
    # The focus stays inside while the dialog is open.
    for _ in range(12):
        await keys.press("Tab")
        assert await ann.page.evaluate(
            "document.activeElement === document.body"
            " || document.activeElement.closest('dialog') !== null"
        )
    await keys.press("Escape")
    await expect(dialog).to_have_count(0)
    await expect(ann.role("invite")).to_be_focused()


async def test_the_switcher_leads_from_room_to_room(ann: Screen, desktop: Machine) -> None:
    first = await desktop.founds("Alder")
    second = await desktop.founds("Birch")
    await ann.open(first)
    await ann.page.keyboard.press("Control+k")
    await expect(ann.role("dialog", kind="switcher")).to_be_visible()
    await ann.page.keyboard.type("birch")
    await ann.page.keyboard.press("Enter")
    await expect(ann.role("room-title")).to_contain_text("Birch")
    assert ann.page.url.endswith(second)
    # Rooms stand in the order of their last event: Birch, then Alder.
    await ann.composer.focus()
    await ann.page.keyboard.press("Alt+ArrowDown")
    await expect(ann.role("room-title")).to_contain_text("Alder")
