"""What an install lends: durable before it is told, renewed within the loan, ended at once."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.profile import ProfileConfig
from mesh.core.errors import MeshError, Refused, StorageFailed
from mesh.core.grant import Grant, issue, read
from mesh.core.limits import GRANT_TTL_MAX_S, LOAN_TTL_MAX_S, TURN_DEADLINE_MS
from mesh.core.link_messages import GrantOffer, TurnDispatch
from mesh.service import lending
from tests.node.puppets import says
from tests.service.installs import House, Install, a_house, eventually

HALF_MS = GRANT_TTL_MAX_S * 500


async def lent(house: House) -> tuple[Install, Install, str, str]:
    """A host, a lender, their room, the member that is lent."""
    host, lender = await house.installs("desktop", "laptop")
    room_id = await host.founds("Den")
    result = await lender.joins(host, room_id, "echo")
    return host, lender, room_id, result["lent"][0]


def issued(install: Install) -> list[str]:
    """Ids of the grants it has issued, the newest first."""
    return [row.grant_id for row in install.services.lending.issued()]


async def test_a_loan_is_stored_before_anybody_hears_of_the_seat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")

        async def refuses(row: object) -> None:
            raise StorageFailed("storage_failed", "No.")

        monkeypatch.setattr(host.services.lending._store, "put_loan", refuses)
        with pytest.raises(StorageFailed):
            await host.rooms.add(room_id, "echo", None)
        assert [m.kind for m in host.state(room_id).present()] == ["person"]


async def test_a_profile_that_is_not_there_is_not_seated(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")
        with pytest.raises(Refused, match="not_found"):
            await host.rooms.add(room_id, "nobody", None)
        with pytest.raises(Refused, match="not_found"):
            await host.rooms.create("Two", None, [{"profile": "nobody"}], None)
        assert len(host.services.rooms.all()) == 1, "the second room was not made either"


async def test_a_grant_says_what_was_lent_and_no_more(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, lender, room_id, member_id = await lent(house)
        (row,) = lender.services.lending.issued()
        grant, _, _ = read(row.token)
        assert (grant.issuer, grant.audience) == (lender.install_id, host.install_id)
        assert grant.holder_key == host.key.public
        assert (grant.room_id, grant.member_id, grant.profile) == (room_id, member_id, "echo")
        assert grant.permissions == ("dispatch", "stop")
        assert grant.expires_at_s - grant.issued_at_s == GRANT_TTL_MAX_S
        route = host.state(room_id).routes[member_id]
        assert route.target_install_id == lender.install_id


@pytest.mark.parametrize(("later_ms", "count"), [(HALF_MS - 60_000, 1), (HALF_MS + 60_000, 2)])
async def test_a_grant_is_renewed_in_its_second_half(
    tmp_path: Path, later_ms: int, count: int
) -> None:
    async with a_house(tmp_path) as house:
        host, lender, room_id, member_id = await lent(house)
        first = issued(lender)
        host.clock.ahead_ms = lender.clock.ahead_ms = later_ms
        house.panel.sent.clear()
        lender.services.lending.renew(room_id, member_id)
        await eventually(lambda: bool(house.sent(host, GrantOffer)))
        assert len(issued(lender)) == count and issued(lender)[-1:] == first
        await eventually(
            lambda: host.services.routing.held()[0].grant_id == issued(lender)[0]
        )


async def test_a_loan_that_has_ended_is_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No grant reaches past the loan, and its end is told to the room."""
    monkeypatch.setattr(lending, "_RENEW_EVERY_S", 0.02)
    async with a_house(tmp_path) as house:
        host, lender = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        link = (await host.services.invitations.create(room_id, 60, 1, "member"))["link"]
        until = lender.clock.now().wall_ms + 3_600_000
        wish = {"profile": "echo", "until": until}
        await lender.services.joining.accept(link, "q", None, [wish])
        await host.until(room_id, lambda state: len(state.routes) == 1)
        (row,) = lender.services.lending.issued()
        assert row.expires_at_ms <= until
        lender.clock.ahead_ms = host.clock.ahead_ms = 3_600_000
        await host.until(room_id, lambda state: not state.routes)
        (told,) = await host.events(room_id, "grant.revoked")
        assert told.payload["reason"] == "withdrawn"


async def test_the_usual_loan_lasts_a_year(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        _host, lender, room_id, member_id = await lent(house)
        loan = lender.services.lending.loan(room_id, member_id)
        assert loan is not None
        assert loan.until_ms - loan.created_at_ms == LOAN_TTL_MAX_S * 1_000


async def test_withdrawing_acts_here_first_and_is_told_when_the_host_is_back(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path) as house:
        host, lender, room_id, member_id = await lent(house)
        grants = issued(lender)
        house.unplug(host)
        assert list(await lender.services.lending.withdraw(room_id, member_id)) == grants
        assert lender.services.lending.revoked() == frozenset(grants)
        await lender.stop()
        await lender.start()
        assert lender.services.lending.revoked() == frozenset(grants), "it is durable"
        house.replug(host)
        await host.until(room_id, lambda state: not state.routes)
        assert host.state(room_id).members[member_id].withdrawn
        with pytest.raises(Refused, match="not_found"):
            await lender.services.lending.withdraw(room_id, "m_" + "0" * 32)


async def test_withdrawing_from_a_room_that_has_stopped_still_revokes(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        _host, lender, room_id, member_id = await lent(house)
        lender.room(room_id).end(Refused("storage_failed", "This room has stopped."))
        grants = issued(lender)
        assert list(await lender.services.lending.withdraw(room_id, member_id)) == grants
        assert "lending.untold" in lender.log.events()


@pytest.mark.parametrize("how", ["left", "removed", "disbanded"])
async def test_a_seat_that_is_gone_ends_its_loan(tmp_path: Path, how: str) -> None:
    async with a_house(tmp_path) as house:
        host, lender, room_id, member_id = await lent(house)
        if how == "left":
            await lender.rooms.leave(room_id)
        elif how == "removed":
            await host.rooms.remove(room_id, member_id)
        else:
            await host.rooms.control(room_id, "room.disbanded", {})
        await eventually(lambda: bool(lender.services.lending.revoked()))
        loan = lender.services.lending.loan(room_id, member_id)
        assert loan is not None and loan.withdrawn_at_ms is not None


# --- a dispatch is admitted by its grant alone ---------------------------------------------------

Spoil = Callable[[Install, Grant], Grant]
SPOILT: dict[str, tuple[Spoil, str]] = {
    "another holder": (lambda i, g: replace(g, holder_key=bytes(32)), "proof_required"),
    "another room": (lambda i, g: replace(g, room_id="r_" + "0" * 32), "wrong_room"),
    "another member": (lambda i, g: replace(g, member_id="m_" + "0" * 32), "wrong_room"),
    "another profile": (lambda i, g: replace(g, profile="guide"), "wrong_profile"),
    "another host": (lambda i, g: replace(g, audience="install:" + "0" * 32), "wrong_audience"),
    "another authority": (
        lambda i, g: replace(g, authority_install_id="install:" + "0" * 32),
        "wrong_authority",
    ),
    "an older epoch": (lambda i, g: replace(g, authority_epoch=0), "stale_epoch"),
    "an epoch to come": (lambda i, g: replace(g, authority_epoch=2), "unknown_epoch"),
    "another offer": (lambda i, g: replace(g, catalog_digest="0" * 64), "catalog_changed"),
    "another way to run": (lambda i, g: replace(g, policy_digest="0" * 64), "policy_changed"),
    "without dispatch": (lambda i, g: replace(g, permissions=("stop",)), "forbidden"),
    "not ours to know": (lambda i, g: replace(g, grant_id="g_" + "0" * 32), "grant_revoked"),
    "from tomorrow on": (
        lambda i, g: replace(
            g,
            issued_at_s=g.issued_at_s + 86_400,
            not_before_s=g.not_before_s + 86_400,
            expires_at_s=g.expires_at_s + 86_400,
        ),
        "skew",
    ),
}


@pytest.mark.parametrize("what", SPOILT)
async def test_a_grant_for_something_else_admits_nothing(tmp_path: Path, what: str) -> None:
    """Attacks 11 to 15: signed by us, and still not for this use."""
    async with a_house(tmp_path) as house:
        host, lender, room_id, member_id = await lent(house)
        spoil, reason = SPOILT[what]
        grant, _, _ = read(lender.services.lending.issued()[0].token)
        token = issue(lender.key, spoil(lender, grant))
        with pytest.raises(MeshError) as refusal:
            lender.services.lending.admit(
                lender.room(room_id), host.install_id, a_dispatch(room_id, member_id, token)
            )
        assert refusal.value.reason == reason


async def test_a_grant_of_another_key_or_with_a_changed_bit_admits_nothing(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, lender, room_id, member_id = await lent(house)
        row = lender.services.lending.issued()[0]
        grant, _, _ = read(row.token)
        admit, room = lender.services.lending.admit, lender.room(room_id)
        changed = row.token[:-2] + (b"A" if row.token[-2:-1] != b"A" else b"B") + row.token[-1:]
        for token, reasons in (
            (issue(host.key, grant), {"bad_signature"}),
            (changed, {"bad_signature", "grant_invalid"}),
            (b"", {"grant_invalid"}),
        ):
            with pytest.raises(MeshError) as refusal:
                admit(room, host.install_id, a_dispatch(room_id, member_id, token))
            assert refusal.value.reason in reasons
        admitted = admit(room, host.install_id, a_dispatch(room_id, member_id, row.token))
        assert admitted.member_id == member_id
        with pytest.raises(MeshError, match="proof_required"):
            admit(room, "install:" + "9" * 32, a_dispatch(room_id, member_id, row.token))


async def test_a_profile_that_runs_otherwise_needs_consent_again(tmp_path: Path) -> None:
    """Its policy is compared at each dispatch; the person must lend it anew."""
    async with a_house(tmp_path) as house:
        host, lender = await house.installs("desktop", "laptop")
        await lender.mounts_puppet("helper", says("yes"))
        room_id = await host.founds("Den")
        await lender.joins(host, room_id, "helper")
        await lender.mounts.remove("helper")
        config: dict[str, Any] = {
            "name": "helper",
            "backend": "builtin",
            "options": {"agent": "echo"},
        }
        await lender.mounts.add(ProfileConfig.parse(config))
        await host.says(room_id, "@helper and now?")
        await host.until(room_id, lambda state: bool(state.turns) and not state.open_turns())
        (failed,) = await host.events(room_id, "turn.failed")
        assert failed.payload["reason"] == "policy_changed"
        assert await host.texts(room_id) == ["@helper and now?"]


def a_dispatch(room_id: str, member_id: str, token: bytes) -> TurnDispatch:
    """A dispatch that is in order but for its grant."""
    return TurnDispatch(
        room_id=room_id,
        turn_id="t_" + "1" * 32,
        member_id=member_id,
        trigger_seq=1,
        root="e",
        hop=1,
        attempt=1,
        grant=token,
        deadline_ms=TURN_DEADLINE_MS,
    )
