"""Which address stands in a link, and what is said about how far it reaches."""

from collections.abc import Sequence

import pytest

from mesh.service.reach import Reach

LAN = "https://192.0.2.7:7420"
PUBLIC = "https://rooms.example.org"
LINK = "https://127.0.0.1:7420"
PAGE = "http://127.0.0.1:7420"


def reach(advertised: Sequence[str] = (), lan: Sequence[str] = ()) -> Reach:
    return Reach(advertised=advertised, lan=lambda: lan, loopback=lambda: LINK, page=lambda: PAGE)


def test_a_closed_node_gives_browsers_its_page_and_nodes_its_port() -> None:
    closed = reach()
    assert (closed.word(), closed.base()) == ("this_machine", PAGE)
    assert closed.addresses() == (LINK,)


@pytest.mark.parametrize(
    ("advertised", "lan", "word", "base"),
    [
        ((), [LAN], "lan", LAN),
        ([PUBLIC], [LAN], "public", PUBLIC),
        (["https://desk.local:7420"], [], "lan", "https://desk.local:7420"),
        (["https://10.0.0.4:7420"], [], "lan", "https://10.0.0.4:7420"),
        (["https://8.8.8.8:7420"], [], "public", "https://8.8.8.8:7420"),
        ([LINK], [], "this_machine", LINK),
    ],
)
def test_what_reaches_further_stands_first(
    advertised: list[str], lan: list[str], word: str, base: str
) -> None:
    found = reach(advertised, lan)
    assert (found.word(), found.base()) == (word, base)
    assert found.addresses() == (*advertised, *lan)


def test_an_address_named_twice_is_given_once() -> None:
    assert reach([LAN], [LAN]).addresses() == (LAN,)
