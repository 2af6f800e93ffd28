"""Every view fits: on a phone and on a desk, light and dark, for a finger and for a pointer.

Nothing goes beyond the edge, no view scrolls sideways, the message field is there and free, and
on a touch screen a finger that lands within 22 px of a button's middle presses that button.
axe-core finds nothing serious; without npm that one is skipped.
"""

from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import ViewportSize, expect

from tests.browser.axe_core import NotHere, script
from tests.browser.machines import Machine
from tests.browser.screens import Screen
from tests.browser.survey import Survey, is_for_fingers, look, survey
from tests.browser.views import PHONE, photograph

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(90)]

VIEWS = ["rooms", "room", "members", "settings", "invitation", "link", "machine", "login"]


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str | NotHere:
    """The script of axe-core, or why there is none."""
    folder: Path = tmp_path_factory.mktemp("axe")
    try:
        return script(folder)
    except NotHere as missing:
        return missing


@pytest.fixture(scope="module")
def surveys() -> dict[str, Survey]:
    """What was found so far, by size."""
    return {}


@pytest_asyncio.fixture(params=["phone", "wide"], loop_scope="session")
async def surveyed(
    request: pytest.FixtureRequest,
    phone: Screen,
    ann: Screen,
    nobody: Screen,
    lively: str,
    axe: str | NotHere,
    surveys: dict[str, Survey],
) -> Survey:
    """Every view on a phone, or on a desk; walked over once."""
    size: str = request.param
    if size not in surveys:
        screen = phone if size == "phone" else ann
        await screen.page.bring_to_front()
        assert await is_for_fingers(screen.page) == (size == "phone")
        source = axe if isinstance(axe, str) else None
        surveys[size] = await survey(screen, nobody, lively, size=size, axe=source)
        assert surveys[size].views == [f"{size}-{view}" for view in VIEWS]
    return surveys[size]


async def test_every_view_fits(surveyed: Survey) -> None:
    assert surveyed.beyond == []


async def test_every_target_is_found_by_a_finger(surveyed: Survey) -> None:
    if "phone-room" not in surveyed.views:
        assert surveyed.targets == 0, "a pointer needs no larger ones"
        return
    assert surveyed.targets > len(VIEWS)
    assert surveyed.missed == []


async def test_axe_finds_nothing_serious(surveyed: Survey, axe: str | NotHere) -> None:
    if isinstance(axe, NotHere):
        pytest.skip(str(axe))
    assert len(surveyed.rules_passed) == len(VIEWS)
    assert min(surveyed.rules_passed) > 5, "axe-core has looked at nothing"
    assert surveyed.serious == []


async def test_what_a_survey_has_to_find_is_found(phone: Screen, lively: str) -> None:
    await phone.open(lively)
    await phone.page.evaluate(
        "(markup) => document.querySelector('main').insertAdjacentHTML('beforeend', markup)",
        "<hr class='broad'><button class='little'>.</button>",
    )
    sheet = "new CSSStyleSheet()"
    rules = ".broad { width: 400px } .little { position: fixed; top: 99px; left: 99px; padding: 0 }"
    await phone.page.evaluate(
        f"(rules) => {{ const sheet = {sheet}; sheet.replaceSync(rules);"
        " document.adoptedStyleSheets = [sheet]; }",
        rules,
    )
    found = Survey()
    await look(phone, "spoilt", found)
    assert any("hr.broad" in what for what in found.beyond)
    assert any("button little" in what for what in found.missed)
    await phone.page.reload()


async def test_a_theme_is_put_on_at_once_and_as_a_whole(phone: Screen, lively: str) -> None:
    """With less motion no colour travels: else each element changes a frame after its parent."""
    await phone.open(lively)
    assert await phone.page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")
    shown: list[list[str]] = await phone.page.evaluate(
        """() => ["light", "dark"].map((theme) => {
          document.documentElement.dataset.theme = theme;
          const colours = [...document.querySelectorAll("#page bdi")]
            .map((one) => getComputedStyle(one).color);
          return [String(document.getAnimations().length), ...colours];
        })"""
    )
    await phone.page.evaluate("delete document.documentElement.dataset.theme")
    (travelling_to_light, *light), (travelling_to_dark, *dark) = shown
    assert (travelling_to_light, travelling_to_dark) == ("0", "0")
    assert light and not set(light) & set(dark), "some names kept the other's colour"


async def test_the_offer_of_an_invitation_fits_a_phone(
    phone: Screen, desktop: Machine, laptop: Machine
) -> None:
    made = await laptop.ask("invitations.create", room_id=await laptop.founds("W" * 80))
    await phone.page.goto(f"{desktop.url}/i#{made['link'].partition('#')[2]}")
    loan = phone.role("loan", profile="echo")
    await loan.get_by_label("Echo").check()
    await expect(loan.get_by_label("Called there")).to_be_visible()
    found = Survey()
    await look(phone, "phone-offer", found)
    assert found.beyond == found.missed == []


async def test_the_message_field_stays_above_the_keyboard_of_a_phone(
    phone: Screen, lively: str
) -> None:
    await phone.open(lively)
    await has_a_free_message_field(phone)
    await phone.composer.click()
    await phone.page.set_viewport_size(ViewportSize(width=PHONE["width"], height=400))
    await has_a_free_message_field(phone)
    await expect(phone.role("message", state="posted").last).to_be_in_viewport()
    await phone.composer.fill("a line\n" * 30)
    await has_a_free_message_field(phone)
    await photograph(phone, "phone-keyboard")
    await phone.composer.fill("")
    await phone.page.set_viewport_size(PHONE)


async def has_a_free_message_field(screen: Screen) -> None:
    """The field is on the screen and nothing lies over it."""
    await expect(screen.composer).to_be_in_viewport(ratio=1)
    await screen.composer.click(trial=True)
