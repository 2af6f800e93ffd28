"""Mentions: one's own is taken out, others' are quoted without calling anybody."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.backends.mentions import quiet, quote, without
from gateway.limits import QUOTE_CHARS_MAX

CALLS = re.compile(r"(?<!\w)@\w")


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("@echo hello", "hello"),
        ("@Echo: hello", "hello"),
        ("hello @echo, you", "hello you"),
        ("@echo", ""),
        ("@echoes are other people", "@echoes are other people"),
        ("@echo-2 is too", "@echo-2 is too"),
        ("@echo.bot is another one", "@echo.bot is another one"),
        ("ann@echo is an address", "ann@echo is an address"),
        ("@echo.", "."),
    ],
)
def test_takes_out_its_own_mention_only(text: str, rest: str) -> None:
    assert without(text, "echo") == rest


def test_a_handle_is_no_pattern() -> None:
    assert without("@a.b @axb", "a.b") == "@axb"


def test_quiet_names_and_does_not_call() -> None:
    assert quiet("@ann and @@ben, ann@home.example") == "ann and ben, ann@home.example"


@given(st.text(st.sampled_from("@ab. /\n"), max_size=30))
def test_nothing_quiet_calls_anybody(text: str) -> None:
    assert not CALLS.search(quiet(text))
    assert not CALLS.search(quote(text))


def test_a_quotation_is_one_line_within_the_limit() -> None:
    assert quote("two\n lines") == "two lines"
    assert len(quote("x" * 1_000)) == QUOTE_CHARS_MAX
