"""The gate: bytes of links become inputs or are refused, and no message breaks a room."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core import canonical, ids
from mesh.core.errors import Malformed, MeshError, Refused
from mesh.core.event import KINDS, MEMBER_KINDS, propose
from mesh.core.identity import SigningKey
from mesh.core.link_messages import (
    Append,
    CatchUp,
    GrantOffer,
    LinkMessage,
    NotHere,
    Presence,
    Preview,
    Propose,
    Redeem,
    Signal,
    Stored,
    TurnDispatch,
    TurnReport,
    Verdict,
    WireEvent,
    WireProposal,
)
from mesh.core.member import Member
from mesh.service import open_rooms
from tests.service.installs import Install, a_house, turns_of_the_loop

ELSEWHERE = "r_" + "0" * 32
STRANGER = SigningKey.from_seed(b"s" * 32)

words = st.sampled_from(
    "member_id text turn_id reason member invitation_id uses role expires_at secret_sha256 kind n"
    " issuer_member_id policy name muted thread_id handle display_name profile".split()
)
scalars = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=20)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)
ids_or_junk = st.sampled_from(["m_" + "0" * 32, "t_" + "0" * 32, "", "\0"]) | st.text(max_size=5)


def seat_of(key: SigningKey) -> dict[str, Any]:
    """An ordinary seat."""
    return Member(
        member_id="m_" + "7" * 32,
        handle="eve",
        display_name="Eve",
        kind="person",
        role="member",
        install_id=ids.install_id(key.public),
        install_name="phone",
        public_key=key.public,
        addresses=(),
    ).to_seat()


@st.composite
def spoilt_payloads(draw: st.DrawFn) -> dict[str, Any]:
    """A payload of the right fields, some of them with values of any kind."""
    kinds: dict[str, Any] = {
        "member": seat_of(STRANGER),
        "text": "hello",
        "member_id": "m_" + "7" * 32,
        "reason": "left",
        "turn_id": "t_" + "7" * 32,
        "invitation_id": "i_" + "7" * 32,
        "secret_sha256": "7" * 64,
        "role": "member",
        "uses": 1,
        "expires_at": 2**40,
        "issuer_member_id": "m_" + "7" * 32,
        "policy": {"budget": 3},
        "name": "Den",
        "muted": True,
    }
    chosen = draw(st.sets(st.sampled_from(sorted(kinds)), min_size=1, max_size=6))
    payload = {name: kinds[name] for name in sorted(chosen)}
    for name in draw(st.sets(st.sampled_from(sorted(chosen)), max_size=2)):
        payload[name] = draw(values)
    if isinstance(payload.get("member"), dict) and draw(st.booleans()):
        payload["member"] = {**payload["member"], draw(words): draw(values)}
    return payload


@st.composite
def proposals(draw: st.DrawFn, room_id: str) -> WireProposal:
    """A proposal of any kind, signed by whoever sends it, or bytes that only look like one."""
    payload = draw(spoilt_payloads() | st.dictionaries(words, values, max_size=4))
    raw = canonical.encode(
        {
            "room_id": draw(st.sampled_from([room_id, ELSEWHERE]) | values),
            "event_id": draw(st.sampled_from(["e", "join"]) | values),
            "kind": draw(st.sampled_from(sorted(KINDS)) | values),
            "member_id": draw(ids_or_junk | values),
            "payload": draw(st.just(payload) | values),
            "cause": draw(st.none() | values),
            "created_at_ms": draw(st.just(1) | values),
        }
    )
    raw = draw(st.just(raw) | st.binary(max_size=40) | st.just(raw + b" "))
    return WireProposal(raw, draw(st.just(STRANGER.sign("proposal", raw)) | st.binary(max_size=70)))


def messages(room_id: str) -> st.SearchStrategy[LinkMessage]:
    """Everything that one install may say to another about a room."""
    room = st.sampled_from([room_id, ELSEWHERE])
    texts = st.text(max_size=20)
    numbers = st.integers(-(2**63), 2**63 - 1)
    bodies = values.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=30)
    made = proposals(room_id)
    events = st.builds(
        WireEvent,
        raw=made.map(lambda p: p.raw),
        author_sig=st.binary(max_size=70),
        header=bodies,
        authority_sig=st.binary(max_size=70),
    )
    return st.one_of(
        st.builds(Propose, room_id=room, proposals=st.lists(made, max_size=3).map(tuple)),
        st.builds(Verdict, room_id=room, key=texts, state=texts, reason=texts, message=texts),
        st.builds(CatchUp, room_id=room, have_seq=numbers, have_hash=texts),
        st.builds(
            Append,
            room_id=room,
            epoch=numbers,
            events=st.lists(events, max_size=2).map(tuple),
            latest_seq=numbers,
            protected_seq=numbers,
        ),
        st.builds(Stored, room_id=room, seq=numbers),
        st.builds(NotHere, room_id=room, reason=texts),
        st.builds(Presence, room_id=room, online=st.lists(texts, max_size=3).map(tuple)),
        st.builds(Signal, room_id=room, body=bodies),
        st.builds(
            Preview,
            invitation_id=ids_or_junk,
            room_id=room,
            nonce=st.binary(max_size=40),
            mac=st.binary(max_size=40),
        ),
        st.builds(
            Redeem,
            request_id=texts,
            room_id=room,
            invitation_id=ids_or_junk,
            secret=st.binary(max_size=40),
            proposals=st.lists(made, max_size=3).map(tuple),
            relayed_for=texts,
        ),
        st.builds(
            GrantOffer,
            room_id=room,
            member_id=ids_or_junk,
            grant=st.binary(max_size=60),
            catalog=bodies,
        ),
        st.builds(
            TurnDispatch,
            room_id=room,
            turn_id=ids_or_junk,
            member_id=ids_or_junk,
            trigger_seq=numbers,
            root=texts,
            hop=numbers,
            attempt=numbers,
            grant=st.binary(max_size=60),
            deadline_ms=numbers,
        ),
        st.builds(
            TurnReport,
            room_id=room,
            turn_id=ids_or_junk,
            member_id=ids_or_junk,
            state=texts | st.sampled_from(["queued", "running", "passed", "failed"]),
            reason=texts,
            message=texts,
        ),
    )


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
        await turns_of_the_loop(200)
        propose_nearly_right()
        await turns_of_the_loop(200)
        assert refusals > 5, "the strategies make what is refused"
        for install in (host, guest):
            assert not install.services.rooms.broken, install.log.lines[-3:]
        house.relink(host, guest)  # what looked like a fault of the peer is forgotten with its link
        await host.says(room_id, "@echo still here?")
        await guest.until(room_id, lambda s: bool(s.turns) and not s.open_turns())
        assert (await guest.texts(room_id))[-2:] == ["@echo still here?", "still here?"]


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
        assert not await host.texts(one) and not await host.texts(other)


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
