"""Options are read strictly: type, bounds, and nothing left over."""

import pytest

from gateway.errors import ProfileInvalid
from gateway.limits import OPTION_CHARS_MAX
from gateway.options import Options, OptionValue


def test_takes_what_is_there_and_defaults_for_the_rest() -> None:
    options = Options({"model": "tiny", "pace_ms": 5})
    assert options.text("model") == "tiny"
    assert options.text("system_prompt", "") == ""
    assert options.integer("pace_ms", 20, low=0, high=100) == 5
    assert options.integer("other", 20, low=0, high=100) == 20
    options.refuse_rest()


@pytest.mark.parametrize("value", [7, True, "", "x" * (OPTION_CHARS_MAX + 1)])
def test_text_is_text(value: OptionValue) -> None:
    with pytest.raises(ProfileInvalid, match=r"options\.model"):
        Options({"model": value}).text("model")


def test_a_required_text_is_required() -> None:
    with pytest.raises(ProfileInvalid, match="is required"):
        Options({}).text("model")


@pytest.mark.parametrize("value", ["7", True, -1, 101])
def test_an_integer_is_a_whole_number_within_its_bounds(value: OptionValue) -> None:
    with pytest.raises(ProfileInvalid, match=r"options\.pace_ms"):
        Options({"pace_ms": value}).integer("pace_ms", 20, low=0, high=100)


def test_what_nobody_took_is_refused_by_name_and_without_its_value() -> None:
    with pytest.raises(ProfileInvalid, match=r"options\.api_key:") as refused:
        Options({"api_key": "sk-canary"}).refuse_rest()
    assert "canary" not in str(refused.value)
