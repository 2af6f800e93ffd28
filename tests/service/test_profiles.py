"""The agents of a node: there from the start, added, shown, tested, kept while they sit."""

from pathlib import Path
from typing import Any

import pytest

from mesh.core.errors import MeshError, Refused
from mesh.service.lending import digest
from mesh.service.profiles import seed
from tests.service.installs import a_house

PARROT: dict[str, Any] = {
    "name": "parrot",
    "backend": "builtin",
    "display_name": "The parrot",
    "options": {"agent": "echo"},
}


async def test_a_fresh_install_has_agents_and_seeding_again_changes_nothing(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        before = host.services.profiles.list()
        assert [p["name"] for p in before["profiles"]] == ["echo", "guide", "scribe"]
        await seed(host.mounts)
        assert host.services.profiles.list() == before


async def test_a_profile_is_added_shown_tested_and_there_after_a_restart(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        profiles = host.services.profiles
        added = await profiles.add(PARROT)
        assert (added["name"], added["display_name"]) == ("parrot", "The parrot")
        assert (await profiles.test("parrot"))["ok"]
        shown = profiles.show("parrot")
        assert shown["state"] == "ready" and shown["catalog_digest"] == digest(shown["catalog"])
        await host.stop()
        await host.start()
        assert host.services.profiles.show("parrot")["backend"] == "builtin"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (PARROT | {"backend": "psychic"}, "invalid_params"),
        (PARROT | {"name": "../../etc"}, "invalid_params"),
        (PARROT | {"display_name": "\u202e"}, "invalid_params"),
        (PARROT | {"more": 1}, "invalid_params"),
        (PARROT | {"options": {"agent": "nobody"}}, "invalid_params"),
        (PARROT | {"name": "echo"}, "conflict"),
    ],
)
async def test_what_is_no_profile_is_refused_by_name(
    tmp_path: Path, config: dict[str, Any], reason: str
) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        before = host.services.profiles.list()
        with pytest.raises(MeshError) as refusal:
            await host.services.profiles.add(config)
        assert refusal.value.reason == reason
        assert host.services.profiles.list() == before


async def test_one_that_sits_in_a_room_stays_until_it_leaves(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den", "echo")
        await guest.joins(host, room_id, "echo")
        profiles = host.services.profiles
        assert profiles.show("echo")["rooms"] == [room_id]
        with pytest.raises(Refused, match="conflict"):
            await profiles.remove("echo")
        await host.rooms.remove(room_id, host.member_id(room_id, "echo"))
        assert profiles.show("echo")["rooms"] == [], "the guest's namesake is not ours"
        assert await profiles.remove("echo") == {"removed": True}
        for asking in (profiles.remove("echo"), profiles.test("echo")):
            with pytest.raises(Refused, match="not_found"):
                await asking
        with pytest.raises(Refused, match="not_found"):
            profiles.show("echo")
