"""Limits are positive whole numbers; seconds may be fractions."""

from gateway import limits


def test_every_limit_is_a_positive_number_with_a_unit() -> None:
    found = {name: value for name, value in vars(limits).items() if name.isupper()}
    assert len(found) > 30
    for name, value in found.items():
        assert value > 0, name
        assert isinstance(value, int) or "_S_" in name, name
