"""Redeeming an invitation: all of it or nothing, once, and to the millisecond (situation 63)."""

from typing import Any

import pytest

from mesh.core.effects import Send
from mesh.core.link_messages import Redeem, RedeemResult, WireProposal
from tests.core.gate import inputs_of
from tests.core.machines import Install
from tests.core.test_authority import kinds
from tests.core.world import World


def guests(world: World, count: int) -> list[str]:
    """Installs that are linked with the host and not in the room."""
    names = [f"guest{n}" for n in range(count)]
    for name in names:
        world.add(name)
        world.link("desktop", name)
    return names


def test_of_twenty_at_once_one_gets_in() -> None:
    """Situation 63: twenty inputs of one round, one use."""
    world = World("desktop")
    invitation_id = world.invite("desktop")
    names = guests(world, 20)
    puts = [put for name in names
            for put in inputs_of(Install(name=name).install_id,
                                 world.redemption(name, invitation_id))]
    done = world["desktop"].round(world.now, *puts)
    results = [e.message for e in done if isinstance(e, Send)
               if isinstance(e.message, RedeemResult)]
    assert sorted(r.state for r in results) == ["applied"] + ["rejected"] * 19
    assert {r.reason for r in results if r.state == "rejected"} == {"invitation_spent"}
    assert kinds(world).count("member.joined") == 1


def test_an_invitation_ends_at_its_instant() -> None:
    """Situation 63: judged inside the step, to the millisecond."""
    world = World("desktop")
    invitation_id = world.invite("desktop", ttl_s=10, uses=2)
    early, late = guests(world, 2)
    world.wall_ms += 9_999
    assert world.redeem(early, world.redemption(early, invitation_id)).state == "applied"
    world.wall_ms += 1
    result = world.redeem(late, world.redemption(late, invitation_id))
    assert (result.state, result.reason) == ("rejected", "invitation_expired")


def test_a_revoked_invitation_and_a_wrong_secret() -> None:
    world = World("desktop")
    invitation_id = world.invite("desktop")
    (name,) = guests(world, 1)
    redeem = world.redemption(name, invitation_id)
    wrong = Redeem(**{f: getattr(redeem, f) for f in redeem.__struct_fields__} | {"secret": b"x"})
    assert world.redeem(name, wrong).reason == "not_found"
    world.do("desktop", "invitation.revoked", {"invitation_id": invitation_id})
    assert world.redeem(name, redeem).reason == "invitation_revoked"
    assert kinds(world).count("member.joined") == 0


def test_the_same_redemption_again_is_answered_alike() -> None:
    """The answer was lost: the guest asks again and is in, once."""
    world = World("desktop")
    (name,) = guests(world, 1)
    redeem = world.redemption(name, world.invite("desktop"), Install(name=name).agent("echo"))
    assert world.redeem(name, redeem).state == "applied"
    assert world.redeem(name, redeem).state == "applied"
    assert kinds(world).count("member.joined") == 2


def redeem_with(world: World, name: str, *change: dict[str, Any]) -> Redeem:
    """A redemption that lends an agent, with the agent's proposal changed."""
    invitation_id = world.invite("desktop")
    agent = Install(name=name).agent("echo")
    redeem = world.redemption(name, invitation_id, agent)
    proposals = [redeem.proposals[0]]
    for fields in change:
        made = world.propose(
            name,
            fields.get("kind", "member.joined"),
            fields.get("payload", {"member": agent.to_seat() | fields.get("seat", {})}),
            member_id=fields.get("member_id", agent.member_id),
            event_id=fields.get("event_id", "join"),
        )
        proposals.append(WireProposal(made.raw, made.signature))
    return Redeem(
        request_id=redeem.request_id,
        room_id=redeem.room_id,
        invitation_id=invitation_id,
        secret=redeem.secret,
        proposals=tuple(proposals),
    )


SEAT = Install(name="guest0").agent("echo").to_seat()
ODD: dict[str, list[dict[str, Any]]] = {
    "an agent by invitation": [
        {"payload": {"member": SEAT, "invitation_id": "i_" + "0" * 32}},
    ],
    "a field more": [{"payload": {"member": SEAT, "role": "owner"}}],
    "a seat for another member": [{"member_id": "m_" + "0" * 32}],
    "the same agent twice": [{}, {"event_id": "other"}],
    "an agent as owner": [{"seat": {"role": "owner"}}],
    "an agent of another install": [{"seat": {"install_id": Install(name="x").install_id}}],
    "an agent under another key": [{"seat": {"public_key": "ab" * 32}}],
    "a message instead of a seat": [{"kind": "message.user", "payload": {"text": "x"}}],
    "no seat": [{"payload": {}}],
    "a second person": [
        {"payload": {"member": Install(name="guest0").person("other").to_seat()}}
    ],
}


@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
def test_a_redemption_is_all_or_nothing(change: list[dict[str, Any]]) -> None:
    world = World("desktop")
    (name,) = guests(world, 1)
    redeem = redeem_with(world, name, *change)
    assert world.redeem(name, redeem).state == "rejected"
    assert kinds(world) == ["room.created", "invitation.issued"]
    assert world.redeem(name, redeem_with(world, name, {})).state == "applied"


def test_a_listener_brings_no_agents() -> None:
    world = World("desktop")
    (name,) = guests(world, 1)
    invitation_id = world.invite("desktop", role="listener")
    agent = Install(name=name).agent("echo")
    redeem = world.redemption(name, invitation_id, agent, role="listener")
    assert world.redeem(name, redeem).reason == "forbidden"
    assert world.redeem(name, world.redemption(name, invitation_id, role="listener")).state == (
        "applied"
    )


def test_a_seat_names_the_invitation_that_is_redeemed() -> None:
    world = World("desktop")
    (name,) = guests(world, 1)
    one, other = world.invite("desktop"), world.invite("desktop")
    redeem, foreign = world.redemption(name, one), world.redemption(name, other)
    mixed = Redeem(
        request_id="r", room_id=redeem.room_id, invitation_id=one, secret=redeem.secret,
        proposals=foreign.proposals,
    )
    assert world.redeem(name, mixed).reason == "forbidden"
