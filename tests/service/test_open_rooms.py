"""The gate: bytes of links become inputs or are refused, and no message breaks a room."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core.errors import Malformed, MeshError, Refused
from mesh.core.event import MEMBER_KINDS, propose
from mesh.core.link_messages import (
    CatchUp,
    LinkMessage,
    NotHere,
    Propose,
    Redeem,
    Signal,
    WireProposal,
)
from mesh.service import open_rooms
from tests.service.foreign_messages import (
    ELSEWHERE,
    STRANGER,
    messages,
    seat_of,
    spoilt_payloads,
)
from tests.service.installs import Install, a_house, turns_of_the_loop


async def test_no_message_of_a_peer_breaks_a_room(tmp_path: Path) -> None:
    """Attacks 23 to 28 by the road between nodes: it is refused, or it is judged.

    As a member's install, as the host, and as a stranger.
    """
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id, "echo")
        me = guest.services.operator.me(guest.state(room_id)).member_id
        refusals = 0

        def say(to: Install, sender: str, message: LinkMessage) -> None:
            nonlocal refusals
            try:
                to.switchboard.on_message(sender, message)
            except MeshError:
                refusals += 1

        @settings(max_examples=60, deadline=None, derandomize=True, database=None)
        @given(messages(room_id))
        def say_anything(message: LinkMessage) -> None:
            say(host, guest.install_id, message)
            say(guest, host.install_id, message)
            say(host, "install:" + "f" * 32, message)

        @settings(max_examples=120, deadline=None, derandomize=True, database=None)
        @given(st.sampled_from(sorted(MEMBER_KINDS)), spoilt_payloads())
        def propose_nearly_right(kind: str, payload: dict[str, Any]) -> None:
            said = guest.services.operator.propose(room_id, kind, me, payload)
            wire = WireProposal(said.raw, said.signature)
            say(host, guest.install_id, Propose(room_id=room_id, proposals=(wire,)))

        say_anything()
        await turns_of_the_loop()
        propose_nearly_right()
        await turns_of_the_loop()
        assert refusals > 5, "the strategies make what is refused"
        house.relink(host, guest)  # what looked like a fault of the peer is forgotten with its link
        await host.says(room_id, "@echo still here?")
        await guest.until(room_id, lambda s: bool(s.turns) and not s.open_turns())
        assert (await guest.texts(room_id))[-2:] == ["@echo still here?", "still here?"]
        for install in (host, guest):
            assert not install.services.rooms.broken, install.log.lines[-3:]


async def test_an_unknown_room_is_named_as_such_and_a_stopped_one_too(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id)
        house.panel.sent.clear()
        asked = CatchUp(room_id=ELSEWHERE, have_seq=0, have_hash="")
        assert host.services.rooms.on_message(guest.install_id, asked)
        host.services.rooms.broken[room_id] = "planted"
        asked = CatchUp(room_id=room_id, have_seq=0, have_hash="")
        assert host.services.rooms.on_message(guest.install_id, asked)
        answers = house.sent(guest, NotHere)
        assert [(a.room_id, a.reason) for a in answers] == [
            (ELSEWHERE, "not_found"),
            (room_id, "storage_failed"),
        ]
        with pytest.raises(Refused, match="has stopped: planted"):
            host.services.rooms.get(room_id)
        assert host.services.rooms.find(room_id) is None and host.services.rooms.all() == ()


async def test_a_proposal_under_another_rooms_name_is_not_passed_on(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        one, other = await host.founds("One"), await host.founds("Other")
        await guest.joins(host, one)
        me = guest.services.operator.me(guest.state(one))
        said = guest.services.operator.propose(one, "message.user", me.member_id, {"text": "x"})
        wire = WireProposal(said.raw, said.signature)
        guest.links.send(host.install_id, Propose(room_id=other, proposals=(wire,)))
        await turns_of_the_loop()
        for room_id in (one, other):  # what comes after it is taken, and it was not
            await host.says(room_id, "after")
            assert await host.texts(room_id) == ["after"]


def founding(install: Install, **spoilt: Any) -> Any:
    """A proposal that founds a room, or nearly."""
    operator = install.services.operator
    founder = operator.person("owner")
    payload = {
        "name": "Den",
        "authority_gateway_id": operator.install_id,
        "founder": founder.to_seat(),
        "voters": [f"{operator.install_id}#0"],
        "lease_ms": 3_000,
        "policy": {"turns": "mention", "budget": 8, "invite": "owner"},
        **spoilt,
    }
    return propose(
        install.key,
        room_id=operator.new_id("r"),
        event_id="found",
        kind="room.created",
        member_id=founder.member_id,
        payload=payload,
        cause=None,
        created_at_ms=1,
    )


SPOILT: dict[str, Callable[[Install], dict[str, Any]]] = {
    "another host": lambda i: {"authority_gateway_id": "install:" + "0" * 32},
    "no host": lambda i: {"authority_gateway_id": ""},
    "another voter": lambda i: {"voters": ["install:" + "0" * 32 + "#0"]},
    "no name": lambda i: {"name": "\N{ZERO WIDTH SPACE}"},
    "a strange policy": lambda i: {"policy": {"budget": 1_000}},
    "another founder": lambda i: {"founder": seat_of(STRANGER)},
}


@pytest.mark.parametrize("what", SPOILT)
async def test_a_room_is_founded_by_and_at_this_install_or_not_at_all(
    tmp_path: Path, what: str
) -> None:
    """A foreign authority is refused (situation 2), and nothing is stored."""
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        with pytest.raises(MeshError):
            await host.services.rooms.found(founding(host, **SPOILT[what](host)))
        assert host.services.rooms.all() == ()
        assert (await host.services.rooms.found(founding(host))).state.head.seq == 1


async def test_a_node_keeps_so_many_rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_rooms, "ROOMS_MAX", 1)
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        await host.founds("One")
        with pytest.raises(Refused, match="busy"):
            await host.founds("Two")


async def test_a_copy_is_kept_of_one_host_only(tmp_path: Path) -> None:
    """Nobody can make a room of ours look like a room of theirs."""
    async with a_house(tmp_path) as house:
        host, guest = await house.installs("desktop", "laptop")
        mine = await host.founds("Mine")
        theirs = await guest.founds("Theirs")
        await host.joins(guest, theirs)
        rooms = host.services.rooms
        assert await rooms.keep_copy(theirs, guest.install_id) is rooms.get(theirs)
        for room_id in (mine, theirs):
            with pytest.raises(Refused, match="wrong_authority"):
                await rooms.keep_copy(room_id, "install:" + "0" * 32)


async def test_a_room_that_cannot_be_opened_stops_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Situation 29 at the start: whatever its rows make the code do."""
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        rooms = [await host.founds(f"Room {n}") for n in range(3)]
        await host.stop()
        machine = open_rooms.OpenRooms._machine

        async def planted(self: Any, room_id: str, authority: str) -> Any:
            if room_id == rooms[1]:
                raise ZeroDivisionError
            return await machine(self, room_id, authority)

        monkeypatch.setattr(open_rooms.OpenRooms, "_machine", planted)
        await host.start()
        assert host.services.rooms.broken == {rooms[1]: "ZeroDivisionError"}
        for room_id in (rooms[0], rooms[2]):
            assert (await host.says(room_id, "here"))["accepted"]


async def test_a_damaged_chain_is_not_served(tmp_path: Path) -> None:
    """After an unclean stop each room is verified before it opens."""
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        room_id = await host.founds("Den")
        await host.stop()

        async def verify(asked: str) -> str | None:
            return "seq 1 does not link" if asked == room_id else None

        host.verify = verify
        await host.start()
        assert host.services.rooms.broken == {room_id: "seq 1 does not link"}


def test_what_a_gate_is_for() -> None:
    """A redemption for another room, a copy that has less than nothing."""
    said = propose(
        STRANGER,
        room_id=ELSEWHERE,
        event_id="join",
        kind="member.joined",
        member_id="m_" + "7" * 32,
        payload={"member": seat_of(STRANGER)},
        cause=None,
        created_at_ms=1,
    )
    redeem = Redeem(
        request_id="q",
        room_id="r_" + "1" * 32,
        invitation_id="i",
        secret=b"",
        proposals=(WireProposal(said.raw, said.signature),),
    )
    with pytest.raises(Malformed):
        open_rooms._GATES[Redeem]("install:1", redeem)
    with pytest.raises(Malformed):
        open_rooms._GATES[CatchUp]("install:1", CatchUp(room_id="r", have_seq=-1, have_hash=""))
    with pytest.raises(Malformed):
        open_rooms._GATES[Signal]("install:1", Signal(room_id="r", body=b"[1]"))
