"""Screens: a browser as a person has it, and what its pages do behind the person's back.

A `Visit` is what one test opens. It listens from the first document on: uncaught errors, errors of
the console, violations of the content security policy, dialogs of the browser. A `Screen` is one
tab, at the page of one machine; it speaks of rooms, messages and members and knows the page only
by its `data-role` hooks. All waiting is for something in the DOM.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    Request,
    expect,
)

from tests.browser.machines import Machine

WAIT_MS: Final = 20_000
expect.set_options(timeout=WAIT_MS)

# What Chromium says while a node is down; every test may kill one.
NODE_IS_AWAY: Final = "ERR_CONNECTION_|ERR_EMPTY_RESPONSE|ERR_SOCKET_|WebSocket connection to"

# Runs in every document before its own scripts. Passes on what no console message tells fully.
_LISTEN: Final = """
addEventListener("securitypolicyviolation", (event) => {
  reportToTest(`${event.effectiveDirective} ${event.blockedURI} at ${location.pathname}`);
});
"""


@dataclass(slots=True, kw_only=True)
class Seen:
    """What the pages of a visit did so far."""

    violations: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


class Visit:
    """What tests open in the browser; all of it is watched from the first document on."""

    def __init__(self, browser: Browser) -> None:
        """`close` at the end."""
        self.seen = Seen()
        self.contexts: list[BrowserContext] = []
        self.secrets: list[str] = []
        self._browser = browser
        self._kept: dict[str, Screen] = {}
        self._expected: list[re.Pattern[str]] = []

    # --- opening -------------------------------------------------------------------------------

    async def context(self, **options: Any) -> BrowserContext:
        """Another browser, as far as pages can tell: cookies and storage of its own."""
        usual = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
        context = await self._browser.new_context(**usual | options)
        self.contexts.append(context)
        context.set_default_timeout(WAIT_MS)
        await context.expose_function("reportToTest", self._violated)
        await context.add_init_script(_LISTEN)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.seen.errors.append(str(error.error)))
        context.on("dialog", self._dialog)
        return context

    async def enter(
        self, machine: Machine, *, beside: "Screen | None" = None, **options: Any
    ) -> "Screen":
        """Log in by a one-time link; returns when the page is live.

        In a browser of its own, or as a tab `beside` another: tabs behind others are slow.
        """
        context = beside.page.context if beside else await self.context(**options)
        screen = Screen(await context.new_page(), machine)
        link = await machine.login_link()
        self.secrets.append(link.partition("=")[2])
        await screen.page.goto(link)
        await screen.is_in()
        return screen

    async def kept(self, name: str, machine: Machine, **options: Any) -> "Screen":
        """A screen that stays open over many tests; it begins each where no room is open."""
        screen = self._kept.get(name)
        if screen is None:
            screen = self._kept[name] = await self.enter(machine, **options)
        await screen.rests()
        return screen

    async def kept_stranger(self, machine: Machine) -> "Screen":
        """A screen of a browser that is signed in nowhere; what a test changes there is undone."""
        screen = self._kept.get("stranger")
        if screen is None:
            screen = Screen(await (await self.context()).new_page(), machine)
            self._kept["stranger"] = screen
        await screen.page.context.clear_cookies()
        await screen.page.goto("about:blank")
        self.expects("status of 401")
        return screen

    # --- ending --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Another test begins: what was seen so far belongs to those before."""
        self.seen = Seen()
        self._expected = [re.compile(NODE_IS_AWAY)]

    async def close_but_kept(self) -> None:
        """Close what only one test has opened."""
        kept = [screen.page for screen in self._kept.values()]
        for context in tuple(self.contexts):
            for page in [page for page in context.pages if page not in kept]:
                await page.close()
            if not context.pages:
                await context.close()
                self.contexts.remove(context)

    async def close(self) -> None:
        """Close everything."""
        self._kept.clear()
        await self.close_but_kept()

    # --- watching ------------------------------------------------------------------------------

    @contextmanager
    def requests(self, *screens: "Screen") -> Iterator[list[Request]]:
        """All requests of these screens from now on; not of every test, for they are many."""
        found: list[Request] = []

        def keep(request: Request) -> None:
            found.append(request)

        with ExitStack() as stack:
            for screen in screens:
                screen.page.on("request", keep)
                stack.callback(screen.page.remove_listener, "request", keep)
            yield found

    def expects(self, pattern: str) -> None:
        """Let errors through that a test brings about, by a pattern of their text."""
        self._expected.append(re.compile(pattern))

    def check(self) -> None:
        """Nothing happened that the test had not asked for."""
        unexpected = [
            error
            for error in self.seen.errors
            if not any(pattern.search(error) for pattern in self._expected)
        ]
        assert not unexpected, f"errors in the browser: {unexpected}"
        assert not self.seen.violations, f"our own pages broke the policy: {self.seen.violations}"
        assert not self.seen.dialogs, f"a page opened a dialog: {self.seen.dialogs}"

    def _violated(self, what: str) -> None:
        self.seen.violations.append(what)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.seen.errors.append(f"{message.text} ({message.location['url']})")

    async def _dialog(self, dialog: Dialog) -> None:
        self.seen.dialogs.append(dialog.message)
        await dialog.dismiss()


class Screen:
    """One tab at one machine's page."""

    def __init__(self, page: Page, machine: Machine) -> None:
        self.page = page
        self.machine = machine

    def role(self, name: str, **attributes: str) -> Locator:
        """Elements by `data-role` and other `data-` attributes."""
        return self.page.locator(_selector(name, attributes))

    async def is_in(self) -> None:
        """Wait until the page is signed in and hears from its node."""
        await expect(self.role("shell")).to_be_visible(timeout=WAIT_MS)
        await expect(self.page.locator(".sidebar .skeletons")).to_have_count(0)

    async def rests(self) -> None:
        """Leave everything that a test may have left open; the page is live, no room is open."""
        await self.page.bring_to_front()
        if urlsplit(self.page.url).path != "/":
            await self.page.goto(self.machine.url)
        # Its node may just be back: a page that hears that it is online does not wait longer.
        await self.page.evaluate("dispatchEvent(new Event('online')), location.hash = '#/node'")
        await expect(self.role("node-page")).to_be_visible()
        await expect(self.role("dialog")).to_have_count(0)
        await expect(self.role("banner")).to_have_count(0)
        await self.is_in()

    async def open(self, room_id: str) -> None:
        """Go to a room and wait until it has been read."""
        await self.page.evaluate("(hash) => { location.hash = hash }", f"#/r/{room_id}")
        await expect(self.timeline).to_have_attribute("aria-busy", "false")
        await expect(self.composer).to_be_visible(timeout=WAIT_MS)

    @property
    def timeline(self) -> Locator:
        """Where messages stand."""
        return self.role("timeline")

    @property
    def composer(self) -> Locator:
        """Where a message is written."""
        return self.role("composer-text")

    def message(self, text: str, **attributes: str) -> Locator:
        """Messages whose text is exactly that."""
        body = self.page.locator(".body", has_text=re.compile(f"^\\s*{re.escape(text)}\\s*$"))
        return self.role("message", **attributes).filter(has=body)

    def member(self, member_id: str, **attributes: str) -> Locator:
        """A member's entry in the panel."""
        return self.role("member", member_id=member_id, **attributes)

    async def says(self, text: str) -> None:
        """Write a message and send it."""
        await self.composer.fill(text)
        await self.composer.press("Enter")
        await expect(self.composer).to_have_value("")

    async def shows(self, text: str, **attributes: str) -> Locator:
        """Wait until that message stands here once, as an event of the log."""
        found = self.message(text, state="posted", **attributes)
        await expect(found).to_have_count(1)
        await expect(self.message(text)).to_have_count(1)
        return found

    async def texts(self) -> list[str]:
        """The texts of all posted messages, top to bottom."""
        return await self.role("message", state="posted").locator(".body").all_inner_texts()

    async def seqs(self) -> list[int]:
        """The seqs of all that stands in the timeline, top to bottom."""
        found: list[Any] = await self.page.evaluate(
            "[...document.querySelectorAll('[data-role=timeline] [data-seq]')]"
            ".map((element) => Number(element.dataset.seq))"
        )
        return [int(seq) for seq in found]


def _selector(role: str, attributes: dict[str, str]) -> str:
    wanted = {"role": role} | {name.replace("_", "-"): value for name, value in attributes.items()}
    return "".join(f'[data-{name}="{value}"]' for name, value in wanted.items())
