"""Names: how they look, which are refused, and that nothing hidden survives in them."""

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core import ids
from mesh.core.errors import Malformed
from mesh.core.limits import HANDLE_CHARS_MAX, NAME_CHARS_MAX

HEX = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("pattern", "good"),
    [
        (ids.INSTALL, f"install:{HEX}"),
        (ids.MEMBER, f"m_{HEX}"),
        (ids.ROOM, f"r_{HEX}"),
        (ids.INVITATION, f"i_{HEX}"),
        (ids.GRANT, f"g_{HEX}"),
        (ids.TURN, f"t_{HEX}"),
        (ids.DIGEST, HEX * 2),
    ],
)
def test_an_id_has_one_spelling(pattern: re.Pattern[str], good: str) -> None:
    assert ids.check(pattern, good, "it") == good
    for bad in (good.upper(), good + "0", good[:-1], good + "\n", " " + good, good[:-1] + "\uff11"):
        with pytest.raises(Malformed) as refused:
            ids.check(pattern, bad, "it")
        assert refused.value.fields == {"field": "it"}


@pytest.mark.parametrize("value", [None, 1, True, [], {}, b"a"])
def test_an_id_is_a_string(value: object) -> None:
    with pytest.raises(Malformed):
        ids.check(ids.OPAQUE, value, "event_id")


# Attack 25: in ids there is nothing but ASCII, hence no second normal form.
@pytest.mark.parametrize(
    "bad", ["", "-a", "a b", "a\0", "\xe9", "e\u0301", "a" * 129, "a\n", "a/b"]
)
def test_an_opaque_id_is_plain_and_bounded(bad: str) -> None:
    assert ids.OPAQUE.match("a" * 128)
    assert not ids.OPAQUE.match(bad)


def test_ids_are_made_of_what_they_are_given() -> None:
    assert ids.make("m", bytes(range(16))) == "m_000102030405060708090a0b0c0d0e0f"
    assert ids.MEMBER.match(ids.make("m", bytes(16)))
    assert ids.install_id(bytes(32)) == "install:66687aadf862bd776c8fc18b8e9f8e20"


def test_an_event_id_belongs_to_its_member() -> None:
    keys = {ids.event_key(m, e) for m in ("m_1", "m_2") for e in ("a", "b")}
    assert len(keys) == 4
    assert ids.event_key("m", "1a") != ids.event_key("m1", "a")


def test_a_turn_id_names_one_answer_for_ever() -> None:
    args = ("r", "root", "key", "m", 1)
    assert ids.TURN.match(ids.turn_id(*args))
    assert ids.turn_id(*args) == ids.turn_id(*args)
    others = [("x", *args[1:]), ("r", "x", *args[2:]), ("r", "root", "x", "m", 1),
              ("r", "root", "key", "x", 1), ("r", "root", "key", "m", 2)]
    assert len({ids.turn_id(*a) for a in others} | {ids.turn_id(*args)}) == 6


# --- names that people see (attack 65, situation 86) --------------------------------------------

SHOWN = {
    "as it is": ("Ann", "Ann"),
    "spaces": ("  Ann \t B ", "Ann B"),
    "lines": ("Ann\nB", "Ann B"),
    "right to left": ("\u202eAnn\u202c", "Ann"),
    "isolates": ("\u2066Ann\u2069", "Ann"),
    "zero width": ("A\u200bn\u200dn\ufeff", "Ann"),
    "fillers": ("A\u3164n\u115fn\uffa0\u2800", "Ann"),
    "variation selectors": ("A\ufe0fn\U000e0100n", "Ann"),
    "tags": ("Ann\U000e0041", "Ann"),
    "noncharacters": ("Ann\ufdd0\uffff\U0001fffe", "Ann"),
    "colours of a terminal": ("\x1b[31mAnn", "[31mAnn"),
    "bell and null": ("A\x07n\0n", "Ann"),
    "private": ("Ann\ue000", "Ann"),
    "one normal form": ("Re\u0301ne\u0301", "R\xe9n\xe9"),
    # Assigned in Unicode 15 and 16. What an older Python does not know is no less a letter.
    "younger than some Pythons": ("\U0001fa77 \U0001fae9", "\U0001fa77 \U0001fae9"),
    "not yet assigned": ("a\u0378b", "a\u0378b"),
}


@pytest.mark.parametrize(("given_", "shown"), SHOWN.values(), ids=SHOWN)
def test_a_name_is_cleaned(given_: str, shown: str) -> None:
    assert ids.clean_name(given_) == shown


@pytest.mark.parametrize(
    "name",
    ["", " ", "\u200b\u200d", "\u3164", "\u202e", "\u0301" * 5, "a" + "\u0301" * 3,
     "x" * (NAME_CHARS_MAX + 1), "\u200b" * 10_000 + "x", None, 7, ["Ann"]],
)
def test_a_name_without_anything_to_see_is_refused(name: object) -> None:
    with pytest.raises(Malformed) as refused:
        ids.clean_name(name)
    assert refused.value.status == 422


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_what_is_clean_stays_clean_and_gives_a_handle(name: str) -> None:
    try:
        clean = ids.clean_name(name)
    except Malformed:
        return
    assert ids.clean_name(clean) == clean
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs"} for c in clean)
    handle = ids.handle_from(clean)
    assert ids.HANDLE.match(handle) and ids.clean_name(handle) == handle


# --- handles ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "handle"),
    [("Ann Bee", "ann-bee"), ("R\xe9n\xe9", "r\xe9n\xe9"), ("!!!", "member"), ("\uff21", "a"),
     ("x" * 99, "x" * 20), ("a-" * 30, "a-a-a-a-a-a-a-a-a-a"), ("\u0420\u0430", "\u0440\u0430")],
)
def test_a_handle_is_made_of_a_name(name: str, handle: str) -> None:
    assert ids.handle_from(name) == handle


@pytest.mark.parametrize("handle", ["echo", "a", "v1.2", "a-b_c", "echo@laptop", "\xe9cho"])
def test_handles(handle: str) -> None:
    assert ids.HANDLE.match(handle)


@pytest.mark.parametrize(
    "handle", ["", "-a", "a-", "@a", "a@", "a b", "a@b@c", "a" * 41, "a\n", "a\u200b", "_", "a.@b"]
)
def test_no_handles(handle: str) -> None:
    assert not ids.HANDLE.match(handle)


def test_a_taken_handle_names_its_place_then_counts() -> None:
    taken: set[str] = set()
    made = []
    for _ in range(4):
        handle = ids.unique_handle("Echo", "My Laptop", frozenset(taken))
        made.append(handle)
        taken.add(ids.fold_handle(handle))
    assert made == ["Echo", "Echo@my-laptop", "Echo-2", "Echo-3"]
    assert all(ids.HANDLE.match(h) for h in made)


def test_look_alikes_by_case_and_width_are_one() -> None:
    assert ids.fold_handle("ECHO") == ids.fold_handle("\uff25cho") == "echo"
    assert ids.unique_handle("\uff25CHO", "x", frozenset({"echo"})) == "\uff25CHO@x"


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_a_unique_handle_is_a_handle(name: str, place: str) -> None:
    wanted = ids.handle_from(name)
    taken = frozenset({ids.fold_handle(wanted)})
    made = ids.unique_handle(wanted, place, taken)
    assert ids.HANDLE.match(made) and ids.fold_handle(made) not in taken
    assert len(made) <= HANDLE_CHARS_MAX + 1 + 20


# --- base64url ----------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=40))
def test_base64_comes_back(data: bytes) -> None:
    assert ids.unb64(ids.b64(data), "it") == data
    assert ids.unb64(ids.b64(data), "it", len(data)) == data


@pytest.mark.parametrize(
    "text", ["A", "AB", "AA==", "AA=", "A A", "A+/_", "AAAAA", "\xe9AAA", "AA\n"]
)
def test_a_second_spelling_of_the_same_bytes_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        ids.unb64(text, "it")


def test_base64_of_another_size_or_type_is_refused() -> None:
    refuse: list[Callable[[], bytes]] = [
        lambda: ids.unb64("AAAA", "it", 4),
        lambda: ids.unb64(None, "it"),
        lambda: ids.unb64(b"AAAA", "it"),
    ]
    for call in refuse:
        with pytest.raises(Malformed):
            call()
