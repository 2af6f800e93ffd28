"""Lengths of time and dates as people type them: `90m`, `7d`, `2030-05-01`. Pure."""

import datetime
import re
from typing import Final

from mesh.cli.failure import Failed

_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
_SPAN: Final = re.compile(r"(\d{1,9})\s*([smhdw])\Z")


def span_s(text: str) -> int:
    """Seconds of a length of time.

    Raises:
        Failed: reason `invalid_params`.
    """
    match = _SPAN.match(text.strip().lower())
    if match is None or int(match[1]) == 0:
        raise Failed(
            "invalid_params", f"{text[:40]!r} is no length of time.", "Write 90m, 24h, 7d."
        )
    return int(match[1]) * _SECONDS[match[2]]


def instant_ms(text: str, now_ms: int) -> int:
    """An instant: a length of time from now, or a local date (its end) or date and time.

    Raises:
        Failed: reason `invalid_params`, also for what is past.
    """
    if _SPAN.match(text.strip().lower()):
        return now_ms + span_s(text) * 1000
    try:
        given = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise Failed(
            "invalid_params",
            f"{text[:40]!r} is no date.",
            "Write 7d, 2030-05-01 or 2030-05-01T18:00.",
        ) from None
    if len(text.strip()) <= 10:
        given = given.replace(hour=23, minute=59, second=59)
    at_ms = int(given.astimezone().timestamp() * 1000)
    if at_ms <= now_ms:
        raise Failed("invalid_params", f"{text[:40]!r} is past.", "Name a time to come.")
    return at_ms


def local_time(at_ms: int | None) -> str:
    """An instant as this machine's date and time, or a dash."""
    if not at_ms:
        return "-"
    moment = datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC).astimezone()
    return moment.strftime("%Y-%m-%d %H:%M")


def clock_time(at_ms: int) -> str:
    """Only the time of day."""
    moment = datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC).astimezone()
    return moment.strftime("%H:%M")
