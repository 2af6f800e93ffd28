"""Invitations looked at: the inviter is reached and answers, and nobody else."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path

import pytest

from mesh.core.errors import MeshError
from mesh.core.invitation import decode_link
from mesh.core.link_messages import PreviewResult
from mesh.service import previews
from tests.service.installs import House, Install, a_house


async def reason(asking: Awaitable[object]) -> str:
    """The reason it is refused for."""
    with pytest.raises(MeshError) as refusal:
        await asking
    return refusal.value.reason


async def invited(house: House, uses: int = 1) -> tuple[Install, Install, str, str]:
    """A host, a guest, the host's room, a link to it."""
    host, guest = await house.installs("desktop", "laptop")
    room_id = await host.founds("Den")
    made = await host.services.invitations.create(room_id, 3_600, uses, "member")
    return host, guest, room_id, made["link"]


async def test_a_preview_says_who_invites_to_what_and_spends_nothing(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id, link = await invited(house, uses=2)
        shown = await guest.services.previews.preview(link)
        assert shown["room_id"] == room_id and shown["room_name"] == "Den"
        assert shown["inviter"]["install_id"] == host.install_id
        assert (shown["uses_left"], shown["already_member"]) == (2, False)
        assert not guest.services.rooms.all()
        assert host.state(room_id).invitations[decode_link(link).invitation_id].redeemed == ()


async def test_two_previews_at_once_are_both_answered(tmp_path: Path) -> None:
    """The page opens, and the person accepts, while the first answer is on its way."""
    async with a_house(tmp_path) as house:
        _host, guest, _room_id, link = await invited(house)
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(guest.services.previews.preview(link)) for _ in range(3)]
        assert len({task.result()["room_name"] for task in asked}) == 1
        assert not guest.services.previews._previews


async def test_an_inviter_that_does_not_answer_is_not_reachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "ANSWER_S", 0.02)
    async with a_house(tmp_path) as house:
        host, guest, _room_id, link = await invited(house)
        house.panel.drops = lambda sender, to, message: isinstance(message, PreviewResult)
        assert await reason(guest.services.previews.preview(link)) == "not_reachable"
        house.unplug(host)
        assert await reason(guest.services.previews.preview(link)) == "not_reachable"


async def test_of_several_addresses_the_one_that_answers_wrongly_is_told(tmp_path: Path) -> None:
    """Situation 75: and the right one after it is still found."""
    async with a_house(tmp_path) as house:
        host, guest, _room_id, link = await invited(house)
        other = await house.install("phone")
        right, wrong = f"panel://{host.install_id}", f"panel://{other.install_id}"
        nowhere = "panel://nobody"
        only = replace(decode_link(link), addresses=(nowhere, wrong, nowhere)).encode("")
        house.unplug(host)
        assert await reason(guest.services.previews.preview(only)) == "peer_identity_mismatch"
        house.replug(host)
        both = replace(decode_link(link), addresses=(nowhere, wrong, right)).encode("")
        assert (await guest.services.previews.preview(both))["room_name"] == "Den"


async def test_a_link_that_is_damaged_says_so(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        _host, guest, _room_id, link = await invited(house)
        for damaged in (link[:-1], link + "A", link.replace("#", "#A"), "", "https://x/i"):
            assert await reason(guest.services.previews.preview(damaged)) == "invitation_damaged"

