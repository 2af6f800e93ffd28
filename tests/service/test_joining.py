"""Joining, the guest's side: asked before anything is written, carried out once, found again."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from mesh.core.canonical import encode
from mesh.core.errors import MeshError
from mesh.core.invitation import decode_link
from mesh.core.limits import LENT_PER_ACCEPT_MAX
from mesh.core.link_messages import Preview, PreviewResult, Redeem, RedeemResult
from mesh.service import joining, previews
from tests.service.installs import House, Install, a_house, eventually, turns_of_the_loop


async def reason(asking: Awaitable[object]) -> str:
    """The reason it is refused for."""
    with pytest.raises(MeshError) as refusal:
        await asking
    return refusal.value.reason


async def invited(house: House, **terms: Any) -> tuple[Install, Install, str, str]:
    """A host, a guest, the host's room, a link to it."""
    host, guest = await house.installs("desktop", "laptop")
    room_id = await host.founds("Den")
    made = await host.services.invitations.create(
        room_id, terms.get("ttl_s", 3_600), terms.get("uses", 1), terms.get("role", "member")
    )
    return host, guest, room_id, made["link"]


async def test_only_the_inviter_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another install that has a link to us and knows the id says something else, first."""
    monkeypatch.setattr(previews, "ANSWER_S", 0.05)
    async with a_house(tmp_path) as house:
        _host, guest, room_id, link = await invited(house)
        other = await house.install("phone")
        invitation_id = decode_link(link).invitation_id
        forged = PreviewResult(invitation_id=invitation_id, body=encode({"room_name": "Mine"}))
        house.panel.dial(other.install_id, f"panel://{guest.install_id}", None)

        def the_other_is_first(sender: str, to: str, message: object) -> bool:
            if isinstance(message, Preview | Redeem):
                other.links.send(guest.install_id, forged)
                other.links.send(
                    guest.install_id,
                    RedeemResult(request_id="q", room_id=room_id, state="rejected"),
                )
            return False

        house.panel.drops = the_other_is_first
        assert (await guest.services.joining.preview(link))["room_name"] == "Den"
        assert (await guest.services.joining.accept(link, "q", None, []))["status"] == "applied"


async def test_the_same_request_is_carried_out_once_however_often_it_is_asked(
    tmp_path: Path,
) -> None:
    async with a_house(tmp_path) as house:
        host, guest, room_id, link = await invited(house)
        wish = [{"profile": "echo"}]
        async with asyncio.TaskGroup() as tasks:
            asked = [
                tasks.create_task(guest.services.joining.accept(link, "q", None, wish))
                for _ in range(4)
            ]
        receipts = [task.result() for task in asked]
        assert all(receipt == receipts[0] for receipt in receipts)
        assert receipts[0]["status"] == "applied" and len(receipts[0]["result"]["lent"]) == 1
        assert await guest.services.joining.accept(link, "q", None, wish) == receipts[0]
        assert await guest.services.joining.operation("q") == receipts[0]
        assert len([*host.state(room_id).present()]) == 3


async def test_a_request_id_is_for_one_thing(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        _host, guest, _room_id, link = await invited(house)
        accept = guest.services.joining.accept
        await accept(link, "q", None, [])
        assert await reason(accept(link, "q", "Somebody else", [])) == "conflict"
        assert await reason(accept(link, "other", None, [])) in {"conflict", "invitation_spent"}
        assert await reason(guest.services.joining.operation("never")) == "not_found"
        assert await reason(accept(link, "bad id", None, [])) == "invalid_params"


@pytest.mark.parametrize("lost", ["the question", "the answer"])
async def test_what_is_lost_on_the_way_is_asked_again_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """Situation 24 between nodes: unknown for a while, then found by its id."""
    monkeypatch.setattr(joining, "ANSWER_S", 0.05)
    monkeypatch.setattr(joining, "_RETRY_S", 0.01)
    async with a_house(tmp_path) as house:
        host, guest, room_id, link = await invited(house)
        kind = Redeem if lost == "the question" else RedeemResult
        dropped = 0

        def drops_two(sender: str, to: str, message: object) -> bool:
            nonlocal dropped
            dropped += isinstance(message, kind)
            return isinstance(message, kind) and dropped <= 2

        house.panel.drops = drops_two
        receipt = await guest.services.joining.accept(link, "q", None, [])
        assert receipt["status"] == "applied" and dropped == 3
        asked = house.sent(host, Redeem)
        assert len(asked) == 3 and len({m.proposals for m in asked}) == 1
        assert len([*host.state(room_id).present()]) == 2


async def test_a_process_that_dies_in_between_finishes_at_its_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "_ACCEPT_S", 0.05)
    async with a_house(tmp_path) as house:
        host, guest, room_id, link = await invited(house)
        house.panel.drops = lambda sender, to, message: isinstance(message, RedeemResult)
        receipt = await guest.services.joining.accept(link, "q", None, [{"profile": "echo"}])
        assert receipt["status"] == "pending"
        await host.until(room_id, lambda state: len(state.members) == 3)
        await guest.stop()
        house.panel.drops = lambda sender, to, message: False
        await guest.start()
        await eventually(lambda: bool(guest.services.rooms.all()))
        await guest.catches_up(host, room_id)
        await eventually(lambda: not guest.services.joining._under_way)
        assert (await guest.services.joining.operation("q"))["status"] == "applied"
        assert len([*host.state(room_id).present()]) == 3
        stored = await guest.services.joining._receipts.get("q", joining.OWNER)
        assert stored is not None and stored.state == {}, "the secret is dropped at the end"


async def test_a_room_that_is_never_heard_of_again_leaves_it_uncertain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "ANSWER_S", 0.02)
    monkeypatch.setattr(joining, "_RETRY_S", 0.01)
    async with a_house(tmp_path) as house:
        _host, guest, _room_id, link = await invited(house)
        house.panel.drops = lambda sender, to, message: isinstance(message, RedeemResult)
        async with asyncio.TaskGroup() as tasks:
            accepting = tasks.create_task(guest.services.joining.accept(link, "q", None, []))
            await eventually(lambda: bool(guest.services.joining._results))
            guest.clock.ahead_ms = 48 * 3_600_000
        receipt = accepting.result()
        assert (receipt["status"], receipt["reason"]) == ("uncertain", "uncertain")


async def test_a_room_that_refuses_rejects_the_receipt(tmp_path: Path) -> None:
    """Between preview and redemption the invitation was revoked."""
    async with a_house(tmp_path) as house:
        host, guest, _room_id, link = await invited(house)
        invitation_id = decode_link(link).invitation_id

        async def revoke() -> None:
            await host.services.invitations.revoke(invitation_id)

        def revoked_meanwhile(sender: str, to: str, message: object) -> bool:
            if isinstance(message, PreviewResult):
                host.spawn(revoke())
            return False

        house.panel.drops = revoked_meanwhile
        receipt = await guest.services.joining.accept(link, "q", None, [])
        assert (receipt["status"], receipt["reason"]) == ("rejected", "invitation_revoked")
        assert not guest.services.rooms.all()
        assert await guest.services.joining.accept(link, "q", None, []) == receipt


WISHES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no such profile": ([{"profile": "nobody"}], "not_found"),
    "a strange permission": ([{"profile": "echo", "permissions": ["root"]}], "invalid_params"),
    "an end in the past": ([{"profile": "echo", "until": 1}], "invalid_params"),
    "an end in a thousand years": ([{"profile": "echo", "until": 2**45}], "invalid_params"),
    "no handle": ([{"profile": "echo", "handle": "@@"}], "invalid_params"),
    "too many": ([{"profile": "echo"}] * (LENT_PER_ACCEPT_MAX + 1), "invalid_params"),
}


@pytest.mark.parametrize("what", WISHES)
async def test_what_cannot_be_lent_is_refused_before_anything_is_asked(
    tmp_path: Path, what: str
) -> None:
    async with a_house(tmp_path) as house:
        host, guest, _room_id, link = await invited(house)
        wishes, why = WISHES[what]
        assert await reason(guest.services.joining.accept(link, "q", None, wishes)) == why
        assert not house.sent(host, Preview) and not house.sent(host, Redeem)


async def test_an_inviter_that_sends_nonsense_costs_an_error_and_no_fault(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, guest, _room_id, link = await invited(house)
        invitation_id = decode_link(link).invitation_id
        for body in (b"", b"[]", b"{", encode({}), encode({"role": 7}), encode({"role": "owner"})):

            def lies(sender: str, to: str, message: object, body: bytes = body) -> bool:
                if isinstance(message, Preview):
                    answer = PreviewResult(invitation_id=invitation_id, body=body)
                    host.links.send(guest.install_id, answer)
                return isinstance(message, Preview)

            house.panel.drops = lies
            request_id = f"q{len(body)}{body[:1].hex()}"
            try:
                receipt = await guest.services.joining.accept(link, request_id, None, [])
            except MeshError:
                continue
            assert receipt["status"] == "rejected", body
        await turns_of_the_loop()
        assert not guest.services.rooms.all()
