"""Two people and an agent, on two machines: what one writes the other reads, as it is written."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Den
from tests.browser.screens import Screen

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(60)]

WORDS = "one two three four five six seven eight nine ten"

# Notes, after every change of the timeline, each element that shows an answer: which element,
# of which turn, in which state, with which text.
_FOLLOW_ANSWERS = """
() => {
  window.answers = [];
  const numbers = new Map();
  const look = () => {
    const shown = document.querySelectorAll("[data-role=message][data-turn-id]");
    window.answers.push([...shown].map((element) => {
      if (!numbers.has(element)) numbers.set(element, numbers.size);
      const body = element.querySelector(".body");
      return {
        element: numbers.get(element), turn: element.dataset.turnId,
        state: element.dataset.state, text: body.innerText.trim(),
      };
    }));
  };
  const changes = { subtree: true, childList: true, characterData: true, attributes: true };
  new MutationObserver(look).observe(document.querySelector("[data-role=timeline]"), changes);
}
"""


async def test_what_is_typed_on_one_machine_is_read_on_the_other(
    ann: Screen, ben: Screen, den: Den
) -> None:
    await ann.open(den.room_id)
    await ben.open(den.room_id)
    await ann.composer.click()
    await ann.page.keyboard.type("good morning")
    await ann.page.keyboard.press("Enter")
    await ben.shows("good morning")
    await ben.says("and to you")
    await ann.shows("and to you")
    assert await ann.texts() == await ben.texts() == ["good morning", "and to you"]


async def test_an_answer_from_the_other_machine_grows_word_by_word(
    ann: Screen, den: Den
) -> None:
    await ann.open(den.room_id)
    await ann.page.evaluate(_FOLLOW_ANSWERS)
    await ann.says(f"@parrot {WORDS}")
    await ann.shows(WORDS, member_id=den.parrot)
    steps: list[list[dict[str, Any]]] = await ann.page.evaluate("window.answers")

    assert all(len(step) <= 1 for step in steps), "the answer stood there twice"
    seen = [step[0] for step in steps if step]
    drafts = [one["text"] for one in seen if one["state"] == "writing" and one["text"]]
    grown = sorted(set(drafts), key=len)
    assert len(grown) >= 5, grown
    assert all(WORDS.startswith(text) for text in grown), grown
    assert drafts == sorted(drafts, key=len), "the text went back"
    # The draft becomes the message in place: nothing jumps and nothing doubles.
    assert len({one["element"] for one in seen}) == 1
    states = [one["state"] for one in seen]
    assert states == sorted(states, reverse=True), "writing, then posted, then never again"
    assert seen[-1]["text"] == WORDS

    await ann.page.reload()
    await ann.shows(WORDS, member_id=den.parrot)


async def test_a_mention_is_completed_with_the_keyboard(ann: Screen, den: Den) -> None:
    await ann.open(den.room_id)
    await ann.composer.focus()
    await ann.page.keyboard.type("@")
    suggestions = ann.role("suggestion")
    await expect(suggestions).to_have_count(2)
    await ann.page.keyboard.press("ArrowDown")
    await expect(ann.page.locator("[role=option][aria-selected=true]")).to_contain_text("@ben")
    await ann.page.keyboard.press("Escape")
    await expect(suggestions).to_have_count(0)
    await ann.page.keyboard.type("par")
    await expect(ann.role("suggestion", member_id=den.parrot)).to_be_visible()
    await ann.page.keyboard.press("Tab")
    await expect(ann.composer).to_have_value("@parrot ")
    await expect(ann.composer).to_be_focused()
    await ann.page.keyboard.type("hello there")
    await ann.page.keyboard.press("Enter")
    await ann.shows("hello there", member_id=den.parrot)
    mention = ann.role("message", state="posted").locator(".mention")
    await expect(mention).to_have_attribute("data-member-id", den.parrot)
