"""Two engines, one call: each hears the other's people, and nobody hears himself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from audio.errors import CallRefused
from audio.events import Closed, Speaking
from tests.live_audio.rooms import Room, room


async def connect(one: Room, other: Room) -> None:
    """Link two engines' calls; the lower id offers."""
    offer = await one.engine.offer_link("room", "install:b")
    answer = await other.engine.answer_link("room", "install:a", offer)
    one.engine.accept_link("room", "install:b", answer)


@asynccontextmanager
async def linked() -> AsyncIterator[tuple[Room, Room]]:
    async with room("install:a") as one, room("install:b") as other:
        await connect(one, other)
        yield one, other


async def test_one_talker_crosses_untouched_and_under_his_name() -> None:
    async with linked() as (one, other):
        anna, ben, cleo = await one.join("anna"), await other.join("ben"), await one.join("cleo")
        anna.say(440)
        await ben.until_hears(440)
        await cleo.until_hears(440)
        await other.told.until(Speaking, talkers=("install:a/anna",))
        assert one.engine.stats("room").stats.ticks == 0
        assert other.engine.stats("room").stats.ticks == 0, "nothing was decoded on the way"
        await anna.assert_not_heard(440)


async def test_talkers_on_both_sides_are_mixed_once_where_they_are_heard() -> None:
    async with linked() as (one, other):
        anna, ben = await one.join("anna"), await other.join("ben")
        cleo, dora = await one.join("cleo"), await other.join("dora")
        for person, hz in ((anna, 440), (ben, 700), (cleo, 1_000)):
            person.say(hz)
        await dora.until_hears(440, 700, 1_000)
        await anna.until_hears(700, 1_000)
        await ben.until_hears(440, 1_000)
        await anna.assert_not_heard(440)
        await ben.assert_not_heard(700)


async def test_a_muted_or_removed_person_is_silent_on_the_far_side() -> None:
    async with linked() as (one, other):
        anna, ben = await one.join("anna"), await other.join("ben")
        anna.say(440)
        await ben.until_hears(440)
        one.engine.mute("room", "anna", is_muted=True)
        await ben.until_silent()
        one.engine.mute("room", "anna", is_muted=False)
        await ben.until_hears(440)
        one.engine.leave("room", "anna", removed=True)
        await ben.until_silent()


async def test_the_end_of_a_link_is_told_on_both_sides() -> None:
    async with linked() as (one, other):
        anna, ben = await one.join("anna"), await other.join("ben")
        anna.say(440)
        await ben.until_hears(440)
        one.engine.leave("room", "install:b")
        await one.told.until(Closed, participant_id="install:b")
        await other.told.until(Closed, participant_id="install:a")
        await ben.until_silent()


async def test_three_engines_in_a_ring_do_not_howl() -> None:
    async with (
        room("install:a") as a, room("install:b") as b, room("install:c") as c,
    ):
        for one, other in ((a, b), (b, c), (a, c)):
            ours, theirs = one.engine.engine_id, other.engine.engine_id
            offer = await one.engine.offer_link("room", theirs, relays=True)
            answer = await other.engine.answer_link("room", ours, offer, relays=True)
            one.engine.accept_link("room", theirs, answer)
        anna, ben, cleo = await a.join("anna"), await b.join("ben"), await c.join("cleo")
        anna.say(440)
        await ben.until_hears(440)
        await cleo.until_hears(440)
        await anna.assert_not_heard(440)
        # One voice is one source everywhere: nothing is heard twice, so nothing is mixed.
        assert all(here.engine.stats("room").stats.mode == "passing" for here in (a, b, c))


async def test_two_offers_that_cross_make_one_link() -> None:
    """SITUATIONS 100: the lower id offers, whoever asked first."""
    async with room("install:a") as one, room("install:b") as other:
        offer = await one.engine.offer_link("room", "install:b")
        for ask in (
            other.engine.offer_link("room", "install:a"),
            one.engine.answer_link("room", "install:b", offer),
            one.engine.offer_link("room", "install:a"),
        ):
            with pytest.raises(CallRefused) as caught:
                await ask
            assert caught.value.reason == "conflict"
        answer = await other.engine.answer_link("room", "install:a", offer)
        one.engine.accept_link("room", "install:b", answer)
        anna, ben = await one.join("anna"), await other.join("ben")
        anna.say(440)
        await ben.until_hears(440)
