"""Which links a node keeps, and whom it remembers."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from mesh.core.errors import Refused
from mesh.core.identity import SigningKey
from mesh.core.ids import install_id as named
from mesh.core.limits import ADDRESSES_PER_PEER_MAX
from tests.service.installs import House, Install, a_house, eventually, turns_of_the_loop
from tests.service.panel import a_hello


@dataclass
class Seen:
    """A sighting."""

    install_id: str
    addresses: tuple[str, ...]
    name: str = "somebody"


def wants(house: House, install: Install) -> set[str]:
    """Whom it keeps dialed."""
    return set(house.panel._plugs[install.install_id].wants)


async def test_a_room_needs_links_between_its_host_and_everybody_and_no_others(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path) as house:
        host, one, other = await house.installs("desktop", "laptop", "phone")
        room_id = await host.founds("Den")
        for guest in (one, other):
            await guest.joins(host, room_id)
        assert wants(house, host) == {one.install_id, other.install_id}
        assert wants(house, one) == wants(house, other) == {host.install_id}
        assert not one.links.is_up(other.install_id)


@pytest.mark.parametrize("how", ["leaves", "is removed", "the room closes"])
async def test_a_link_that_no_room_needs_any_more_is_let_go(tmp_path: Path, how: str) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id, other = await host.founds("Den"), await host.founds("Other")
        for room in (room_id, other):
            await guest.joins(host, room, request_id=room[-8:])
        for room, count in ((other, 1), (room_id, 0)):
            if how == "leaves":
                await guest.rooms.leave(room)
            elif how == "is removed":
                me = guest.services.operator.me(guest.state(room)).member_id
                await host.rooms.remove(room, me)
            else:
                await host.rooms.control(room, "room.disbanded", {})
            await guest.catches_up(host, room)
            await turns_of_the_loop()
            assert len(wants(house, host)) == count


async def test_who_is_needed_is_remembered_and_strangers_are_not(tmp_path: Path) -> None:
    """Anybody can make keys and come by; that must not fill a table."""
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        peers = host.services.peers
        for number in range(20):
            key = SigningKey.from_seed(bytes([100 + number]) * 32)
            stranger = a_hello(named(key.public), key.public, f"stranger {number}")
            peers.on_link_up(stranger)
            assert stranger.install_id in peers._met, "shown while it is linked"
            peers.on_link_down(stranger.install_id)
        await turns_of_the_loop()
        assert [p["name"] for p in peers.list()] == ["laptop"]
        await eventually(lambda: bool(peers._stored))
        await host.stop()
        await host.start()
        (kept,) = host.services.peers.list()
        assert (kept["install_id"], kept["name"]) == (guest.install_id, "laptop")
        assert kept["addresses"] == [f"panel://{guest.install_id}"]
        assert kept["rooms"] == [room_id]


async def test_a_guest_that_only_looked_is_forgotten_and_one_that_joined_is_kept(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        link = (await host.services.invitations.create(room_id, 60, 1, "member"))["link"]
        await guest.services.joining.preview(link)
        assert [p["link"] for p in host.services.peers.list()] == ["up"]
        house.unplug(guest)
        assert host.services.peers.list() == []
        house.replug(guest)
        await guest.services.joining.accept(link, "q", None, [])
        house.unplug(guest)
        (shown,) = host.services.peers.list()
        assert (shown["link"], shown["reason"]) == ("down", "peer_offline")


async def test_where_a_peer_said_it_is_comes_before_hints_and_all_is_bounded(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        said = f"panel://{guest.install_id}"
        hints = [f"https://10.0.0.{n}:1" for n in range(20)]
        found = host.services.peers.addresses(guest.install_id, [hints[0], said, *hints])
        assert found[:2] == [said, hints[0]] and len(found) == ADDRESSES_PER_PEER_MAX
        assert host.services.peers.addresses("install:" + "0" * 32, hints[:1]) == hints[:1]


async def test_a_sighting_is_a_hint_for_whom_we_look_for_and_no_more(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        peers = host.services.peers
        peers.on_sighting(Seen(guest.install_id, ("https://10.0.0.9:1",)))
        peers.on_sighting(Seen("install:" + "0" * 32, ("https://10.0.0.8:1",)))
        dialed = house.panel._plugs[host.install_id].wants
        assert "https://10.0.0.9:1" in dialed[guest.install_id]
        assert set(dialed) == {guest.install_id}


async def test_what_is_told_of_a_peer(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        peers = host.services.peers
        shown = peers.show(guest.install_id)
        assert (shown["link"], shown["reason"], shown["rooms"]) == ("up", "", [room_id])
        assert peers.rtt_us(guest.install_id) == 7
        house.unplug(guest)
        with pytest.raises(Refused, match="peer_offline"):
            peers.rtt_us(guest.install_id)
        with pytest.raises(Refused, match="not_found"):
            peers.show("install:" + "0" * 32)
