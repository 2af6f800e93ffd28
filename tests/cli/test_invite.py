"""`invite`, on real nodes."""

from pathlib import Path

import pytest

from tests.cli.nodes import Command, running_node


async def test_a_link_that_reaches_nobody_is_refused_and_ended(alpha: Command) -> None:
    await alpha("room", "create", "Den")
    said = await alpha("invite", "create", "den")
    assert said.status == 4
    assert "not_reachable" in said.err and "--lan" in said.err
    assert said.out == ""
    (row,) = (await alpha("invite", "list", "--json")).json["invitations"]
    assert row["state"] == "revoked"


async def test_the_life_of_an_invitation(alpha: Command) -> None:
    await alpha("room", "create", "Den")
    said = await alpha("invite", "create", "den", "--this-machine", "--uses", "3", "--ttl", "2h")
    assert said.status == 0
    link = said.out.strip()
    assert "/i#" in link
    assert link not in said.err
    listed = (await alpha("invite", "list", "den")).out
    assert "0/3" in listed and "open" in listed
    (row,) = (await alpha("invite", "list", "--json")).json["invitations"]
    shown = await alpha("invite", "show", row["invitation_id"][:12])
    assert row["invitation_id"] in shown.out
    assert (await alpha("invite", "revoke", row["invitation_id"])).out == "revoked\n"
    assert "revoked" in (await alpha("invite", "show", row["invitation_id"])).out
    secret = link.partition("#")[2]
    assert secret not in listed + shown.out


async def test_a_code_to_scan_is_drawn(alpha: Command) -> None:
    await alpha("room", "create", "Den")
    assert "█" in (await alpha("invite", "create", "den", "--this-machine", "--qr")).out


async def test_a_node_that_others_reach_makes_links_for_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Command(home=tmp_path / "home", capsys=capsys)
    async with running_node(command.home, "alpha", lan=True) as node:
        if not node.ready.lan_urls:
            pytest.skip("this machine has no network address")
        await command("room", "create", "Den")
        found = (await command("invite", "create", "den", "--json")).json
        assert found["reach"] == "lan"
        assert found["link"].startswith("https://")


async def test_wrong_terms_are_usage(alpha: Command) -> None:
    await alpha("room", "create", "Den")
    for line in (["--ttl", "soon"], ["--uses", "0"], ["--role", "king"]):
        assert (await alpha("invite", "create", "den", *line)).status == 2
