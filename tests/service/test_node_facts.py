"""What a node says of itself, and the notices of its pages."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from mesh.core.errors import Refused
from mesh.service import node_facts
from mesh.service.node_facts import Followers, Identity, NodeFacts
from tests.service.installs import Client, Install, a_house, turns_of_the_loop


class Port:
    """A port that may be opened to the network."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    def loopback(self) -> str:
        return "http://127.0.0.1:7420"

    def lan(self) -> list[str]:
        return self.urls

    def fingerprint(self) -> str:
        return "AB:CD"

    async def set_lan(self, enabled: bool) -> None:
        self.urls = ["https://192.0.2.7:7420"] if enabled else []


@dataclass
class Seen:
    """A sighting."""

    install_id: str = "install:1"
    name: str = "laptop"
    addresses: tuple[str, ...] = ()


def facts_of(install: Install, problems: list[str]) -> NodeFacts:
    """The facts of an install."""
    return NodeFacts(
        identity=Identity(
            install_id=install.install_id,
            boot_id="0" * 32,
            version="1.0",
            name=install.name,
            operator_name="ann",
            home="/home/ann/mesh",
            started_at_ms=5,
        ),
        network=Port(),
        rooms=install.services.rooms,
        profiles=install.services.profiles,
        states=install.links.state,
        sightings=lambda: [Seen(), Seen(addresses=("https://192.0.2.9:1",))],
        storage=lambda: {"events": 3, "commits": 2, "queue": 0},
        problems=lambda: problems,
    )


async def test_who_and_where(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        facts = facts_of(await house.install("desktop"), [])
        info = facts.info()
        assert info["listen"] == ["http://127.0.0.1:7420"] and info["lan"] is False
        assert info["operator"] == {"member_name": "ann"} and info["version"] == "1.0"
        opened = await facts.set_lan(True)
        assert opened == {
            "lan": True,
            "lan_urls": ["https://192.0.2.7:7420"],
            "fingerprint": "AB:CD",
        }
        assert facts.info()["listen"][1:] == opened["lan_urls"]
        assert (await facts.set_lan(False))["lan"] is False


async def test_how_it_stands(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        problems: list[str] = []
        facts = facts_of(host, problems)
        status = facts.status()
        assert status["ready"] and status["rooms"] == 1 and not status["warnings"]
        (link,) = status["links"]
        assert (link["install_id"], link["state"]) == (guest.install_id, "up")
        assert {p["name"] for p in status["profiles"]} == {"echo", "guide", "scribe"}
        assert [s["address"] for s in status["sightings"]] == ["", "https://192.0.2.9:1"]
        assert status["storage"] == {"events": 3, "commits": 2, "queue": 0}


async def test_a_problem_is_not_ready_and_a_stopped_room_is_a_warning(tmp_path: Path) -> None:
    """Situation 29: the node works on, and says which room does not."""
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")
        problems: list[str] = []
        facts = facts_of(host, problems)
        host.services.rooms.broken[room_id] = "planted"
        status = facts.status()
        assert status["ready"] and status["warnings"] == [f"Room {room_id} has stopped: planted"]
        problems.append("storage_failed: gone")
        status = facts.status()
        assert not status["ready"] and status["warnings"][0] == "storage_failed: gone"


async def test_a_burst_is_told_once_for_each_word() -> None:
    followers = Followers(asyncio.get_running_loop().call_soon)
    client, other = Client(), Client()
    followers.follow(client)
    followers.follow(client)
    followers.follow(other)
    assert len(client.callbacks) == 1
    for word in ("rooms", "links", "rooms", "rooms", "links"):
        followers.changed(word)
    assert not client.told
    await turns_of_the_loop(2)
    assert [t["what"] for t in client.told] == ["links", "rooms"] == [t["what"] for t in other.told]
    client.close()
    followers.changed("profiles")
    await turns_of_the_loop(2)
    assert len(client.told) == 2 and [t["what"] for t in other.told][-1] == "profiles"


async def test_there_is_room_for_so_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_facts, "SUBSCRIBERS_MAX", 1)
    followers = Followers(asyncio.get_running_loop().call_soon)
    client = Client()
    followers.follow(client)
    followers.follow(client)
    with pytest.raises(Refused, match="busy"):
        followers.follow(Client())


async def test_pages_hear_of_rooms_and_invitations(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        pages = Client(), Client()
        for install, page in zip((host, guest), pages, strict=True):
            install.followers.follow(page)
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        await turns_of_the_loop()
        for page in pages:
            assert {"rooms", "links", "invitations"} <= {t["what"] for t in page.told}
