"""Who acts here: seats with fresh ids, proposals that verify, no voice where one has no seat."""

from pathlib import Path

import pytest

from mesh.core.errors import Malformed, Refused
from mesh.core.event import parse_proposal
from mesh.core.member import Lent, parse_seat
from mesh.core.room import RoomState
from tests.service.installs import a_house


async def test_a_seat_is_what_another_install_reads(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        operator = (await house.install("desktop")).services.operator
        person = operator.person("owner", "  Ann \u202e ")
        assert parse_seat(person.to_seat()) == person
        assert (person.display_name, person.handle) == ("Ann", "ann")
        lent = Lent(permissions=("dispatch",), until_ms=5)
        agent = operator.agent("echo", "", None, lent)
        assert parse_seat(agent.to_seat()) == agent
        assert (agent.display_name, agent.handle, agent.role) == ("echo", "echo", "member")
        assert operator.agent("echo", "Echo", "parrot", None).handle == "parrot"
        assert person.member_id != operator.person("owner").member_id


async def test_names_that_deceive_make_no_seat(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        operator = (await house.install("desktop")).services.operator
        with pytest.raises(Malformed):
            operator.person("owner", "\N{ZERO WIDTH SPACE}")
        with pytest.raises(Malformed):
            operator.agent("echo", "Echo", "@@", None)


async def test_a_proposal_is_signed_by_the_installs_key(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host = await house.install("desktop")
        operator = host.services.operator
        said = operator.propose(operator.new_id("r"), "message.user", "m_1", {"text": "a"})
        assert said.signed_by(host.key.public)
        assert parse_proposal(said.raw, said.signature) == said
        again = operator.propose(said.room_id, "message.user", "m_1", {"text": "a"})
        assert again.key != said.key, "a fresh event id each time"
        with pytest.raises(Malformed):
            operator.propose(said.room_id, "message.user", "m_1", {"text": 1.5})


async def test_without_a_seat_one_has_no_voice(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        host, other = await house.installs("desktop", "laptop")
        room_id = await host.founds("Den", "echo")
        me = host.services.operator.me(host.state(room_id))
        assert (me.install_id, me.kind) == (host.install_id, "person")
        with pytest.raises(Refused, match="forbidden"):
            other.services.operator.me(host.state(room_id))
        with pytest.raises(Refused, match="forbidden"):
            host.services.operator.me(RoomState(room_id))
