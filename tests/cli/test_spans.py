"""Lengths of time and dates as people type them."""

import pytest

from mesh.cli.failure import Failed
from mesh.cli.spans import clock_time, instant_ms, local_time, span_s

NOW_MS = 1_900_000_000_000  # 2030-03-17


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45s", 45),
        ("90m", 5_400),
        ("24h", 86_400),
        ("7d", 604_800),
        ("2w", 1_209_600),
        (" 1 D ", 86_400),
    ],
)
def test_a_length_is_read(text: str, seconds: int) -> None:
    assert span_s(text) == seconds
    assert instant_ms(text, NOW_MS) == NOW_MS + seconds * 1000


@pytest.mark.parametrize("text", ["", "7", "d", "0d", "-1d", "1.5h", "7 days", "9999999999d", "d7"])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(Failed, match="no length"):
        span_s(text)


def test_a_date_counts_to_its_end() -> None:
    end = instant_ms("2031-01-01", NOW_MS)
    assert local_time(end) == "2031-01-01 23:59"
    assert local_time(instant_ms("2031-01-01T18:30", NOW_MS)) == "2031-01-01 18:30"
    assert clock_time(end) == "23:59"


@pytest.mark.parametrize("text", ["2020-01-01", "1999-12-31T23:59"])
def test_the_past_is_refused(text: str) -> None:
    with pytest.raises(Failed, match="past"):
        instant_ms(text, NOW_MS)


@pytest.mark.parametrize("text", ["friday", "2031-13-01", "31.1.2031", ""])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(Failed, match="no date"):
        instant_ms(text, NOW_MS)


def test_no_time_is_a_dash() -> None:
    assert local_time(None) == local_time(0) == "-"
