"""What the operator does in rooms, and what is answered by when."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mesh.core.errors import MeshError, Refused
from mesh.core.limits import LOG_PAGE_MAX
from tests.node.puppets import Puppet
from tests.service.installs import House, Install, a_house, eventually


async def reason(asking: Any) -> str:
    """The reason it is refused for."""
    with pytest.raises(MeshError) as refusal:
        await asking
    return refusal.value.reason


async def two(house: House) -> tuple[Install, Install, str]:
    """A host, a guest, their room."""
    host, guest = await house.installs("desktop", "laptop")
    room_id = await host.founds("Den")
    await guest.joins(host, room_id)
    return host, guest, room_id


async def test_a_room_is_made_with_its_agents_and_its_policy(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        seats = [{"profile": "echo"}, {"profile": "scribe", "handle": "notes"}]
        policy = {"budget": 3, "invite": "owner"}
        room = (await host.rooms.create("  Den ", None, seats, policy))["room"]
        assert room["name"] == "Den" and room["role"] == "owner" and not room["copy"]
        assert room["authority_gateway_id"] == host.install_id
        state = await host.rooms.state(room["room_id"])
        assert [m["handle"] for m in state["members"]][1:] == ["echo", "notes"]
        assert state["policy"] == {"turns": "mention", "budget": 3, "invite": "owner"}
        again = host.rooms.create("Den", room["room_id"], [], None)
        assert await reason(again) == "conflict"
        assert await reason(host.rooms.create("Den", "mine", [], None)) == "invalid_params"
        assert await reason(host.rooms.create("Den", None, [], {"x": 1})) == "invalid_params"


async def test_rooms_are_listed_by_activity(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        rooms = []
        for number in range(3):
            host.clock.ahead_ms = 1_000 * number
            rooms.append(await host.founds(f"Room {number}"))
        host.clock.ahead_ms = 9_000
        await host.says(rooms[1], "newest")
        listed = [r["room_id"] for r in host.rooms.list()["rooms"]]
        assert listed == [rooms[1], rooms[2], rooms[0]]


async def test_a_state_is_no_older_than_what_was_told_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await two(house)
        client = await guest.follows(room_id)
        reading, may_go_on = asyncio.Event(), asyncio.Event()
        read = guest.rooms._store.outbox

        async def slowly(asked: str) -> Any:
            rows = await read(asked)
            reading.set()
            await may_go_on.wait()
            return rows

        monkeypatch.setattr(guest.rooms._store, "outbox", slowly)
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(guest.rooms.state(room_id))
            await reading.wait()
            house.unplug(host)
            await client.until(lambda c: bool(c.signals("authority")))
            assert client.signals("authority")[-1]["link"] == "down"
            may_go_on.set()
        # A client takes what comes last for what is so.
        assert asking.result()["authority"]["link"] == "down"


async def test_a_log_is_read_page_by_page(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")
        for number in range(5):
            await host.says(room_id, f"{number}")
        seen: list[int] = []
        page: dict[str, Any] = {"cursor": 0, "has_more": True}
        while page["has_more"]:
            page = await host.rooms.log(room_id, page["cursor"], 2)
            seen += [event["seq"] for event in page["events"]]
        assert seen == [1, 2, 3, 4, 5, 6] and page["latest_seq"] == page["cursor"] == 6
        after = await host.rooms.log(room_id, 99, 10)
        assert after["events"] == [] and after["cursor"] == 6 and not after["has_more"]
        for since, limit in ((-1, 1), (0, 0), (0, LOG_PAGE_MAX + 1)):
            assert await reason(host.rooms.log(room_id, since, limit)) == "invalid_params"


async def test_a_message_is_said_as_oneself_and_once(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await two(house)
        for install in (host, guest):
            me = install.services.operator.me(install.state(room_id)).member_id
            other = next(m.member_id for m in install.state(room_id).present() if m.member_id != me)
            say = install.rooms.send
            first = await say(room_id, "e", {"text": "a"}, me, None)
            again = await say(room_id, "e", {"text": "a"}, None, None)
            assert again["event"] == first["event"] and again["idempotent"]
            assert await reason(say(room_id, "e", {"text": "b"}, None, None)) == "conflict"
            assert await reason(say(room_id, "f", {"text": "a"}, other, None)) == "forbidden"
            nowhere, words = "r_" + "0" * 32, {"text": "a"}
            assert await reason(say(room_id, "no id", words, None, None)) == "invalid_params"
            assert await reason(say(room_id, "g", {"text": " "}, None, None)) == "invalid_params"
            assert await reason(say(nowhere, "g", words, None, None)) == "not_found"
        await guest.catches_up(host, room_id)
        assert await guest.texts(room_id) == ["a", "a"]


async def test_what_waits_for_the_host_is_shown_and_may_be_taken_back(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await two(house)
        house.unplug(host)
        for number in range(3):
            answer = await guest.rooms.send(room_id, f"e{number}", {"text": f"{number}"}, None, 0)
            assert (answer["accepted"], answer["state"]) == (False, "waiting")
        queued = (await guest.rooms.state(room_id))["outbox"]
        assert [(q["event_id"], q["text"], q["state"]) for q in queued] == [
            (f"e{n}", f"{n}", "waiting") for n in range(3)
        ]
        assert (await guest.rooms.discard(room_id, "e1"))["discarded"]
        house.replug(host)
        await host.until(room_id, lambda state: state.head.seq == 5)
        assert await host.texts(room_id) == ["0", "2"]
        await guest.catches_up(host, room_id)
        assert not (await guest.rooms.state(room_id))["outbox"]
        assert await reason(guest.rooms.discard(room_id, "e0")) == "conflict"
        assert await reason(host.rooms.discard(room_id, "e0")) == "not_found"


async def test_a_refused_message_stays_visible_with_its_reason_until_it_is_discarded(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await two(house)
        me = guest.services.operator.me(guest.state(room_id)).member_id
        house.unplug(guest)
        await guest.rooms.send(room_id, "e", {"text": "hello"}, None, 0)
        await host.rooms.control(room_id, "member.muted", {"member_id": me, "muted": True})
        house.replug(guest)
        await guest.catches_up(host, room_id)
        await eventually(lambda: not guest.room(room_id).machine.copy.waiting())
        (row,) = (await guest.rooms.state(room_id))["outbox"]
        assert (row["state"], row["reason"]) == ("refused", "muted")
        assert (await guest.rooms.discard(room_id, "e"))["discarded"]
        assert not (await guest.rooms.state(room_id))["outbox"]


async def test_control_needs_its_role(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await two(house)
        owner = host.services.operator.me(host.state(room_id)).member_id
        for kind, payload in (
            ("room.renamed", {"name": "Mine"}),
            ("room.disbanded", {}),
            ("policy.changed", {"policy": {"budget": 2}}),
            ("member.muted", {"member_id": owner, "muted": True}),
        ):
            assert await reason(guest.rooms.control(room_id, kind, payload)) == "forbidden"
            assert await reason(guest.rooms.remove(room_id, owner)) == "forbidden"
        assert (await host.rooms.rename(room_id, "New\u202e"))["event"]["payload"]["name"] == "New"
        await host.rooms.control(room_id, "policy.changed", {"policy": {"budget": 2}})
        assert host.state(room_id).policy.budget == 2


async def test_leaving_takes_ones_agents_along_and_the_owner_stays(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await two(house)
        await guest.rooms.add(room_id, "echo", "parrot")
        await guest.rooms.leave(room_id)
        await host.until(room_id, lambda state: len([*state.present()]) == 1)
        assert await reason(host.rooms.leave(room_id)) == "forbidden"
        await guest.catches_up(host, room_id)
        assert await reason(guest.says(room_id, "hello?")) == "forbidden"
        assert await reason(guest.rooms.add(room_id, "echo", None)) == "forbidden"
        state = await guest.rooms.state(room_id)
        assert {m["presence"] for m in state["members"] if m["mine"]} == {"left"}
        assert state["room"]["me"] is None


async def test_an_agent_is_removed_by_its_own_install_or_the_owner(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await two(house)
        for install in (host, guest):
            agent = (await guest.rooms.add(room_id, "echo", None))["member_id"]
            await install.catches_up(guest, room_id)
            await install.rooms.remove(room_id, agent)
            await host.catches_up(install, room_id)
            assert host.state(room_id).member(agent) is None
        assert await reason(host.rooms.remove(room_id, "m_" + "0" * 32)) == "not_found"


async def test_stopping_stops_one_or_all_and_says_which(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        puppet = await host.mounts_puppet("helper", Puppet())
        room_id = await host.founds("Den", "helper")
        puppet.hold = asyncio.Event()
        for number in range(3):
            await host.says(room_id, f"@helper {number}")
        await eventually(puppet.is_held.is_set)
        first, *others = [t.turn_id for t in host.state(room_id).open_turns()]
        assert (await host.rooms.stop(room_id, first))["stopping"] == [first]
        assert await reason(host.rooms.stop(room_id, first)) == "not_found"
        assert (await host.rooms.stop(room_id, None))["stopping"] == others
        assert (await host.rooms.stop(room_id, None))["stopping"] == []


async def test_a_closed_room_is_read_and_not_written(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await two(house)
        await host.says(room_id, "last words")
        await host.rooms.control(room_id, "room.disbanded", {})
        await guest.catches_up(host, room_id)
        for install in (host, guest):
            assert await reason(install.says(room_id, "more")) == "disbanded"
            assert (await install.rooms.log(room_id, 0, 10))["events"]
            assert (await install.rooms.state(room_id))["room"]["disbanded_at"]


async def test_following_and_unfollowing(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")
        client = await host.follows(room_id)
        await client.until(lambda c: c.seqs() == [1])
        assert host.rooms.unsubscribe(room_id, client) == {}
        await host.says(room_id, "unseen")
        assert client.seqs() == [1]
        with pytest.raises(Refused):
            await host.follows("r_" + "0" * 32)
        assert await reason(host.follows(room_id, -1)) == "invalid_params"
