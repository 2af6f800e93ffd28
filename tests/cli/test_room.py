"""`room`, on a real node."""

from tests.cli.nodes import Command


async def test_a_room_from_its_making_to_its_end(alpha: Command) -> None:
    made = await alpha("room", "create", "Den", "--with", "scribe")
    assert made.status == 0
    room_id = made.out.strip()
    assert room_id.startswith("r_") and len(room_id) == 34
    assert "Den" in (await alpha("room", "list")).out
    shown = await alpha("room", "show", "den")
    assert room_id in shown.out and "owner" in shown.out
    assert "@scribe" in (await alpha("room", "members", "den")).out
    assert (await alpha("room", "add", "den", "echo", "--handle", "parrot")).out == "done\n"
    assert (await alpha("room", "remove", "den", "@parrot")).out == "done\n"
    rows = (await alpha("room", "members", "den", "--json")).json["members"]
    assert sorted(row["handle"] for row in rows if row["kind"] == "agent") == ["scribe"]
    assert (await alpha("room", "rename", "den", "Cave")).status == 0
    assert (await alpha("room", "stop-turns", "cave", "--json")).json == {"stopping": []}
    refused = await alpha("room", "disband", "cave")
    assert (refused.status, "--yes" in refused.err) == (2, True)
    assert (await alpha("room", "disband", "cave", "--yes")).status == 0
    assert "closed" in (await alpha("room", "list")).out
    late = await alpha("room", "send", "cave", "hello?", "--json")
    assert (late.status, late.reason) == (4, "disbanded")


async def test_a_name_that_is_an_attack_is_shown_as_text(alpha: Command) -> None:
    await alpha("room", "create", "[bold]\u202eevil[/bold]")
    listed = (await alpha("room", "list")).out
    assert "[bold]" in listed
    assert "\u202e" not in listed


async def test_a_room_that_is_not_there_is_refused(alpha: Command) -> None:
    for line in (["show", "x"], ["members", "x"], ["rename", "x", "y"], ["send", "x", "hi"]):
        said = await alpha("room", *line, "--json")
        assert (said.status, said.reason) == (4, "not_found"), line


async def test_control_calls_answer_scripts(alpha: Command) -> None:
    await alpha("room", "create", "Den")
    answer = (await alpha("room", "rename", "den", "Cave", "--json")).json
    assert answer["accepted"] is True
    assert answer["event"]["kind"] == "room.renamed"
    assert (await alpha("room", "create", "Two", "--json")).json["room"]["name"] == "Two"
