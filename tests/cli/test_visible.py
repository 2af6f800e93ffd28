"""Strangers' text cannot move the cursor, colour the screen or turn a line around."""

import unicodedata

import pytest

from mesh.cli.visible import one_line, paragraph


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain name", "plain name"),
        ("Zoë 名前 👩‍👧", "Zoë 名前 👩‍👧"),
        ("a\x1b[31mred", "a␛[31mred"),
        ("over\rwritten", "over␍written"),
        ("bell\x07", "bell␇"),
        ("del\x7f", "del␡"),
        ("evil\u202egnp.exe", "evil<U+202E>gnp.exe"),
        ("zero\u200bwidth", "zero<U+200B>width"),
        ("c1\x9b31m", "c1<U+009B>31m"),
        ("two\nlines", "two␊lines"),
        ("sep\u2028arator", "sep<U+2028>arator"),
        (7, "7"),
    ],
)
def test_controls_become_marks(text: object, shown: str) -> None:
    assert one_line(text) == shown


def test_a_long_name_is_cut_with_a_mark() -> None:
    assert one_line("x" * 100, 10) == "x" * 9 + "…"
    assert one_line("x" * 10, 10) == "x" * 10


def test_a_paragraph_keeps_its_lines_and_nothing_else() -> None:
    assert paragraph("a\r\nb\n\tc\x1b", "  ") == "a\n  b\n      c␛"


def test_nothing_that_is_shown_is_a_control() -> None:
    every = "".join(map(chr, range(0x3000))) + "\ud800\U000e0001"
    shown = one_line(every, 100_000)
    left = {c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert left == {"\u200c", "\u200d"}
