"""The table of methods: name, shape of the parameters, who may call, and the function.

A method file registers its functions with `@method`. Parameters are msgspec Structs that forbid
unknown fields: a misspelt parameter is refused, never ignored. The JSON was decoded strictly
before (core.canonical), so no second parser sees the bytes.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from mesh.core.errors import Malformed
from mesh.rpc.caller import Caller
from mesh.rpc.surface import Surface

Handler = Callable[[Surface, Caller, Any], Awaitable[dict[str, Any]]]


class NoParams(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The parameters of a method that takes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method of the surface.

    `live` needs a WebSocket (it pushes later); `program` needs the home's token, so that a
    browser session cannot make itself a successor.
    """

    name: str
    params: type[msgspec.Struct]
    handler: Handler
    live: bool = False
    program: bool = False


METHODS: Final[dict[str, Method]] = {}


def method(
    name: str,
    *,
    params: type[msgspec.Struct] = NoParams,
    live: bool = False,
    program: bool = False,
    table: dict[str, Method] = METHODS,
) -> Callable[[Handler], Handler]:
    """Register the decorated coroutine function `(surface, caller, params) -> dict`."""
    assert params.__struct_config__.forbid_unknown_fields, f"{name}: unknown fields must be refused"

    def register(handler: Handler) -> Handler:
        assert name not in table, f"{name} is registered twice"
        table[name] = Method(name=name, params=params, handler=handler, live=live, program=program)
        return handler

    return register


_FIELD: Final = re.compile(r"field `([^`]{1,64})`")
_PATH: Final = re.compile(r" - at `\$\.?([^`]{1,64})`\Z")
_MESSAGE_CHARS_MAX: Final = 200


def read_params(params: type[msgspec.Struct], value: object) -> Any:
    """`value`, which was strictly decoded, as that Struct.

    Raises:
        Malformed: reason `invalid_params`, naming the field.
    """
    if not isinstance(value, dict):
        raise Malformed("invalid_params", "params must be an object of named values.")
    try:
        return msgspec.convert(value, params, strict=True)
    except msgspec.ValidationError as error:
        raise _named(str(error)) from None


def _named(text: str) -> Malformed:
    """The refusal of the converter's sentence, with the path of the field in front."""
    path = _PATH.search(text)
    parts = [path.group(1)] if path else []
    sentence = text[: path.start()] if path else text
    inner = _FIELD.search(sentence)
    if inner:
        parts.append(inner.group(1))
    field = ".".join(part for part in parts if part)
    said = f"{field}: {sentence}." if field else f"{sentence}."
    return Malformed("invalid_params", said[:_MESSAGE_CHARS_MAX], field=field)
