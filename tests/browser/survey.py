"""A survey: one walk over all views of a screen, and what is measured in each of them.

Walking is what takes time, so it is done once for a phone and once for a desk, and several tests
read what was found: whether everything lies on the screen, whether a finger finds each target,
what axe-core says. Each view is seen in both themes; pictures are taken where somebody asked.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from playwright.async_api import Page, expect

from tests.browser.screens import Screen
from tests.browser.views import photograph, walk, wears

# What reaches beyond the screen, and what can be scrolled sideways though it is no code or table.
_BEYOND: Final = """
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
    if (element.parentElement.closest("pre, .table, [data-cut]")) continue;
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
_MISSED: Final = """
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
        const name = element.dataset.role || element.name || element.className;
        missed.push(`${element.localName} ${name} (${box.width} x ${box.height}) at ${dx},${dy}`);
      }
    }
  }
  return { count, missed };
}
"""

# Only what is serious counts; the number of passed rules shows that something was looked at.
_RUN_AXE: Final = """
async () => {
  // What lies behind a dialog is inert, and was looked at before.
  const place = document.querySelector("dialog[open]") ?? document;
  const report = await axe.run(place, { resultTypes: ["violations"] });
  const isSerious = ({ impact }) => impact === "serious" || impact === "critical";
  const why = (node) => node.any.map((check) => check.message).join("; ");
  const told = ({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${why(node)}`);
  return {
    passed: report.passes.length,
    found: report.violations.filter(isSerious).flatMap(told),
  };
}
"""


@dataclass(slots=True, kw_only=True)
class Survey:
    """What was found, in words that name the view; nothing is found where all is well."""

    views: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    targets: int = 0
    missed: list[str] = field(default_factory=list)
    rules_passed: list[int] = field(default_factory=list)
    serious: list[str] = field(default_factory=list)


async def survey(
    screen: Screen, nobody: Screen, room_id: str, *, size: str, axe: str | None
) -> Survey:
    """Walk over all views of `screen`, and look at what `nobody` sees, who is not signed in.

    `axe` is the script of axe-core, where there is one.
    """
    found = Survey()
    if axe is not None:
        await screen.page.evaluate(axe)
    async for view in walk(screen, room_id):
        await look(screen, f"{size}-{view}", found, with_axe=axe is not None)
    if screen.page.viewport_size is not None:
        await nobody.page.set_viewport_size(screen.page.viewport_size)
    await nobody.page.goto(screen.machine.url)
    await expect(nobody.role("login")).to_be_visible()
    if axe is not None:
        await nobody.page.evaluate(axe)
    await look(nobody, f"{size}-login", found, with_axe=axe is not None)
    return found


async def look(screen: Screen, name: str, found: Survey, *, with_axe: bool = False) -> None:
    """Measure what the screen shows now, in the theme that it wears, and then in the other."""
    page = screen.page
    found.views.append(name)
    is_dark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    themes = ("dark", "light") if is_dark else ("light", "dark")
    if with_axe:
        report: dict[str, Any] = await page.evaluate(_RUN_AXE)
        found.rules_passed.append(report["passed"])
        found.serious += [f"{name} {themes[0]}: {what}" for what in report["found"]]
    for theme in themes:
        await wears(screen, theme)
        await photograph(screen, f"{name}-{theme}")
        found.beyond += [f"{name} {theme}: {what}" for what in await page.evaluate(_BEYOND)]
    if await is_for_fingers(page):
        pressed: dict[str, Any] = await page.evaluate(_MISSED)
        found.targets += pressed["count"]
        found.missed += [f"{name}: {what}" for what in pressed["missed"]]


async def is_for_fingers(page: Page) -> bool:
    """Whether the page has to be drawn for fingers there."""
    return bool(await page.evaluate("matchMedia('(pointer: coarse), (max-width: 759px)').matches"))
