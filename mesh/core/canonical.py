"""Strict JSON in, canonical JSON out (RFC 8785, integers only).

What is signed or hashed is exactly what `encode` returns, and what is parsed is parsed once,
strictly: no duplicate keys, no floats, no `-0`, no integer beyond 2^53-1, no lone surrogate,
bounded depth and count. Two parsers that differ on such input would give two truths
(attacks 23-28, situations 84-85). Size is checked before anything else is done.
"""

import json
import re
from typing import Any, Final

from mesh.core.errors import Malformed
from mesh.core.limits import JSON_DEPTH_MAX, JSON_INT_MAX, JSON_KEYS_MAX, RPC_BYTES_MAX

Json = Any
"""A JSON value of None, bool, int, str, list and dict; validated, hence not typed deeper."""

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,15})\Z")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def encode(value: Json) -> bytes:
    """Canonical bytes of a JSON value.

    Raises:
        Malformed: a float, a non-string key, a lone surrogate, an integer out of range.
    """
    _check(value, 0)
    try:
        return _ENCODER.encode(value).encode()
    except UnicodeEncodeError:
        raise _wrong("a lone surrogate is not text") from None


def decode(data: bytes, size_bytes_max: int = RPC_BYTES_MAX) -> Json:
    """Parse strict JSON.

    Raises:
        Malformed: reason `too_large` above the size, else `invalid_params`.
    """
    if len(data) > size_bytes_max:
        raise Malformed("too_large", f"More than {size_bytes_max} bytes.", limit=size_bytes_max)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _wrong("not UTF-8") from None
    _check_depth(text)
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"not strict JSON ({_brief(error)})") from None
    # Only an escape can bring in a surrogate: UTF-8 decoding has refused the raw ones.
    if "\\u" in text and _has_surrogate(value):
        raise _wrong("a lone surrogate is not text")
    return value


def decode_object(data: bytes, size_bytes_max: int = RPC_BYTES_MAX) -> dict[str, Json]:
    """Parse strict JSON that must be an object. Raises like `decode`."""
    value = decode(data, size_bytes_max)
    if not isinstance(value, dict):
        raise _wrong("an object was expected")
    return value


def is_canonical(data: bytes, value: Json) -> bool:
    """True if `data` is exactly the canonical form of `value`, which was decoded from it."""
    return encode(value) == data


def _wrong(why: str) -> Malformed:
    return Malformed("invalid_params", f"The input is {why}." if why[0] != "a" else f"{why}.")


def _brief(error: Exception) -> str:
    return str(error)[:80]


def _check_depth(text: str) -> None:
    """Refuse deep nesting before the parser recurses into it."""
    if text.count("[") + text.count("{") <= JSON_DEPTH_MAX:
        return
    depth = 0
    for part in _TO_BRACKET.finditer(text):
        mark = part.group(1)
        if mark in ("[", "{"):
            depth += 1
            if depth > JSON_DEPTH_MAX:
                raise _wrong(f"nested deeper than {JSON_DEPTH_MAX}")
        elif mark:
            depth -= 1


# Everything up to the next bracket or the end. Strings are matched whole, so that brackets inside
# them do not count. A string without its end reaches to the end of the text, and nothing is given
# back: tried again from each quote, it would cost the square of its length (attack 26).
_TO_BRACKET: Final = re.compile(
    r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z))*+([\[\]{}]|\Z)', re.DOTALL
)


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("duplicate key")
    if len(made) > JSON_KEYS_MAX:
        raise ValueError("too many keys")
    return made


def _integer(text: str) -> int:
    if not _INTEGER.match(text) or text == "-0":
        raise ValueError("number out of range")
    value = int(text)
    if abs(value) > JSON_INT_MAX:
        raise ValueError("number out of range")
    return value


def _no_float(text: str) -> Json:
    raise ValueError(f"only integers are allowed, not {text[:20]}")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_pairs,
    parse_float=_no_float,
    parse_int=_integer,
    parse_constant=_no_float,
    strict=True,
)


def _has_surrogate(value: Json) -> bool:
    if isinstance(value, str):
        return _SURROGATE.search(value) is not None
    if isinstance(value, dict):
        return any(_has_surrogate(k) or _has_surrogate(v) for k, v in value.items())
    return isinstance(value, list) and any(map(_has_surrogate, value))


def _check(value: Json, depth: int) -> None:
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return
    if kind is int:
        if abs(value) > JSON_INT_MAX:
            raise _wrong("an integer beyond 2^53-1")
    elif depth >= JSON_DEPTH_MAX:
        raise _wrong(f"nested deeper than {JSON_DEPTH_MAX}")
    elif kind is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                raise _wrong("an object whose keys are not ASCII text")
            _check(item, depth + 1)
    elif kind is list or kind is tuple:
        for item in value:
            _check(item, depth + 1)
    else:
        raise _wrong(f"of a type that JSON with integers does not have ({kind.__name__})")
