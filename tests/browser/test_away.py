"""A machine is gone, comes back, takes its agent back: what the pages say meanwhile.

Nothing is said twice, nothing is lost, and every state has words that a person can read.
"""

import time

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Den
from tests.browser.machines import Machine
from tests.browser.screens import Screen

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(90)]

OFFLINE_WITHIN_S = 5.0
LONG = " ".join(f"word{number}" for number in range(60))


async def test_a_killed_machine_is_offline_and_its_agent_answers_once_when_it_is_back(
    ann: Screen, desktop: Machine, laptop: Machine, den: Den
) -> None:
    await ann.open(den.room_id)
    ben = ann.role("member").filter(has_text="@ben")
    await expect(ben).to_have_attribute("data-presence", "online")
    await laptop.kill()
    since_s = time.monotonic()
    await expect(ann.member(den.parrot, presence="offline")).to_contain_text("offline since")
    await expect(ben).to_have_attribute("data-presence", "offline")
    assert time.monotonic() - since_s < OFFLINE_WITHIN_S

    await ann.says("@parrot are you there")
    asked = await ann.shows("@parrot are you there")
    waits = asked.locator("[data-role=turn-state][data-state=offline]")
    await expect(waits).to_contain_text("answers when it is back")
    await expect(ann.message("are you there")).to_have_count(0)

    await laptop.restart()
    await ann.shows("are you there", member_id=den.parrot)
    await expect(waits).to_have_count(0)
    await expect(ann.member(den.parrot, presence="online")).to_be_visible()
    await expect(ben).to_have_attribute("data-presence", "online")
    # A later answer of the same agent comes after whatever a second one would have been.
    await ann.says("@parrot and now")
    await ann.shows("and now", member_id=den.parrot)
    await ann.shows("are you there")
    log = await desktop.log(den.room_id)
    answers = [event["payload"]["text"] for event in log if event["kind"] == "message.member"]
    assert answers == ["are you there", "and now"]


async def test_a_withdrawn_agent_stops_at_once_and_is_shown_as_withdrawn(
    ann: Screen, ben: Screen, desktop: Machine, laptop: Machine
) -> None:
    room_id = await desktop.founds("Den")
    sloth = (await laptop.joins(desktop, room_id, "sloth"))["sloth"]
    await ann.open(room_id)
    await ben.open(room_id)
    await desktop.says(room_id, f"@sloth {LONG}")
    await expect(ann.role("message", state="writing")).to_contain_text("word1")
    await ben.member(sloth).locator("button.summary").click()
    await ben.member(sloth).get_by_role("button", name="Withdraw").click()
    await ben.member(sloth).locator("[data-role=confirm]").click()

    await expect(ann.member(sloth, presence="withdrawn")).to_contain_text("withdrawn")
    await expect(ann.role("system", state="withdrawn").first).to_contain_text("was withdrawn")
    await expect(ann.role("message", state="stopped")).to_contain_text("This part was not posted")
    await expect(ann.role("message", state="writing")).to_have_count(0)
    await expect(ben.member(sloth, presence="withdrawn")).to_be_visible()
    await ann.composer.fill("@sloth still there?")
    await expect(ann.role("hint")).to_contain_text("withdrawn")
    kinds = [event["kind"] for event in await desktop.log(room_id)]
    assert "message.member" not in kinds


async def test_agents_that_answer_each_other_are_visibly_stopped(
    ann: Screen, desktop: Machine, den: Den
) -> None:
    await desktop.ask("groups.member.add", room_id=den.room_id, profile="echo")
    await desktop.ask("groups.policy.set", room_id=den.room_id, policy={"budget": 2})
    await ann.open(den.room_id)
    await ann.says("@parrot @echo @parrot ping")
    stopped = ann.role("system", state="stopped").first
    await expect(stopped).to_contain_text("Stopped: loop")
    await expect(stopped).to_contain_text("A message from a person starts anew")
    answers = ann.page.locator("[data-role=message][data-state=posted][data-turn-id]")
    await expect(answers).to_have_count(2)


async def test_what_is_written_while_the_host_is_away_waits_and_is_sent_once(
    ann: Screen, ben: Screen, desktop: Machine, den: Den
) -> None:
    await ben.open(den.room_id)
    await desktop.kill()
    await expect(ben.role("authority", state="down")).to_contain_text("cannot be reached")
    await ben.says("keep this one")
    await ben.says("forget this one")
    kept = ben.message("keep this one", state="waiting")
    dropped = ben.message("forget this one", state="waiting")
    await expect(kept).to_contain_text("Waiting")
    await dropped.locator("[data-role=discard]").click()
    await expect(ben.message("forget this one")).to_have_count(0)
    # What waits is the node's, not the page's: it is there after a reload.
    await ben.page.reload()
    await expect(kept).to_have_count(1)

    await desktop.restart()
    await ben.shows("keep this one")
    await expect(ben.role("authority")).to_have_count(0)
    await ann.rests()
    await ann.open(den.room_id)
    await ann.shows("keep this one")
    await ben.says("afterwards")
    await ann.shows("afterwards")
    assert await ann.texts() == await ben.texts() == ["keep this one", "afterwards"]
