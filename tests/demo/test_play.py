"""The demo played on a terminal: keys pressed, their effects seen through another machine's SDK."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import aiohttp
import pytest
from yarl import URL

from mesh.client import Connection, connect
from tests.demo.played_demo import COLUMNS, PlayedDemo

pytestmark = pytest.mark.timeout(90)

State = dict[str, Any]


@asynccontextmanager
async def a_machine(demo: PlayedDemo, name: str) -> AsyncIterator[tuple[Connection, str]]:
    """A program of ours, connected to one of the demo's nodes; and the room's id."""
    async with connect(demo.homes / name) as node:
        (room,) = await node.rooms.list()
        yield node, str(room["room_id"])


async def shown(node: Connection, room_id: str, is_so: Callable[[State], bool]) -> State:
    """The room's state as soon as it is so; looked at again whenever the room says something."""
    async with aclosing(node.subscribe(room_id)) as items:
        while not is_so(state := await node.rooms.state(room_id)):
            await anext(items)
        return state


def presence(handle: str, word: str) -> Callable[[State], bool]:
    """Whether the member of that handle is shown so."""

    def is_so(state: State) -> bool:
        return any(m["handle"] == handle and m["presence"] == word for m in state["members"])

    return is_so


async def arrives(node: Connection, room_id: str, event_id: str) -> list[str]:
    """Wait until the event is in this node's log; returns all ids there."""
    async with aclosing(node.subscribe(room_id)) as items:
        while getattr(await anext(items), "event", {}).get("event_id") != event_id:
            pass
    log = await node.rooms.log(room_id, limit=1000)
    return [event["event_id"] for event in log["events"]]


async def answers(node: Connection, room_id: str, event_id: str) -> list[str]:
    """All answers to a message, in this node's log."""
    log = await node.rooms.log(room_id, limit=1000)
    return [
        event["payload"]["text"]
        for event in log["events"]
        if event["kind"] == "message.member" and event["cause"]["root"] == event_id
    ]


def test_the_stories_are_told_as_they_happen(played: PlayedDemo) -> None:
    said = played.said
    told = (
        "laptop    answers at http://127.0.0.1:",
        "Story 1",
        'laptop    makes the room "Kitchen table", seats @scribe',
        "laptop    makes an invitation",
        "desktop   looks at it: You at laptop invites",
        "desktop   joins as You (desktop), brings @guide along",
        "laptop    holds the grant for @guide, which is online; 1 invitation used",
        "desktop   reads it after",
        "desktop   answers as @guide",
        "Story 2",
        "friend    looks at it",
        "friend    joins as Friend, lends @echo: dispatch, stop, status; until",
        "2 invitations used",
        "friend    answers as @echo",
        "laptop    answers as @scribe",
        "first     http://127.0.0.1:",
        "friend    http://127.0.0.1:",
        "Keys",
    )
    places = [said.find(words) for words in told]
    assert -1 not in places, told[places.index(-1)]
    assert places == sorted(places)
    pieces = re.search(r"as @guide, event \d+: \d+\s+characters;\s+laptop\s+saw\s+(\d+)", said)
    assert pieces and int(pieces[1]) >= 5


def test_no_line_is_wider_than_the_terminal(played: PlayedDemo) -> None:
    wide = [line for line in played.said.splitlines() if len(line) > COLUMNS]
    assert [line for line in wide if "#login=" not in line] == []


async def test_the_members_differ(played: PlayedDemo) -> None:
    homes = {}
    for name in ("laptop", "desktop", "friend"):
        async with a_machine(played, name) as (node, room_id):
            state = await node.rooms.state(room_id)
            homes[name] = {m["handle"] for m in state["members"] if m["mine"]}
    assert homes["laptop"] == {"you", "scribe"}
    assert homes["desktop"] == {"you-desktop", "guide"}
    assert homes["friend"] == {"friend", "echo"}


async def test_a_friend_is_unplugged_and_answers_when_it_is_back(played: PlayedDemo) -> None:
    async with a_machine(played, "desktop") as (node, room_id):
        played.press("3")
        await shown(node, room_id, presence("echo", "offline"))
        played.seen(r"shows Friend, @echo: offline \(peer_offline\)")
        said = await node.rooms.send(room_id, "@echo are you back?")
        waiting = await shown(
            node, room_id, lambda s: any(t["state"] == "offline" for t in s["turns"])
        )
        assert {t["reason"] for t in waiting["turns"] if t["state"] == "offline"} == {
            "peer_offline"
        }
        played.seen("@echo will answer later: peer_offline")
        played.press("3")
        played.seen("friend +runs again after")
        played.seen("friend +has caught up: [1-9]")
        await shown(node, room_id, presence("echo", "online"))
        event_id = said["event"]["event_id"]
        await shown(
            node, room_id, lambda s: all(t["state"] != "offline" for t in s["turns"])
        )
        async with aclosing(node.subscribe(room_id)) as items:
            async for item in items:
                if getattr(item, "event", {}).get("kind") == "turn.settled":
                    found = await answers(node, room_id, event_id)
                    if found:
                        break
        assert found == ["are you back?"]


async def test_the_host_is_unplugged_and_what_was_said_meanwhile_arrives(
    played: PlayedDemo,
) -> None:
    async with a_machine(played, "desktop") as (node, room_id):
        played.press("1")
        await shown(node, room_id, lambda s: s["authority"]["link"] == "down")
        played.seen(r"desktop +shows .*offline \(host_offline\)")
        said = await node.rooms.send(room_id, "said without the host", wait_ms=0)
        assert said["queued"] and said["state"] == "waiting"
        played.press("1")
        await shown(node, room_id, lambda s: s["authority"]["link"] == "up")
        assert (await arrives(node, room_id, said["event_id"])).count(said["event_id"]) == 1
        await shown(node, room_id, presence("scribe", "online"))
    async with a_machine(played, "friend") as (node, room_id):
        assert (await arrives(node, room_id, said["event_id"])).count(said["event_id"]) == 1


async def test_the_friend_withdraws_and_lends_anew(played: PlayedDemo) -> None:
    async with a_machine(played, "laptop") as (node, room_id):
        played.press("r")
        await shown(node, room_id, presence("echo", "withdrawn"))
        played.seen("@echo is withdrawn")
        said = await node.rooms.send(room_id, "@echo still there?")
        async with aclosing(node.subscribe(room_id)) as items:
            async for item in items:
                event = getattr(item, "event", {})
                if event.get("kind") == "turn.failed":
                    break
        assert event["payload"]["reason"] == "withdrawn"
        assert await answers(node, room_id, said["event"]["event_id"]) == []
        played.seen("@echo does not answer: withdrawn")
        played.press("r")
        await shown(node, room_id, presence("echo", "online"))
        played.seen("friend +lends @echo again")


async def test_a_key_makes_new_links_and_each_works_once(played: PlayedDemo) -> None:
    played.press("o")
    link = URL(played.seen(r"^  first +(http://127.0.0.1:\d+/#login=\S+)$")[1])
    body = {"secret": link.fragment.removeprefix("login=")}
    origin = {"Origin": str(link.origin())}
    async with aiohttp.ClientSession(headers=origin) as browser:
        statuses = []
        for _ in range(2):
            async with browser.post(link.origin() / "login", json=body) as answer:
                statuses.append(answer.status)
    assert statuses == [200, 401]


def test_a_node_that_was_killed_by_others_is_told_and_starts_again(played: PlayedDemo) -> None:
    (pid,) = played.alive("--name friend")
    played.kill(pid)
    played.seen("friend +has ended, not by a key; 3 starts it again")
    played.press("3")
    played.seen("friend +runs again after")


def test_a_question_mark_repeats_the_keys(played: PlayedDemo) -> None:
    played.press("?")
    played.seen("the friend withdraws @echo")
