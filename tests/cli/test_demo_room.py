"""Until when the friend lends: Friday evening, never one that is nearly over."""

from datetime import UTC, datetime, timedelta

import pytest

from mesh.cli.demo_room import next_friday


@pytest.mark.parametrize("days", range(14))
def test_it_is_a_friday_at_least_half_a_day_ahead(days: int) -> None:
    now = datetime(2030, 3, 1, 11, 30, tzinfo=UTC) + timedelta(days=days)
    friday = next_friday(now)
    assert (friday.weekday(), friday.hour, friday.minute) == (4, 18, 0)
    assert timedelta(hours=12) < friday - now < timedelta(days=8)
