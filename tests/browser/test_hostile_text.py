"""What strangers write never becomes code, and what is secret never leaves by an address.

Attacks 53 and 64, situation 64. A third install comes with markup for a name, in its person's
name, in its machine's name, in its agent and in all it says. Each attempt would set a variable of
the page, load something, or leave an element that a message cannot have.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import expect

from tests.browser.conftest import Den
from tests.browser.machines import Machine, until
from tests.browser.screens import Screen, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(60)]

NAME: Final = "<img src=x onerror=canary=1>"
ELSEWHERE: Final = "evil.example"
MESSAGES: Final = (
    NAME,
    "<script>canary=1</script>",
    '"><svg/onload=canary=1>',
    '<iframe srcdoc="<script>parent.canary=1</script>"></iframe>',
    f'<style>@import "http://{ELSEWHERE}/s.css";</style><base href="http://{ELSEWHERE}/">',
    f'<form action="http://{ELSEWHERE}/"><button>go</button></form>',
    "[one](javascript:canary=1) [two](JaVaScRiPt:canary=1) [three](java\tscript:canary=1)",
    "[four](&#106;avascript:canary=1) [five](javascript&colon;canary=1) <javascript:canary=1>",
    "[six](data:text/html,<script>opener.canary=1</script>) [seven](vbscript:canary=1)",
    "[eight][ref] [nine](//evil.example/) [ten](/logout) [eleven](blob:x)\n\n[ref]: javascript:x",
    f"![thirteen](http://{ELSEWHERE}/pixel.png) ![fourteen](data:image/svg+xml,<svg onload=1>)",
    '[fifteen](http://ok.example/"onmouseover="canary=1 "title\\"onload=canary=1")',
    "${canary=1} {{canary=1}} <!--?lit$canary=1--> <?canary?> </article></div>",
    '```<img src=x onerror=canary=1>\n"><script>canary=1</script>\n```',
    "| <img src=x onerror=canary=1> |\n|---|\n| [x](javascript:canary=1) |",
)

# What may stand in a message or a name, whoever wrote it: nothing that loads, runs or sends.
_FORBIDDEN: Final = "img,iframe,script,style,base,form,object,embed,link,meta,svg [onload],video"
_ATTRIBUTES: Final = """
() => [...document.querySelectorAll("#page *")].flatMap((element) => [...element.attributes]
  .filter(({ name }) => name.startsWith("on") || name === "srcdoc" || name === "style")
  .map(({ name, value }) => `${name}=${value}`))
"""
_LINKS: Final = """
() => [...document.querySelectorAll("#page a")].map((a) => a.protocol)
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stranger(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Machine]:
    """An install whose every name is markup."""
    folder: Path = tmp_path_factory.mktemp("stranger")
    async with Machine(folder / "home", NAME, person=NAME) as machine:
        config = {
            "name": "mimic",
            "backend": "builtin",
            "display_name": NAME,
            "description": NAME,
            "options": {"agent": "echo", "pace_ms": 0},
        }
        await machine.ask("profiles.add", config=config)
        yield machine


@pytest_asyncio.fixture(loop_scope="session")
async def outside() -> AsyncIterator[tuple[str, list[dict[str, str]]]]:
    """A page of somebody else: its address, and the headers that it was asked with."""
    asked: list[dict[str, str]] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(dict(request.headers))
        return web.Response(text="<title>outside</title>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/outside", answer)
    app.router.add_get("/favicon.ico", _nothing)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}/outside", asked
    await runner.cleanup()


async def _nothing(_request: web.Request) -> web.Response:
    return web.Response(status=204)


async def is_harmless(screen: Screen) -> None:
    """Nothing on this page came to life."""
    page = screen.page
    assert await page.evaluate("typeof window.canary") == "undefined", "a stranger's text ran"
    assert await page.locator(f"#page .body :is({_FORBIDDEN})").count() == 0
    assert await page.locator("img, iframe, object, embed, base").count() == 0
    assert await page.evaluate(_ATTRIBUTES) == []
    assert set(await page.evaluate(_LINKS)) <= {"http:", "https:"}


async def test_what_strangers_write_never_becomes_code(
    visit: Visit, ann: Screen, desktop: Machine, stranger: Machine
) -> None:
    room_id = await desktop.founds("Den")
    lent = await stranger.joins(desktop, room_id, "mimic")
    with visit.requests(ann) as requests:
        await ann.page.reload()
        await _shows_it_all(ann, desktop, stranger, room_id, lent["mimic"])
    assert {request.url.split("/")[2] for request in requests} == {desktop.url.split("/")[2]}


async def _shows_it_all(
    ann: Screen, desktop: Machine, stranger: Machine, room_id: str, mimic: str
) -> None:
    await ann.open(room_id)
    for text in MESSAGES:
        await stranger.says(room_id, text)
    await stranger.says(room_id, f"@mimic {' '.join(MESSAGES[:6])}")
    answer = ann.page.locator(f"[data-member-id={mimic}][data-state=posted]")
    await expect(answer).to_contain_text("<script>canary=1</script>")
    assert await ann.role("message", state="posted").count() == len(MESSAGES) + 2
    # It is shown as the text it is, names too.
    await expect(ann.member(mimic).locator(".name")).to_contain_text(NAME)
    await expect(ann.role("message").first).to_contain_text(NAME)
    await ann.member(mimic).locator("button.summary").click()
    await ann.composer.fill("@mimic ")
    await is_harmless(ann)

    # Where else names stand: the list of rooms, dialogs, this machine.
    await desktop.ask("groups.rename", room_id=room_id, name=NAME)
    await expect(ann.role("room-title")).to_contain_text(NAME)
    await ann.role("room-title").click()
    await is_harmless(ann)
    await ann.page.keyboard.press("Escape")
    await ann.role("node-link").click()
    await expect(ann.role("links-section")).to_contain_text(NAME)
    await is_harmless(ann)


async def test_an_invitation_from_a_stranger_never_becomes_code(
    ann: Screen, desktop: Machine, stranger: Machine
) -> None:
    room_id = await stranger.founds(NAME, "mimic")
    made = await stranger.ask("invitations.create", room_id=room_id)
    await ann.page.goto(f"{desktop.url}/i#{made['link'].partition('#')[2]}")
    offer = ann.role("invite-page", state="shown")
    await expect(offer.get_by_role("heading", name=NAME)).to_be_visible()
    await expect(offer).to_contain_text(f"{NAME} invites you")
    await is_harmless(ann)
    await ann.page.goto(f"{desktop.url}/i#{NAME}")
    await expect(ann.role("problem", state="invitation_damaged")).to_be_visible()
    await is_harmless(ann)


async def test_markup_that_got_in_all_the_same_would_not_run(
    visit: Visit, ann: Screen, den: Den
) -> None:
    """The second wall, and the proof that the watch of these tests sees what it has to see."""
    await ann.open(den.room_id)
    visit.expects("Content Security Policy|404")
    for markup in (
        '<img src="/nowhere" onerror="canary=1">',
        '<a id="hostile" href="javascript:canary=1">x</a>',
        '<iframe srcdoc="<script>parent.canary=1</script>"></iframe>',
        f'<img src="http://{ELSEWHERE}/pixel.png">',
    ):
        await ann.page.evaluate(
            "(markup) => document.body.insertAdjacentHTML('beforeend', markup)", markup
        )
        if "hostile" in markup:
            await ann.page.evaluate("document.querySelector('#hostile').click()")
        await until(_is_noticed(visit), f"the browser refuses {markup}")
        visit.seen.violations.clear()
    assert await ann.page.evaluate("typeof window.canary") == "undefined"
    await ann.page.reload()


def _is_noticed(visit: Visit) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        return bool(visit.seen.violations)

    return holds


async def test_secrets_stay_out_of_addresses_referers_and_logs(
    visit: Visit,
    ann: Screen,
    ben: Screen,
    desktop: Machine,
    laptop: Machine,
    den: Den,
    outside: tuple[str, list[dict[str, str]]],
) -> None:
    elsewhere, asked = outside
    made = await desktop.ask("invitations.create", room_id=await desktop.founds("Attic"))
    fragment = made["link"].partition("#")[2]
    login = await desktop.login_link()
    secrets = [*visit.secrets, fragment, login.partition("=")[2], desktop.token, laptop.token]
    with visit.requests(ann, ben) as requests:
        await ben.page.goto(f"{laptop.url}/i#{fragment}")
        await ben.role("invite-page", state="shown").get_by_role("button", name="Join").click()
        await ben.role("open-room").click()
        await expect(ben.composer).to_be_visible()
        await ann.page.goto(login)
        await ann.is_in()
        await ann.open(den.room_id)
        await ann.says(f"see {elsewhere}")
        async with ann.page.expect_popup() as opening:
            await ann.role("message").get_by_role("link", name=elsewhere).click()
        popup = await opening.value
        await expect(popup).to_have_title("outside")
    assert await popup.evaluate("[opener, document.referrer]") == [None, ""]
    assert [headers.get("Referer") for headers in asked] == [None]

    for context in (ann.page.context, ben.page.context):
        secrets += [cookie["value"] for cookie in await context.cookies()]
    assert len(secrets) >= 8 and all(len(secret) >= 32 for secret in secrets)
    assert [request for request in requests if request.url == f"{desktop.url}/login"]
    for request in requests:
        address = request.url.partition("#")[0]
        assert not [secret for secret in secrets if secret in address], address
        assert request.headers.get("referer", "") == "", address
    for machine in (desktop, laptop):
        written = machine.log_text + machine.said
        assert "node.ready" in written
        assert not [secret for secret in secrets if secret in written], machine.name


_OPEN_SOCKET: Final = """
(url) => new Promise((resolve) => {
  const socket = new WebSocket(url);
  socket.onopen = () => resolve("opened");
  socket.onclose = (event) => resolve(`closed ${event.code}`);
})
"""
_POST: Final = """
([url, body]) => fetch(url, { method: "POST", mode: "no-cors", credentials: "include", body })
  .then((answer) => answer.type, () => "refused")
"""


async def test_a_page_of_somebody_else_on_this_host_reaches_nothing(
    visit: Visit, ann: Screen, desktop: Machine, outside: tuple[str, list[dict[str, str]]]
) -> None:
    """Attack 53. For a browser all ports of a host are one site: our cookie goes along."""
    elsewhere, asked = outside
    visit.expects("403|ERR_BLOCKED_BY_RESPONSE")
    page = await ann.page.context.new_page()
    await page.goto(elsewhere)
    assert desktop.cookie_name in asked[0]["Cookie"]
    socket = await page.evaluate(_OPEN_SOCKET, f"ws://127.0.0.1:{desktop.port}/rpc")
    assert socket == "closed 1006"
    wish = {"jsonrpc": "2.0", "id": 1, "method": "groups.create", "params": {"name": "Hijacked"}}
    posted = await page.evaluate(_POST, [f"{desktop.url}/rpc", json.dumps(wish)])
    assert posted == "refused"
    rooms = (await desktop.ask("groups.list"))["rooms"]
    assert "Hijacked" not in [room["name"] for room in rooms]
    # The same, asked by Ann's own page, is done.
    await ann.page.evaluate(
        "(body) => fetch('/rpc', { method: 'POST', headers: { 'Content-Type': 'application/json' },"
        " body })",
        json.dumps(wish),
    )
    rooms = (await desktop.ask("groups.list"))["rooms"]
    assert "Hijacked" in [room["name"] for room in rooms]
