"""Who is there, as each install sees it, in the words of the surface."""

from dataclasses import replace

import pytest

from mesh.core.member import Member
from mesh.core.presence import PresenceView
from tests.core.machines import Install

HERE, THERE = Install(name="here"), Install(name="there")
ANN = replace(HERE.person("ann"), joined_at_ms=1)
BOB, ECHO = (replace(m, joined_at_ms=2) for m in (THERE.person("bob"), THERE.agent("echo")))


def view(*online: Install) -> PresenceView:
    """What `here` sees when these are linked, since time 5."""
    seen = PresenceView(HERE.install_id)
    seen.set_all([i.install_id for i in online], 5)
    return seen


@pytest.mark.parametrize(
    ("member", "online", "routed", "host_up", "expected"),
    [
        (ANN, (), False, True, ("online", 1, "")),
        (ANN, (), False, False, ("online", 1, "")),
        (BOB, (THERE,), False, True, ("online", 5, "")),
        (BOB, (), False, True, ("offline", 2, "peer_offline")),
        (BOB, (THERE,), False, False, ("offline", 5, "host_offline")),
        (ECHO, (THERE,), True, True, ("online", 5, "")),
        (ECHO, (THERE,), False, True, ("joining", 2, "")),
        (ECHO, (), False, True, ("offline", 2, "peer_offline")),
        (replace(ECHO, withdrawn=True), (THERE,), False, True, ("withdrawn", 0, "withdrawn")),
        (replace(BOB, left_seq=9, left_reason="left"), (THERE,), False, True, ("left", 0, "left")),
        (replace(BOB, left_seq=9, left_reason="removed"), (), False, True, ("left", 0, "removed")),
    ],
)
def test_each_state_has_its_word(
    member: Member,
    online: tuple[Install, ...],
    routed: bool,
    host_up: bool,
    expected: tuple[str, int, str],
) -> None:
    assert view(*online).of(member, routed, host_up) == expected


def test_only_changes_are_told() -> None:
    seen = PresenceView(HERE.install_id)
    there = THERE.install_id
    assert not seen.set(there, False, 1), "never seen, and not there: no news"
    assert seen.set(there, True, 2)
    assert not seen.set(there, True, 3)
    assert seen.of(BOB, False, True) == ("online", 2, ""), "since the change, not since the word"
    assert seen.set(there, False, 4)


def test_a_list_of_who_is_online_is_whole() -> None:
    seen = view(THERE)
    assert seen.online() == {HERE.install_id, THERE.install_id}
    assert seen.set_all([], 6) == {THERE.install_id}
    assert seen.set_all([], 7) == frozenset()
    assert seen.online() == {HERE.install_id}
