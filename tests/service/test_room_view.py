"""Rooms, members and events as clients see them: from the log's seats and what is seen live."""

from pathlib import Path
from typing import Any

from mesh.core.limits import STAMP_AHEAD_MS
from mesh.service.room_view import event_json, member_json, room_json, state_json
from tests.service.installs import House, Install, a_house, eventually

EVENT = set(
    "room_id seq event_id kind actor authority_epoch payload cause created_at admitted_at"
    " clock_ahead_ms prev_hash hash level".split()
)
MEMBER = set(
    "member_id handle display_name kind role install_id install_name profile muted me mine"
    " joined_at presence presence_since reason lent turn".split()
)
ROOM = set(
    "room_id name members authority_gateway_id authority_epoch revision created_at updated_at"
    " latest_seq protected_seq disbanded_at copy me role".split()
)


async def lent(house: House) -> tuple[Install, Install, str]:
    """A room of two and an agent that the guest lends."""
    host, guest = await house.installs("desktop", "laptop")
    room_id = await host.founds("Den")
    await guest.joins(host, room_id, "echo")
    return host, guest, room_id


def members(install: Install, room_id: str) -> dict[str, dict[str, Any]]:
    """Members by handle, as that install shows them."""
    machine = install.room(room_id).machine
    return {m.handle: member_json(machine, m) for m in machine.state.members.values()}


async def test_everything_documented_is_there_and_nothing_else(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, _guest, room_id = await lent(house)
        machine = host.room(room_id).machine
        assert set(room_json(machine)) == ROOM
        assert all(set(shown) == MEMBER for shown in members(host, room_id).values())
        for event in await host.events(room_id):
            assert set(event_json(machine, event)) == EVENT
        state = state_json(machine)
        assert state["room"] == room_json(machine)
        assert state["voters"] == [f"{host.install_id}#{'0' * 32}"]


async def test_the_same_room_from_both_sides(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await lent(house)
        await guest.catches_up(host, room_id)
        here, there = members(host, room_id), members(guest, room_id)
        assert here.keys() == there.keys() == {"desktop-person", "laptop-person", "echo"}
        assert (here["desktop-person"]["me"], there["desktop-person"]["me"]) == (True, False)
        assert (here["echo"]["mine"], there["echo"]["mine"]) == (False, True)
        assert not there["echo"]["me"], "an agent is nobody's own person"
        assert here["echo"]["lent"] == {"permissions": ["dispatch", "stop"], "until": 0}
        assert here["echo"]["profile"] == "echo" and here["laptop-person"]["lent"] is None
        same = ("member_id", "handle", "role", "install_id", "joined_at", "kind", "presence")
        for handle, shown in here.items():
            assert {k: shown[k] for k in same} == {k: there[handle][k] for k in same}
        one, other = room_json(host.room(room_id).machine), room_json(guest.room(room_id).machine)
        assert (one["copy"], other["copy"]) == (False, True)
        assert (one["role"], other["role"]) == ("owner", "member")
        links = [state_json(i.room(room_id).machine)["authority"]["link"] for i in (host, guest)]
        assert links == ["local", "up"]


async def test_presence_is_what_this_install_can_know(tmp_path: Path) -> None:
    """Offline says whose machine; alone, a copy knows nobody else."""
    async with a_house(tmp_path) as house:
        host, guest, room_id = await lent(house)
        house.unplug(guest)
        await eventually(lambda: members(host, room_id)["echo"]["presence"] == "offline")
        await eventually(lambda: not guest.room(room_id).machine.host_up)
        here, there = members(host, room_id), members(guest, room_id)
        assert here["echo"]["reason"] == "peer_offline"
        assert here["desktop-person"]["presence"] == "online"
        alone = there["desktop-person"]
        assert (alone["presence"], alone["reason"]) == ("offline", "host_offline")
        assert there["laptop-person"]["presence"] == "online"
        assert state_json(guest.room(room_id).machine)["authority"]["link"] == "down"
        house.replug(guest)
        await host.says(room_id, "hello")
        await guest.catches_up(host, room_id)
        assert members(guest, room_id)["desktop-person"]["presence"] == "online"
        await guest.services.lending.withdraw(room_id, host.member_id(room_id, "echo"))
        await host.until(room_id, lambda state: not state.routes)
        assert members(host, room_id)["echo"]["presence"] == "withdrawn"


async def test_who_acted_is_a_seat_or_the_room_itself(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await lent(house)
        await host.says(room_id, "@echo hello")
        await host.until(room_id, lambda s: bool(s.turns) and not s.open_turns())
        await guest.catches_up(host, room_id)
        for install in (host, guest):
            machine = install.room(room_id).machine
            shown = {e.kind: event_json(machine, e) for e in await install.events(room_id)}
            assert shown["message.user"]["actor"]["kind"] == "person"
            answer = shown["message.member"]
            assert (answer["actor"]["kind"], answer["actor"]["handle"]) == ("agent", "echo")
            assert answer["actor"]["install_id"] == guest.install_id
            assert answer["cause"]["root"] == shown["message.user"]["event_id"]
            assert answer["cause"]["hop"] == 1 and answer["cause"]["turn_id"].startswith("t_")
            system = shown["turn.admitted"]["actor"]
            assert (system["kind"], system["install_id"]) == ("system", host.install_id)
            assert shown["message.user"]["cause"] is None


async def test_only_a_stamp_from_the_future_is_flagged(tmp_path: Path) -> None:
    """Situation 31: behind is a message that waited; ahead is a clock that is wrong."""
    async with a_house(tmp_path) as house:
        host, guest, room_id = await lent(house)
        for ahead_ms in (-3_600_000, 0, STAMP_AHEAD_MS - 5_000, STAMP_AHEAD_MS + 5_000, 3_600_000):
            guest.clock.ahead_ms = ahead_ms
            await guest.says(room_id, f"{ahead_ms}")
        machine = host.room(room_id).machine
        shown = [event_json(machine, e) for e in await host.events(room_id, "message.user")]
        flagged = [event["payload"]["text"] for event in shown if event["clock_ahead_ms"]]
        assert flagged == [f"{STAMP_AHEAD_MS + 5_000}", "3600000"]
        assert abs(shown[-1]["clock_ahead_ms"] - 3_600_000) < 60_000


async def test_a_member_that_left_is_still_named(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id = await lent(house)
        await guest.says(room_id, "goodbye")
        await guest.rooms.leave(room_id)
        await host.catches_up(guest, room_id)
        machine = host.room(room_id).machine
        shown = members(host, room_id)["laptop-person"]
        assert (shown["presence"], shown["reason"]) == ("left", "left")
        assert room_json(machine)["members"] == 1
        said = event_json(machine, (await host.events(room_id, "message.user"))[0])
        assert said["actor"]["display_name"] == "laptop person"
