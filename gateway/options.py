"""A backend's own options, read strictly: each once, of the right type, within bounds.

Why: a mistyped option that is silently ignored becomes a puzzle weeks later. What is left over
after a backend has taken its options is refused by name. The reader never echoes a value.
"""

from collections.abc import Mapping

from gateway.errors import ProfileInvalid
from gateway.limits import OPTION_CHARS_MAX

OptionValue = str | int | bool


class Options:
    """Takes options out one by one; `refuse_rest` at the end refuses what nobody took."""

    def __init__(self, values: Mapping[str, OptionValue]) -> None:
        self._rest = dict(values)

    def text(self, key: str, default: str | None = None) -> str:
        """The text option `key`, not empty. Raises ProfileInvalid, also when it is required."""
        value = self._rest.pop(key, default)
        if value is None:
            raise ProfileInvalid(f"options.{key}", "is required")
        if not isinstance(value, str):
            raise ProfileInvalid(f"options.{key}", "must be a text")
        if not value and value != default:
            raise ProfileInvalid(f"options.{key}", "must not be empty")
        if len(value) > OPTION_CHARS_MAX:
            raise ProfileInvalid(f"options.{key}", f"may have {OPTION_CHARS_MAX} characters")
        return value

    def integer(self, key: str, default: int, *, low: int, high: int) -> int:
        """The whole number `key` between `low` and `high`. Raises ProfileInvalid."""
        assert low <= default <= high, "a default obeys its own bounds"
        value = self._rest.pop(key, default)
        # bool is an int in Python, and `pace_ms = true` is a mistake, not a 1.
        if not isinstance(value, int) or isinstance(value, bool):
            raise ProfileInvalid(f"options.{key}", "must be a whole number")
        if not low <= value <= high:
            raise ProfileInvalid(f"options.{key}", f"must be between {low} and {high}")
        return value

    def refuse_rest(self) -> None:
        """Raises ProfileInvalid when an option was given that this backend does not know."""
        for key in sorted(self._rest):
            raise ProfileInvalid(f"options.{key}", "is not an option of this backend")
