"""Two installs in one browser: each keeps its own login, on loopback and on the network.

Cookies know hosts and no ports, so two nodes of one machine share a cookie jar. The network
address is https with a certificate that the node made itself: the warning is clicked through as
a person does it, and the browser is told nothing beforehand.
"""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Error, expect

from tests.browser.conftest import Den
from tests.browser.machines import Machine
from tests.browser.screens import Screen, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(60)]

SPARE_ADDRESS = "198.51.100.7/32"


@pytest_asyncio.fixture(loop_scope="session")
async def network_url(laptop: Machine) -> AsyncIterator[str]:
    """The laptop's page at an address of this machine that is not loopback."""
    if urls := await lan_urls(laptop):
        yield urls[0]
        return
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("no address but loopback; run as root with iproute2 to make one")
    ip("address", "add", SPARE_ADDRESS, "dev", "lo")
    try:
        urls = await lan_urls(laptop)
        assert urls, "the node does not see an address that was added"
        yield urls[0]
    finally:
        ip("address", "delete", SPARE_ADDRESS, "dev", "lo")


async def lan_urls(machine: Machine) -> list[str]:
    """The https addresses that the node names, those of IPv4 first."""
    urls: list[str] = (await machine.ask("node.info"))["lan_urls"]
    return sorted(urls, key=lambda url: "[" in url)


def ip(*arguments: str) -> None:
    """Run `ip`."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


async def click_through(context: BrowserContext, machine: Machine, url: str) -> Screen:
    """Log in at the https address, past the warning of the browser."""
    page = await context.new_page()
    secret = (await machine.login_link()).partition("#")[2]
    with pytest.raises(Error, match="ERR_CERT_AUTHORITY_INVALID"):
        await page.goto(f"{url}/#{secret}")
    await page.locator("#details-button").click()
    await page.locator("#proceed-link").click()
    screen = Screen(page, machine)
    await screen.is_in()
    assert page.url.startswith(url)
    return screen


async def is_still_in(screen: Screen, room_id: str) -> None:
    """Reload, as a person who comes back."""
    await screen.page.bring_to_front()
    await screen.page.reload()
    await screen.is_in()
    await screen.open(room_id)


async def test_one_browser_is_in_at_both_one_of_them_behind_a_warning(
    visit: Visit, nobody: Screen, desktop: Machine, laptop: Machine, den: Den, network_url: str
) -> None:
    context = nobody.page.context
    ann = await visit.enter(desktop, beside=nobody)
    ben = await click_through(context, laptop, network_url)
    await is_still_in(ann, den.room_id)
    await is_still_in(ben, den.room_id)

    # Both pages hear from their own node: the WebSocket goes past the same warning.
    assert await ben.page.evaluate("isSecureContext"), "a page there may use the microphone"
    await ben.says("from behind the warning")
    await ann.shows("from behind the warning")
    await ann.page.bring_to_front()
    await ann.says("from loopback")
    await ben.shows("from loopback")
    cookies = {cookie["name"]: cookie for cookie in await context.cookies()}
    assert set(cookies) == {desktop.cookie_name, laptop.cookie_name}
    assert all(c["httpOnly"] and c["sameSite"] == "Strict" for c in cookies.values())
    assert cookies[laptop.cookie_name]["secure"]

    # On one host too: there both cookies go to both nodes.
    near = await visit.enter(laptop, beside=ann)
    await is_still_in(ann, den.room_id)
    names = {cookie["name"] for cookie in await context.cookies(desktop.url)}
    assert names == {desktop.cookie_name, laptop.cookie_name}

    # Signing out at one leaves the other in.
    await near.page.bring_to_front()
    await near.role("node-link").click()
    this_browser = near.role("browser-session").filter(has_text="this one")
    await this_browser.get_by_role("button", name="Sign out").click()
    await this_browser.get_by_role("button", name="Sign out").click()
    await expect(near.role("login", state="login_required")).to_be_visible()
    await is_still_in(ann, den.room_id)
