"""The tree of errors: drawn as it is, and each leaf complete."""

import inspect
import re
from typing import Any

import gateway.errors as errors
from gateway.errors import GatewayError, quoted
from gateway.limits import MESSAGE_CHARS_MAX


def leaves() -> dict[str, Any]:
    """The classes at the ends of the tree, by name."""
    return {
        name: kind
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, GatewayError) and not kind.__subclasses__()
    }


def test_the_drawing_shows_every_leaf_with_its_reason() -> None:
    assert errors.__doc__ is not None
    drawn = dict(re.findall(r"\+-- (\w+) +([a-z_]+)$", errors.__doc__, re.MULTILINE))
    assert drawn == {name: kind.reason for name, kind in leaves().items()}


def test_each_leaf_says_what_and_what_next() -> None:
    examples: dict[str, object] = {"int": 7, "float": 7.5, "str": "word"}
    for name, kind in leaves().items():
        parameters = inspect.signature(kind.__init__).parameters.values()
        given = [examples[p.annotation.__name__] for p in parameters if p.name != "self"]
        error = kind(*given)
        assert str(error) == error.message, name
        assert len(error.message.split()) > 1 or name == "BackendFailed" or given == ["word"], name
        assert error.next.endswith("."), name


def test_a_quotation_is_one_printable_line_within_the_limit() -> None:
    assert quoted("two\r\nlines \x1b[31mred\u202e") == "two lines [31mred"
    assert len(quoted("x" * 5_000)) == MESSAGE_CHARS_MAX
