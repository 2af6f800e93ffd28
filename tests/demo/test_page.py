"""The demo's printed address, opened in a browser: the page shows what the keys do."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.demo.played_demo import PlayedDemo

pytestmark = [pytest.mark.timeout(90), pytest.mark.browser]
PAGE_MS = 15_000


@pytest.fixture
def page(chromium: str, chromium_arguments: list[str]) -> Iterator[Page]:
    """An empty page, wide enough for all panels."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=chromium_arguments)
        opened = browser.new_page(viewport={"width": 1280, "height": 800})
        opened.set_default_timeout(PAGE_MS)
        yield opened
        browser.close()


def test_the_page_shows_offline_the_catch_up_and_withdrawn(
    played: PlayedDemo, page: Page
) -> None:
    expect.set_options(timeout=PAGE_MS)
    played.press("o")
    link = played.seen(r"^  first +(http://127.0.0.1:\d+/#login=\S+)$")[1]
    page.goto(link)
    page.get_by_text("Kitchen table").first.click()
    echo = page.locator('[data-role="member"]', has_text="@echo")
    expect(echo).to_have_attribute("data-presence", "online")
    expect(page.get_by_text("can you hear us over there?").first).to_be_visible()

    played.press("3")
    expect(echo).to_have_attribute("data-presence", "offline")
    composer = page.get_by_role("textbox").last
    composer.fill("@echo from the page")
    composer.press("Enter")
    own = page.locator('[data-role="message"]', has_text="@echo from the page")
    expect(own).to_have_count(1)
    played.seen("@echo will answer later")

    played.press("3")
    expect(echo).to_have_attribute("data-presence", "online")
    answer = page.locator('[data-role="message"]', has_text="from the page")
    expect(answer).to_have_count(2)

    played.press("r")
    expect(echo).to_have_attribute("data-presence", "withdrawn")
    played.press("r")
    online = page.locator('[data-role="member"][data-presence="online"]', has_text="@echo")
    expect(online).to_have_count(1)
