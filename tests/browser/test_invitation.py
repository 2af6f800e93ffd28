"""An invitation from hand to hand: made on one page, opened, previewed and spent on another.

And the other link that carries a secret, the one that signs a browser in: it works once, and
neither stays in the address or the history once it is spent.
"""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.machines import Machine
from tests.browser.screens import Screen

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(60)]


async def addresses(screen: Screen) -> list[str]:
    """Every address that the tab's history holds."""
    devtools = await screen.page.context.new_cdp_session(screen.page)
    history: dict[str, Any] = await devtools.send("Page.getNavigationHistory")
    assert history["entries"][history["currentIndex"]]["url"] == screen.page.url
    return [str(entry["url"]) for entry in history["entries"]]


async def test_an_invitation_is_made_opened_previewed_spent_and_shown_as_used(
    ann: Screen, ben: Screen, desktop: Machine, laptop: Machine
) -> None:
    room_id = await desktop.founds("Garden", "scribe")
    await ann.open(room_id)
    await ann.role("invite").click()
    await ann.role("create-invitation").click()
    link = await ann.role("invitation-link").input_value()
    invitation = ann.role("invitation")
    await expect(invitation).to_have_attribute("data-state", "open")
    await expect(ann.role("reach")).to_contain_text("This machine only")
    await expect(ann.role("qr")).to_be_visible()
    assert link.startswith(f"{desktop.url}/i#"), link

    # Ben pastes it into his own page, which goes to the invitation page of his own node.
    await ben.role("join").click()
    await ben.page.get_by_label("Invitation link").fill(link)
    await ben.page.keyboard.press("Enter")
    offer = ben.role("invite-page", state="shown")
    await expect(offer).to_be_visible()
    assert ben.page.url == f"{laptop.url}/i#{link.partition('#')[2]}"
    await expect(offer.get_by_role("heading", name="Garden")).to_be_visible()
    await expect(offer).to_contain_text("Ann invites you")
    await expect(offer).to_contain_text("1 use left")
    await expect(ann.role("life", state="previewed")).to_contain_text("opened by somebody")

    loan = ben.role("loan", profile="parrot")
    await loan.get_by_label("Parrot").check()
    await loan.get_by_label("Called there").fill("polly")
    await offer.get_by_label("Your name there").fill("Benjamin")
    await offer.get_by_role("button", name="Join").click()
    await expect(ben.role("invite-page", state="joined")).to_be_visible()
    await ben.role("open-room").click()
    await expect(ben.composer).to_be_visible()

    await expect(invitation).to_have_attribute("data-state", "used")
    await expect(ann.role("life", state="used")).to_contain_text("used by Benjamin")
    await expect(ann.role("invitation-link")).to_have_count(0)
    await ann.role("close").click()
    await expect(ann.role("system", state="lent")).to_be_visible()
    await ann.says("@polly hello from the garden")
    await ben.shows("hello from the garden")


async def test_an_invitation_that_was_taken_back_says_so(
    ben: Screen, desktop: Machine, laptop: Machine
) -> None:
    room_id = await desktop.founds("Attic")
    made = await desktop.ask("invitations.create", room_id=room_id)
    await desktop.ask("invitations.revoke", invitation_id=made["invitation_id"])
    await ben.page.goto(f"{laptop.url}/i#{made['link'].partition('#')[2]}")
    await expect(ben.role("problem", state="invitation_revoked")).to_be_visible()

    # Another link opened in the same tab is another invitation.
    other = await desktop.ask("invitations.create", room_id=room_id)
    await ben.page.goto(f"{laptop.url}/i#{other['link'].partition('#')[2]}")
    await expect(ben.role("invite-page", state="shown")).to_contain_text("Attic")


async def test_an_invitation_opened_at_a_stranger_says_the_command_and_offers_nothing(
    nobody: Screen, desktop: Machine
) -> None:
    room_id = await desktop.founds("Attic")
    made = await desktop.ask("invitations.create", room_id=room_id)
    await nobody.page.goto(made["link"])
    await expect(nobody.role("invite-page", state="away")).to_be_visible()
    await expect(nobody.role("join-command")).to_have_text(f"roommesh join '{made['link']}'")
    await expect(nobody.page.get_by_text("Attic")).to_have_count(0)
    shown = await desktop.ask("invitations.show", invitation_id=made["invitation_id"])
    assert shown["state"] == "open" and shown["previewed_at"] is None


async def test_a_login_link_works_once_and_leaves_no_trace(
    nobody: Screen, desktop: Machine
) -> None:
    link = await desktop.login_link()
    secret = link.partition("=")[2]
    await nobody.page.goto(link)
    await nobody.is_in()
    assert not [address for address in await addresses(nobody) if secret in address]

    # Once more, in the same tab: it does no harm to a browser that is in.
    await nobody.page.goto(link)
    await nobody.page.wait_for_url(lambda url: secret not in url)
    await nobody.is_in()

    await nobody.page.context.clear_cookies()
    await nobody.page.goto(link)
    await expect(nobody.role("login", state="login_spent")).to_contain_text("roommesh open")
    assert not [address for address in await addresses(nobody) if secret in address]
    await nobody.page.reload()
    await expect(nobody.role("login", state="login_required")).to_contain_text("roommesh open")
