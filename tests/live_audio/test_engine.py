"""Coming, going, being gone: the life of a call's connections."""

import asyncio
import time

import pytest

from audio.errors import CallRefused, OfferRefused
from audio.events import Closed, Joined
from tests.audio.impaired_path import ImpairedPath
from tests.audio.offers import offer, video_line
from tests.audio.participant import Participant, Script
from tests.live_audio.rooms import room


async def test_a_dead_peer_is_dropped_within_three_seconds() -> None:
    async with room() as here, ImpairedPath(1) as path:
        await here.join("anna", path=path)
        await here.told.until(Joined, participant_id="anna")
        cut_s = time.monotonic()
        path.cut()
        gone = await here.told.until(Closed, participant_id="anna")
        assert gone.reason == "silent"
        assert time.monotonic() - cut_s < 3.3


async def test_a_quiet_peer_who_answers_is_not_dead() -> None:
    async with room() as here:
        await here.join("anna", direction="recvonly")
        await here.told.until(Joined, participant_id="anna")
        await asyncio.sleep(4.0)
        assert not [one for one in here.told.events if isinstance(one, Closed)]


async def test_a_removed_member_neither_hears_nor_is_heard() -> None:
    """SITUATIONS 121: at once, and the connection is closed."""
    async with room() as here:
        anna, ben, cleo = [await here.join(name) for name in ("anna", "ben", "cleo")]
        anna.say(440)
        await ben.until_hears(440)
        removed_s = time.monotonic()
        here.engine.leave("room", "anna", removed=True)
        assert await cleo.until_silent() - removed_s < 0.1
        ben.say(700)
        await cleo.until_hears(700)
        assert anna.heard == []
        assert (await here.told.until(Closed, participant_id="anna")).reason == "removed"
        async with asyncio.timeout(3):
            await anna.closed.wait()


async def test_closing_a_call_ends_it_for_all() -> None:
    async with room() as here:
        anna = await here.join("anna")
        here.engine.close_call("room")
        await here.told.until(Closed, participant_id=None)
        assert here.engine.calls == ()
        async with asyncio.timeout(3):
            await anna.closed.wait()


async def test_who_says_goodbye_is_gone_at_once() -> None:
    async with room() as here:
        anna = await here.join("anna")
        await here.told.until(Joined, participant_id="anna")
        await anna.transport.close()
        assert (await here.told.until(Closed, participant_id="anna", deadline_s=2)).reason == "left"


async def test_the_same_participant_again_replaces_himself() -> None:
    """SITUATIONS 122: one policy, told; no ghost is heard."""
    async with room() as here:
        ben = await here.join("ben")
        anna = await here.join("anna")
        anna.say(440)
        await ben.until_hears(440)
        again = await here.join("anna")
        again.say(880)
        await ben.until_hears(880)
        await ben.assert_not_heard(440)
        assert (await here.told.until(Closed, participant_id="anna")).reason == "replaced"
        with pytest.raises(CallRefused) as caught:
            await here.engine.join("room", "anna", "mallory", offer())
        assert caught.value.reason == "conflict"


async def test_a_second_tab_joins_muted() -> None:
    async with room() as here:
        ben = await here.join("ben")
        await here.join("tab-1", member="anna")
        second = await here.join("tab-2", member="anna")
        assert (await here.told.until(Joined, participant_id="tab-2")).is_muted
        second.say(440)
        await ben.assert_not_heard(440)
        here.engine.mute("room", "tab-2", is_muted=False)
        await ben.until_hears(440)


async def test_a_listener_is_answered_sendonly_and_never_heard() -> None:
    async with room() as here:
        ben = await here.join("ben")
        anna = await here.join("anna", Script(), may_speak=False)
        anna.say(440)
        ben.say(700)
        await anna.until_hears(700)
        await ben.assert_not_heard(440)


async def test_receive_only_then_inactive_then_both() -> None:
    """SITUATIONS 96, 97: directions change within one session, and the sound comes back."""
    async with room() as here:
        ben = await here.join("ben")
        anna = await here.join("anna")
        anna.say(440)
        await ben.until_hears(440)
        for direction, answered in (("inactive", "inactive"), ("recvonly", "sendonly")):
            anna.direction = direction
            text = await here.engine.renegotiate("room", "anna", await anna.offer())
            assert f"a={answered}\r\n" in text
            anna.accept(text)
            await ben.until_silent()
        anna.direction = "sendonly"
        anna.accept(await here.engine.renegotiate("room", "anna", await anna.offer()))
        await ben.until_hears(440)


@pytest.mark.parametrize("bad", [
    "", offer([]), offer(video_line("0")), offer(end="\r"), offer() + "x" * 1_000_000,
], ids=["empty", "no media", "video only", "cr only", "1 MB"])
async def test_a_refused_offer_leaves_nothing_behind(bad: str) -> None:
    async with room() as here:
        with pytest.raises(OfferRefused):
            await here.engine.join("room", "anna", "anna", bad)
        assert here.engine.calls == ()
        with pytest.raises(CallRefused):
            here.engine.leave("room", "anna")


async def test_a_refused_renegotiation_leaves_the_session_as_it_was() -> None:
    """ATTACKS 47: another certificate, or an old offer, within a session."""
    async with room() as here:
        ben = await here.join("ben")
        anna = await here.join("anna")
        anna.say(440)
        good = await anna.offer()
        anna.accept(await here.engine.renegotiate("room", "anna", good))
        for bad in (offer(), "nonsense"):
            with pytest.raises(OfferRefused):
                await here.engine.renegotiate("room", "anna", bad)
        await ben.until_hears(440)


async def test_an_offer_without_addresses_is_answered_at_once_and_connects() -> None:
    """SITUATIONS 95, 104: hidden names are not waited for; we are known by our own addresses."""
    async with room() as here:
        async with Participant("anna") as anna:
            text = await anna.offer(without_candidates=True)
            hidden = "a=candidate:1 1 udp 1 5f8c9a3e-0d54.local 50001 typ host\r\na=candidate:\r\n"
            asked_s = time.monotonic()
            answered = await here.engine.join("room", "anna", "anna", text + hidden)
            assert time.monotonic() - asked_s < 1.0
            anna.accept(answered)
            await here.told.until(Joined, participant_id="anna")
