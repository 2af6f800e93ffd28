"""Inviting, the host's side: shown once, previewed by proof, relayed, revoked, listed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mesh.core.errors import MeshError, Refused
from mesh.core.invitation import decode_link
from mesh.core.limits import INVITATION_TTL_MAX_S
from mesh.core.link_messages import Preview, PreviewResult, Redeem, RedeemResult
from mesh.service import invitations
from tests.service.installs import House, Install, a_house, eventually


async def a_room_of_two(house: House, **policy: str) -> tuple[Install, Install, str]:
    """A host and a member who may invite."""
    host, member = await house.installs("desktop", "laptop")
    room_id = await host.founds("Den", **policy)
    await member.joins(host, room_id)
    return host, member, room_id


async def test_a_link_is_made_once_and_its_secret_is_kept_nowhere(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")
        made = await host.services.invitations.create(room_id, 60, 2, "listener")
        link = decode_link(made["link"])
        assert (link.room_id, link.inviter_key) == (room_id, host.key.public)
        assert link.addresses == (f"panel://{host.install_id}",)
        assert made["expires_at"] == link.expires_at_s * 1_000
        assert made["qr_svg"].startswith("<svg") and made["reach"] == "this_machine"
        shown = host.services.invitations.show(made["invitation_id"])
        assert (shown["state"], shown["uses"], shown["used"]) == ("open", 2, 0)
        assert shown["role"] == "listener" and shown["previewed_at"] is None
        secret = made["link"].partition("#")[2]
        assert secret not in json.dumps(host.services.invitations.list(None))
        stored = b"".join(p.read_bytes() for p in (house.folder / "desktop").glob("mesh.db*"))
        assert secret.encode() not in stored and link.secret not in stored


@pytest.mark.parametrize(
    ("ttl_s", "uses", "role"),
    [
        (0, 1, "member"),
        (INVITATION_TTL_MAX_S + 1, 1, "member"),
        (60, 0, "member"),
        (60, 10**6, "member"),
        (60, 1, "owner"),
    ],
)
async def test_terms_have_bounds(tmp_path: Path, ttl_s: int, uses: int, role: str) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")
        with pytest.raises(MeshError, match="invalid_params"):
            await host.services.invitations.create(room_id, ttl_s, uses, role)
        assert not host.state(room_id).invitations


async def test_a_member_invites_where_the_policy_lets_it_and_the_join_is_relayed(
    tmp_path: Path,
) -> None:
    """The guest knows only the member; the room's host seats it."""
    async with a_house(tmp_path) as house:
        host, member, room_id = await a_room_of_two(house)
        guest = await house.install("phone")
        made = await member.services.invitations.create(room_id, 60, 1, "member")
        assert decode_link(made["link"]).inviter_key == member.key.public
        receipt = await guest.services.joining.accept(made["link"], "q", None, [])
        assert receipt["status"] == "applied"
        assert guest.room(room_id).machine.authority_install_id == host.install_id
        relayed = [m for m in house.sent(host, Redeem) if m.relayed_for]
        assert [m.relayed_for for m in relayed] == [guest.install_id]
        await guest.catches_up(host, room_id)
        assert guest.links.is_up(host.install_id)
        shown = host.services.invitations.show(made["invitation_id"])
        assert (shown["state"], shown["used"]) == ("used", 1)
        assert shown["redeemed_by"][0]["display_name"] == "phone person"
        assert shown["issuer"]["display_name"] == "laptop person"


async def test_a_member_may_not_invite_where_only_the_owner_may(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        _host, member, room_id = await a_room_of_two(house, invite="owner")
        with pytest.raises(Refused, match="forbidden"):
            await member.services.invitations.create(room_id, 60, 1, "member")


async def test_an_invitation_that_could_not_be_issued_is_taken_back(tmp_path: Path) -> None:
    """The host is away: no link, and nothing is issued behind the person's back later."""
    async with a_house(tmp_path) as house:
        host, member, room_id = await a_room_of_two(house)
        house.unplug(host)
        with pytest.raises(Refused, match="peer_offline"):
            await member.services.invitations.create(room_id, 60, 1, "member")
        assert not (await member.rooms.state(room_id))["outbox"]
        before = len(host.state(room_id).invitations)
        house.replug(host)
        await member.says(room_id, "hello again")
        assert len(host.state(room_id).invitations) == before


async def test_a_relay_whose_host_is_away_says_so_and_keeps_nothing(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, member, room_id = await a_room_of_two(house)
        guest = await house.install("phone")
        link = (await member.services.invitations.create(room_id, 60, 1, "member"))["link"]
        house.unplug(host)
        asked = decode_link(link)
        house.panel.dial(guest.install_id, f"panel://{member.install_id}", None)
        guest.links.send(
            member.install_id,
            Redeem(
                request_id="q",
                room_id=room_id,
                invitation_id=asked.invitation_id,
                secret=asked.secret,
                proposals=(),
            ),
        )
        await eventually(lambda: bool(house.sent(guest, RedeemResult)))
        (answer,) = house.sent(guest, RedeemResult)
        assert (answer.state, answer.reason) == ("pending", "peer_offline")
        assert not member.services.invitations._relayed


async def test_relayed_guests_are_bounded_and_answers_go_to_who_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invitations, "_RELAYED_MAX", 2)
    async with a_house(tmp_path) as house:
        host, member, room_id = await a_room_of_two(house)
        service = member.services.invitations
        house.panel.is_held = True
        for number in range(4):
            redeem = Redeem(
                request_id=f"q{number}",
                room_id=room_id,
                invitation_id="i",
                secret=b"",
                proposals=(),
            )
            assert service.on_redeem(f"install:{number}", redeem)
        assert list(service._relayed.values()) == ["install:2", "install:3"]
        ours = RedeemResult(request_id="q3", room_id=room_id, state="applied")
        assert not service.on_result(ours), "an answer for this install itself"
        assert not service.on_result(replace_result(ours, relayed_for="install:2"))
        assert service.on_result(replace_result(ours, relayed_for="install:3"))
        assert not service.on_result(replace_result(ours, relayed_for="install:3")), "only once"
        assert host.services.invitations.on_redeem("install:9", redeem) is False


def replace_result(result: RedeemResult, relayed_for: str) -> RedeemResult:
    """The answer with another address."""
    return RedeemResult(
        request_id=result.request_id,
        room_id=result.room_id,
        state=result.state,
        relayed_for=relayed_for,
    )


async def test_who_cannot_prove_the_secret_learns_nothing(tmp_path: Path) -> None:
    """A wrong proof, a wrong room and an unknown invitation look the same."""
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id, other = await host.founds("Den"), await host.founds("Other")
        made = await host.services.invitations.create(room_id, 60, 1, "member")
        link = decode_link(made["link"])
        wrong = replace(link, secret=bytes(32))
        nonce = b"n" * 32
        asked = [
            Preview(invitation_id=i, room_id=r, nonce=n, mac=m)
            for i, r, n, m in (
                (link.invitation_id, room_id, nonce, wrong.preview_mac(nonce)),
                (link.invitation_id, room_id, nonce, b""),
                (link.invitation_id, room_id, b"", link.preview_mac(b"")),
                (link.invitation_id, other, nonce, link.preview_mac(nonce)),
                ("i_" + "0" * 32, room_id, nonce, link.preview_mac(nonce)),
                (link.invitation_id, "r_" + "0" * 32, nonce, link.preview_mac(nonce)),
            )
        ]
        for question in asked:
            host.services.invitations.on_preview(host.install_id, question)
        answers = house.sent(host, PreviewResult)
        assert len(answers) == len(asked)
        assert {(a.reason, a.body) for a in answers} == {("not_found", b"")}
        assert host.services.invitations.show(link.invitation_id)["previewed_at"] is None


async def test_a_preview_is_noted_and_the_note_outlives_a_restart(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        made = await host.services.invitations.create(room_id, 60, 1, "member")
        await guest.services.joining.preview(made["link"])
        show = host.services.invitations.show
        await eventually(lambda: show(made["invitation_id"])["previewed_at"] is not None)
        noted = show(made["invitation_id"])["previewed_at"]
        await host.stop()
        await host.start()
        assert host.services.invitations.show(made["invitation_id"])["previewed_at"] == noted


async def test_revoked_and_closed_and_expired_are_each_said(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        service = host.services.invitations
        links = [(await service.create(room_id, 60, 1, "member"))["link"] for _ in range(3)]
        first = decode_link(links[0]).invitation_id
        await service.revoke(first)
        with pytest.raises(Refused, match="not_found"):
            await service.revoke("i_" + "0" * 32)
        for link, reason, ahead_ms in (
            (links[0], "invitation_revoked", 0),
            (links[1], "invitation_expired", 61_000),
        ):
            host.clock.ahead_ms = ahead_ms
            with pytest.raises(MeshError, match=reason):
                await guest.services.joining.preview(link)
        host.clock.ahead_ms = 0
        await host.rooms.control(room_id, "room.disbanded", {})
        with pytest.raises(MeshError, match="disbanded"):
            await guest.services.joining.preview(links[2])
        states = {i["invitation_id"]: i["state"] for i in service.list(None)["invitations"]}
        assert states[first] == "revoked" and list(states.values()).count("open") == 2


async def test_the_newest_is_listed_first(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        rooms = [await host.founds(name) for name in ("One", "Two")]
        made = []
        for number, room_id in enumerate((*rooms, rooms[0])):
            host.clock.ahead_ms = number * 1_000
            created = await host.services.invitations.create(room_id, 60, 1, "member")
            made.append(created["invitation_id"])
        listed = host.services.invitations.list
        assert [i["invitation_id"] for i in listed(None)["invitations"]] == made[::-1]
        assert [i["invitation_id"] for i in listed(rooms[1])["invitations"]] == [made[1]]
