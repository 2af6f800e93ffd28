"""Grants in words: what is lent, what is held, and taking it back."""

from pathlib import Path

import pytest

from mesh.core.errors import Malformed, Refused
from mesh.core.limits import GRANT_TTL_MAX_S
from tests.service.installs import House, Install, a_house, eventually


async def lent(house: House) -> tuple[Install, Install, str]:
    """A host with an agent of its own, and a guest that lends one."""
    host, guest = await house.installs("desktop", "laptop")
    room_id = await host.founds("Den", "scribe")
    await guest.joins(host, room_id, "echo")
    return host, guest, room_id


async def test_both_sides_see_the_same_grant_from_their_end(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await lent(house)
        (given,) = guest.services.loans.list(None)["grants"]
        grants = host.services.loans.list(room_id)["grants"]
        (taken,) = [g for g in grants if g["direction"] == "held"]
        assert (given["direction"], given["grant_id"]) == ("issued", taken["grant_id"])
        same = ("profile", "handle", "permissions", "home_install_id", "target_install_id")
        assert [given[k] for k in same] == [taken[k] for k in same]
        assert given["room_name"] == taken["room_name"] == "Den"
        assert given["state"] == taken["state"] == "active"
        assert given["until"] > given["expires_at"] == taken["until"]
        own = [g for g in grants if g["direction"] == "issued"]
        assert [g["profile"] for g in own] == ["scribe"], "what is lent to a room of one's own"
        assert not host.services.loans.list("r_" + "0" * 32)["grants"]
        assert host.services.loans.show(taken["grant_id"]) == taken
        assert "token" not in given and "grant" not in given


async def test_use_and_expiry_are_shown(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await lent(house)
        (grant,) = guest.services.loans.list(None)["grants"]
        assert grant["last_used_at"] is None
        await host.says(room_id, "@echo hello")
        await host.until(room_id, lambda s: bool(s.turns) and not s.open_turns())
        store = guest.services.lending._store
        (row,) = [r for r in await store.grants() if r.grant_id == grant["grant_id"]]
        assert row.last_used_at_ms is not None
        assert guest.services.loans.show(grant["grant_id"])["last_used_at"] == row.last_used_at_ms
        guest.clock.ahead_ms = GRANT_TTL_MAX_S * 1_000
        assert guest.services.loans.show(grant["grant_id"])["state"] == "expired"


@pytest.mark.parametrize("by", ["grant", "member"])
async def test_the_lender_takes_it_back_by_grant_or_by_member(tmp_path: Path, by: str) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await lent(house)
        (grant,) = guest.services.loans.list(None)["grants"]
        grant_id, member_id = grant["grant_id"], grant["member_id"]
        with pytest.raises(Refused, match="forbidden"):
            await host.services.loans.revoke(grant_id, None, None)
        with pytest.raises(Refused, match="not_found"):
            await host.services.loans.revoke(None, room_id, member_id)
        revoke = guest.services.loans.revoke
        done = await (
            revoke(grant_id, None, None) if by == "grant" else revoke(None, room_id, member_id)
        )
        assert done == {"revoked": [grant_id]}
        assert guest.services.loans.show(grant_id)["state"] == "revoked"
        await host.until(room_id, lambda state: state.members[member_id].withdrawn)
        await eventually(lambda: host.services.loans.show(grant_id)["state"] == "revoked")


async def test_something_must_be_named(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, _guest, room_id = await lent(house)
        with pytest.raises(Malformed):
            await host.services.loans.revoke(None, room_id, None)
        with pytest.raises(Refused, match="not_found"):
            await host.services.loans.revoke("g_" + "0" * 32, None, None)
        with pytest.raises(Refused, match="not_found"):
            host.services.loans.show("g_" + "0" * 32)
