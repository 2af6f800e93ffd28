"""`status`, of a real node."""

from tests.cli.nodes import Command


async def test_a_person_sees_how_it_stands(alpha: Command) -> None:
    said = await alpha("status")
    assert said.status == 0
    assert "alpha" in said.out and str(alpha.home) in said.out
    assert "echo" in said.out and "ready" in said.out
    assert "roommesh up --lan" in said.out


async def test_a_script_gets_info_and_status_in_one(alpha: Command) -> None:
    found = (await alpha("status", "--json")).json
    assert found["name"] == "alpha"
    assert found["ready"] is True
    assert {"install_id", "listen", "links", "profiles", "storage", "warnings"} <= found.keys()
