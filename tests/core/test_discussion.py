"""Who is addressed: exact handles, each once, and at little cost whatever the text."""

import time
import unicodedata

import pytest

from mesh.core.discussion import addressed
from mesh.core.limits import ADDRESSED_PER_EVENT_MAX, TEXT_BYTES_MAX
from mesh.core.member import Member
from tests.core.machines import Install

HOME = Install(name="home")


def agent(handle: str) -> Member:
    """An agent under exactly that handle."""
    return HOME.agent(handle).with_handle(handle)


def handles(text: str, *members: Member, author: str = "") -> list[str]:
    """The handles that a text addresses."""
    return [m.handle for m in addressed(text, members, author)]


ECHO, GUIDE, PLACED, DOTTED = map(agent, ("echo", "guide", "echo@laptop", "v1.2"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@echo", ["echo"]),
        ("Hello @echo, and @guide!", ["echo", "guide"]),
        ("@guide @echo @guide", ["guide", "echo"]),
        ("@ECHO.", ["echo"]),
        ("(@echo) [@guide]", ["echo", "guide"]),
        ("ask @echo...", ["echo"]),
        ("@echo-", ["echo"]),
        ("@echo@laptop", ["echo@laptop"]),
        ("@echo@laptop.", ["echo@laptop"]),
        ("@echo@", ["echo"]),
        ("@v1.2.", ["v1.2"]),
        ("@\uff45\uff43\uff48\uff4f", ["echo"]),
        ("echo", []),
        ("@ec", []),
        ("@echoes", []),
        ("@echo@desktop", []),
        ("me@echo", []),
        ("https://x/@echo", []),
        ("@@echo", []),
        ("`@echo`", []),
        ("```\n@echo\n```", []),
        ("```\n@echo", []),
        ("`a` @echo `b`", ["echo"]),
        ("@", []),
        ("", []),
    ],
)
def test_a_handle_addresses_the_one_who_has_it(text: str, expected: list[str]) -> None:
    assert handles(text, ECHO, GUIDE, PLACED, DOTTED) == expected


def test_people_and_those_who_left_are_not_addressed() -> None:
    person = HOME.person("ann")
    assert handles("@ann", person) == []


def test_nobody_addresses_itself() -> None:
    assert handles("@echo @guide", ECHO, GUIDE, author=ECHO.member_id) == ["guide"]
    assert handles("@all", ECHO, GUIDE, author=ECHO.member_id) == ["guide"]


def test_all_means_every_agent_and_nobody_can_take_its_place() -> None:
    assert handles("@all", ECHO, GUIDE) == ["echo", "guide"]
    assert handles("@ALL: look", agent("all"), GUIDE) == ["all", "guide"]
    assert handles("@all-ears", agent("all-ears"), GUIDE) == ["all-ears"]


def test_an_accent_of_its_own_is_the_same_letter() -> None:
    rene = agent("ren\xe9")
    assert handles(unicodedata.normalize("NFD", "@ren\xe9"), rene) == ["ren\xe9"]


def test_a_message_addresses_a_bounded_number() -> None:
    crowd = [agent(f"a{n}") for n in range(ADDRESSED_PER_EVENT_MAX + 20)]
    assert len(handles("@all", *crowd)) == ADDRESSED_PER_EVENT_MAX
    assert len(handles(" ".join(f"@a{n}" for n in range(84)), *crowd)) == ADDRESSED_PER_EVENT_MAX


@pytest.mark.parametrize(
    "text",
    [
        "@a" + "." * (TEXT_BYTES_MAX - 2),
        "@" + "a" * (TEXT_BYTES_MAX - 1),
        "@all " * (TEXT_BYTES_MAX // 5),
        "@x " * (TEXT_BYTES_MAX // 3),
        "`" * TEXT_BYTES_MAX,
        "`\n" * (TEXT_BYTES_MAX // 2),
        "@" * TEXT_BYTES_MAX,
    ],
    ids=["dots", "one word", "all", "nobody", "ticks", "open ticks", "at signs"],
)
def test_no_text_holds_up_the_room(text: str) -> None:
    crowd = [agent(f"a{n}") for n in range(60)]
    before_s = time.process_time()
    addressed(text, crowd, "")
    assert time.process_time() - before_s < 0.5
