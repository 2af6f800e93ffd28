"""The host's side of turns: to the install a member lives on, under its grant, at least once."""

from dataclasses import replace
from pathlib import Path

import pytest

from mesh.core.grant import issue, read
from mesh.core.limits import GRANT_TTL_MAX_S
from mesh.core.link_messages import GrantOffer, TurnDispatch, TurnReport
from mesh.core.room import RoomState
from tests.node.puppets import Puppet, says
from tests.service.installs import House, Install, a_house, eventually, turns_of_the_loop


async def lent(house: House) -> tuple[Install, Install, str, Puppet]:
    """A host, a lender with a puppet, their room."""
    host, lender = await house.installs("desktop", "laptop")
    puppet = await lender.mounts_puppet("helper", says("yes"))
    room_id = await host.founds("Den")
    await lender.joins(host, room_id, "helper")
    return host, lender, room_id, puppet


def is_settled(state: RoomState) -> bool:
    """True when turns were asked for and all have ended."""
    return bool(state.turns) and not state.open_turns()


async def test_an_agent_that_is_away_is_offline_and_asked_when_it_is_back(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, lender, room_id, puppet = await lent(house)
        house.unplug(lender)
        reader = await host.follows(room_id, host.state(room_id).head.seq)
        await host.says(room_id, "@helper are you there?")
        await reader.until(lambda c: bool(c.signals("turn.state")))
        turn = reader.signals("turn.state")[-1]["turn"]
        assert (turn["state"], turn["reason"]) == ("offline", "peer_offline")
        assert not house.sent(lender, TurnDispatch)
        house.replug(lender)
        await host.until(room_id, is_settled)
        assert await host.texts(room_id) == ["@helper are you there?", "yes"]
        assert len(puppet.asked) == 1


async def test_a_link_that_goes_shows_what_waits_for_that_machine(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, lender, room_id, puppet = await lent(house)
        house.panel.drops = lambda sender, to, message: isinstance(message, TurnDispatch)
        await host.says(room_id, "@helper are you there?")
        await eventually(lambda: bool(house.sent(lender, TurnDispatch)))
        house.panel.drops = lambda sender, to, message: False
        reader = await host.follows(room_id, host.state(room_id).head.seq)
        house.unplug(lender)
        await reader.until(lambda c: bool(c.signals("turn.state")))
        assert reader.signals("turn.state")[0]["turn"]["state"] == "offline"
        house.replug(lender)
        await host.until(room_id, is_settled)
        assert len(puppet.asked) == 1


async def test_a_restarted_host_dispatches_what_it_still_owes(tmp_path: Path) -> None:
    """To its own agents at once, to the others by their links."""
    async with a_house(tmp_path) as house:
        host, _lender, room_id, puppet = await lent(house)
        await host.rooms.add(room_id, "echo", None)
        await host.until(room_id, lambda state: len(state.routes) == 2)
        house.panel.drops = lambda sender, to, message: isinstance(message, TurnDispatch)
        await host.says(room_id, "@helper go on")
        await host.says(room_id, "@echo hello")
        await host.until(room_id, lambda state: len(state.open_turns()) == 2)
        await host.stop()
        house.panel.drops = lambda sender, to, message: False
        await host.start()
        await host.until(room_id, is_settled)
        assert sorted((await host.texts(room_id))[2:]) == ["hello", "yes"]
        assert len(puppet.asked) == 1


async def test_an_expired_grant_is_not_used_and_the_turn_waits_for_a_fresh_one(
    tmp_path: Path,
) -> None:
    """The lender was away for a day; what was asked meanwhile is answered, not failed."""
    async with a_house(tmp_path) as house:
        host, lender, room_id, puppet = await lent(house)
        first = host.services.routing.held()[0].grant_id
        house.unplug(lender)
        await host.says(room_id, "@helper when you are back")
        host.clock.ahead_ms = lender.clock.ahead_ms = GRANT_TTL_MAX_S * 1_000
        house.replug(lender)
        await host.until(room_id, is_settled)
        assert host.services.routing.held()[0].grant_id != first
        assert await host.texts(room_id) == ["@helper when you are back", "yes"]
        assert len(puppet.asked) == 1 and not await host.events(room_id, "turn.failed")


async def test_a_grant_that_only_the_lender_finds_expired_is_renewed_too(tmp_path: Path) -> None:
    """The host's clock is behind; the lender's decides, and nothing fails for it."""
    async with a_house(tmp_path) as house:
        host, lender, room_id, puppet = await lent(house)
        house.panel.drops = lambda sender, to, message: isinstance(message, GrantOffer)
        lender.clock.ahead_ms = GRANT_TTL_MAX_S * 1_000 + 1_000
        await host.says(room_id, "@helper quickly")
        await eventually(lambda: bool(house.sent(lender, TurnDispatch)))
        await eventually(lambda: bool(lender.services.lending.issued()[1:]))
        await eventually(lambda: not lender.jobs_under_way("_accept"))
        assert not puppet.asked and not [
            r for r in house.sent(host, TurnReport) if r.state == "failed"
        ]
        house.panel.drops = lambda sender, to, message: False
        host.clock.ahead_ms = GRANT_TTL_MAX_S * 1_000
        house.relink(host, lender)
        await host.until(room_id, is_settled)
        assert await host.texts(room_id) == ["@helper quickly", "yes"]


@pytest.mark.parametrize("what", ["member", "catalog", "signature", "audience", "noise"])
async def test_a_grant_that_does_not_verify_is_no_route(tmp_path: Path, what: str) -> None:
    async with a_house(tmp_path) as house:
        host, lender, room_id, _puppet = await lent(house)
        row = lender.services.lending.issued()[0]
        grant, _, _ = read(row.token)
        fresh = replace(grant, grant_id="g_" + "1" * 32)
        offer = next(o for o in house.sent(host, GrantOffer))
        spoilt = {
            "member": GrantOffer(
                room_id=room_id,
                member_id=host.services.operator.me(host.state(room_id)).member_id,
                grant=issue(lender.key, fresh),
                catalog=offer.catalog,
            ),
            "catalog": replace_offer(offer, issue(lender.key, fresh), b'{"id":"other"}'),
            "signature": replace_offer(offer, issue(host.key, fresh), offer.catalog),
            "audience": replace_offer(
                offer,
                issue(lender.key, replace(fresh, audience=lender.install_id)),
                offer.catalog,
            ),
            "noise": replace_offer(offer, b"\xff", b"\xff"),
        }[what]
        before = host.services.routing.held()
        host.services.routing.on_offer(lender.install_id, spoilt)
        host.services.routing.on_offer("install:" + "0" * 32, offer)
        await turns_of_the_loop()
        assert host.services.routing.held() == before
        assert host.log.events().count("routing.offer") == 2


def replace_offer(offer: GrantOffer, grant: bytes, catalog: bytes) -> GrantOffer:
    """The offer with another grant or catalog."""
    return GrantOffer(
        room_id=offer.room_id, member_id=offer.member_id, grant=grant, catalog=catalog
    )


async def test_the_same_grant_again_is_no_second_route(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, lender, room_id, _puppet = await lent(house)
        for count in range(5):
            house.relink(host, lender)
            await offers(house, host, count + 2)
        await eventually(lambda: not host.jobs_under_way("_register"))
        await host.says(room_id, "and on")
        assert len(await host.events(room_id, "route.registered")) == 1
        assert len(host.services.routing.held()) == 1


async def offers(house: House, host: Install, count: int) -> None:
    """Wait until so many grants were offered to the host."""
    await eventually(lambda: len(house.sent(host, GrantOffer)) >= count)


async def test_held_grants_outlive_a_restart(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, _lender, _room_id, _puppet = await lent(house)
        held = [row.grant_id for row in host.services.routing.held()]
        await host.stop()
        await host.start()
        assert [row.grant_id for row in host.services.routing.held()] == held
