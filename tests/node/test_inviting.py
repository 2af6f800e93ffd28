"""An invitation is spent once, in time, by its guest, and at the install it names."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from mesh.client import InputMismatch, ReceiptNotFound, RequestRejected
from mesh.client.invitations import new_request_id
from mesh.core.invitation import decode_link
from mesh.core.limits import UNAUTHENTICATED_SOCKETS_MAX
from tests.node.followed import eventually
from tests.node.nodes import a_world
from tests.node.raw_guest import a_raw_guest

PARALLEL = 20
assert PARALLEL < UNAUTHENTICATED_SOCKETS_MAX


async def test_of_twenty_at_once_exactly_one_comes_in(tmp_path: Path) -> None:
    """Situation 63: real links, one use, all in the same moment."""
    async with a_world(tmp_path) as world, AsyncExitStack() as stack:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        link = decode_link(await host.invites(room_id))
        guests = [await stack.enter_async_context(a_raw_guest(f"g{n}")) for n in range(PARALLEL)]
        async with asyncio.TaskGroup() as tasks:
            meeting = [tasks.create_task(guest.meets(link)) for guest in guests]
        assert {task.result() for task in meeting} == {host.install_id}
        async with asyncio.TaskGroup() as tasks:
            asking = [tasks.create_task(guest.redeems(link)) for guest in guests]
        answers = [task.result() for task in asking]
        assert sorted(a.state for a in answers) == ["applied"] + ["rejected"] * (PARALLEL - 1)
        assert {a.reason for a in answers if a.state == "rejected"} == {"invitation_spent"}
        state = await host.sdk.rooms.state(room_id)
        assert len(state["members"]) == 2
        (shown,) = await host.sdk.invitations.list(room_id)
        assert (shown["state"], shown["used"]) == ("used", 1)
        (winner,) = [g for g, a in zip(guests, answers, strict=True) if a.state == "applied"]
        assert state["members"][1]["install_id"] == winner.install_id


async def test_the_same_redemption_again_is_the_same_answer(tmp_path: Path) -> None:
    """Situations 24 and 63: a lost answer is asked for with the same bytes, and seats once."""
    async with a_world(tmp_path) as world, a_raw_guest() as guest, a_raw_guest() as other:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        link = decode_link(await host.invites(room_id))
        mine = guest.asks_for(link, guest.seat())
        for _ in range(3):
            assert (await guest.redeems(link, mine)).state == "applied"
        stolen = await other.redeems(link, mine)
        assert (stolen.state, stolen.reason) == ("rejected", "forbidden")
        assert len((await host.sdk.rooms.state(room_id))["members"]) == 2


async def test_an_acceptance_asked_again_is_answered_with_its_receipt(tmp_path: Path) -> None:
    """Situation 24: also long after, and by its id alone."""
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        link = await host.invites(await host.founds("Den"))
        request_id = new_request_id()
        accept, operation = guest.sdk.invitations.accept, guest.sdk.invitations.operation
        receipt = await accept(link, request_id=request_id)
        assert receipt["status"] == "applied"
        assert await accept(link, request_id=request_id) == receipt
        assert await operation(request_id) == receipt
        with pytest.raises(InputMismatch):
            await accept(link, request_id=request_id, display_name="Somebody else")
        with pytest.raises(ReceiptNotFound):
            await operation(new_request_id())


@pytest.mark.parametrize(("late_ms", "state"), [(-1, "applied"), (0, "rejected")])
async def test_the_instant_of_expiry_decides_in_the_transaction(
    tmp_path: Path, late_ms: int, state: str
) -> None:
    """Situation 63: previewed while it was open; what counts is the moment of admission."""
    async with a_world(tmp_path) as world, a_raw_guest() as guest:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        link = decode_link(await host.invites(room_id, ttl_seconds=60))
        await guest.meets(link)
        host.clock.stops_at(link.expires_at_s * 1_000 + late_ms)
        answer = await guest.redeems(link)
        assert answer.state == state
        assert answer.reason == ("" if state == "applied" else "invitation_expired")


async def test_a_revoked_link_opens_nothing(tmp_path: Path) -> None:
    """Refused at once, in preview and at redemption, and listed as revoked."""
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        made = await host.sdk.invitations.create(room_id)
        await host.sdk.invitations.revoke(made["invitation_id"])
        for ask in (
            guest.sdk.invitations.preview,
            lambda link: guest.sdk.invitations.accept(link, request_id="q"),
        ):
            with pytest.raises(RequestRejected, match="invitation_revoked"):
                await ask(made["link"])
        assert (await host.sdk.invitations.show(made["invitation_id"]))["state"] == "revoked"


async def test_a_guest_takes_no_more_than_it_was_offered(tmp_path: Path) -> None:
    """Situation 47: roles and members that were not offered, a secret that is guessed."""
    async with a_world(tmp_path) as world, a_raw_guest() as guest:
        host = await world.install("desktop")
        room_id = await host.founds("Den")
        link = decode_link(await host.invites(room_id, role="listener"))
        for seats in (
            [guest.seat("owner")],
            [guest.seat("member")],
            [guest.seat("listener"), guest.seat("member", "agent")],
            [replace(guest.seat("listener"), install_id=host.install_id)],
            [guest.seat("listener"), guest.seat("listener")],
        ):
            answer = await guest.redeems(link, *(guest.asks_for(link, seat) for seat in seats))
            assert answer.state == "rejected", seats
        assert (await guest.redeems_with(link, bytes(32))).reason == "not_found"
        assert len((await host.sdk.rooms.state(room_id))["members"]) == 1
        listener = guest.asks_for(link, guest.seat("listener"))
        assert (await guest.redeems(link, listener)).state == "applied"


async def test_another_install_at_the_address_is_not_the_inviter(tmp_path: Path) -> None:
    """Situation 75: the addresses of B and C are swapped; nothing is said to the wrong one."""
    async with a_world(tmp_path) as world:
        host, other, guest = await world.installs("desktop", "phone", "laptop")
        room_id = await host.founds("Den")
        link = decode_link(await host.invites(room_id))
        theirs = decode_link(await other.invites(await other.founds("Elsewhere")))
        swapped = replace(link, addresses=theirs.addresses).encode("https://127.0.0.1")
        with pytest.raises(RequestRejected, match="peer_identity_mismatch"):
            await guest.sdk.invitations.preview(swapped)
        with pytest.raises(RequestRejected, match="peer_identity_mismatch"):
            await guest.sdk.invitations.accept(swapped, request_id=new_request_id())
        assert not list(await guest.sdk.rooms.list())
        assert [p["link"] for p in await guest.sdk.peers.list()] == []
        # The right address after the wrong one is found, and the key decides.
        both = replace(link, addresses=(*theirs.addresses, *link.addresses))
        assert (await guest.sdk.invitations.preview(both.encode("")))["room_name"] == "Den"


async def test_a_peer_that_moved_is_not_taken_for_who_lives_there_now(tmp_path: Path) -> None:
    """Situation 75 on a known peer: the link stays down, with its reason; the entry is kept."""
    async with a_world(tmp_path) as world:
        host, guest, other = await world.installs("desktop", "laptop", "phone")
        room_id = await host.founds("Den")
        await guest.joins(host, room_id, lend=["echo"])
        await host.sees_agent(room_id, "echo")
        await guest.stop()
        host.links.want(guest.install_id, [f"https://127.0.0.1:{other.port}"])
        before = await other.sdk.peers.list()
        shown = await eventually(
            lambda: host.sdk.peers.show(guest.install_id),
            lambda peer: peer["reason"] == "peer_identity_mismatch",
        )
        assert shown["link"] == "down" and shown["name"] == "laptop"
        await host.says(room_id, "@echo are you there?")
        assert (await host.member(room_id, "echo"))["turn"]["state"] == "offline"
        assert await other.sdk.peers.list() == before and not await other.sdk.rooms.list()


NOT_A_NODE = {
    "a login page": (200, "text/html", "<html><form>log in</form></html>"),
    "nothing at all": (200, "text/plain", ""),
    "another service": (200, "application/json", '{"ok": true}'),
    "a redirect": (302, "text/html", ""),
    "an error": (500, "text/html", "oh no"),
}


@pytest.mark.parametrize("kind", NOT_A_NODE)
async def test_what_is_no_node_is_said_to_be_none(
    tmp_path: Path, kind: str
) -> None:
    """Situation 74: through an invitation, and as the address of a known peer."""
    status, content_type, body = NOT_A_NODE[kind]
    asked: list[str] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.path)
        headers = {"Location": "/login"} if status == 302 else {}
        return web.Response(status=status, content_type=content_type, text=body, headers=headers)

    async with a_world(tmp_path) as world, _served(answer) as port:
        host, guest = await world.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        link = decode_link(await host.invites(room_id))
        wrong = replace(link, addresses=(f"http://127.0.0.1:{port}",)).encode("")
        with pytest.raises(RequestRejected, match="not_a_node"):
            await guest.sdk.invitations.preview(wrong)
        assert not await guest.sdk.peers.list()
        host.links.want(guest.install_id, [f"http://127.0.0.1:{port}"])
        shown = await eventually(
            lambda: host.sdk.peers.show(guest.install_id),
            lambda peer: peer["reason"] == "not_a_node",
        )
        assert shown["link"] == "down"
        assert set(asked) == {"/link"}  # the redirect was not followed


@asynccontextmanager
async def _served(
    answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
) -> AsyncIterator[int]:
    """A web server of that one answer; its port."""
    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
