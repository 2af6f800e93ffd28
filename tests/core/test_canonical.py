"""Strict JSON in, canonical JSON out: one reading of every input, or none."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mesh.core import canonical
from mesh.core.errors import Malformed
from mesh.core.limits import JSON_DEPTH_MAX, JSON_INT_MAX, JSON_KEYS_MAX, RPC_BYTES_MAX

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
KEYS = st.text(st.characters(max_codepoint=127), max_size=6)
NUMBERS = st.integers(-JSON_INT_MAX, JSON_INT_MAX)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)

QUICK = settings(max_examples=40, deadline=None)


def rfc8785(value: Any) -> str:
    """RFC 8785 written down a second time, from its text: sorted keys, the shortest escapes."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    if isinstance(value, list):
        return "[" + ",".join(map(rfc8785, value)) + "]"
    # Keys are sorted as arrays of UTF-16 code units (RFC 8785, 3.2.3).
    keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
    return "{" + ",".join(f"{rfc8785(key)}:{rfc8785(value[key])}" for key in keys) + "}"


def _escaped(character: str) -> str:
    short = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
    code = ord(character)
    return short.get(code) or (f"\\u{code:04x}" if code < 0x20 else character)


@QUICK
@given(JSON)
@example("\x7f\x00\x1f\u2028\ue000\U0001f600</script>")
@example({"b": 1, "a": {"B": [], "A": {}}, "": None})
def test_bytes_are_those_of_the_rfc_and_come_back_as_they_were(value: Any) -> None:
    data = canonical.encode(value)
    assert data == rfc8785(value).encode()
    assert canonical.decode(data) == value
    assert canonical.is_canonical(data, value)


@QUICK
@given(JSON, st.integers(0, 3))
def test_another_spelling_is_read_alike_and_is_not_canonical(value: Any, indent: int) -> None:
    data = json.dumps(value, ensure_ascii=True, indent=indent).encode()
    assert canonical.decode(data) == value
    assert canonical.is_canonical(data, value) == (data == canonical.encode(value))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=40))
def test_whatever_is_read_is_what_the_standard_reader_reads(data: bytes) -> None:
    try:
        value = canonical.decode(data)
    except Malformed:
        return
    assert value == json.loads(data)


REFUSED = {
    "a key twice": b'{"epoch":3,"epoch":9}',
    "a key twice, inside": b'[{"a":{"epoch":3,"epoch":9}}]',
    "a key twice, once escaped": b'{"epoch":3,"\\u0065poch":9}',
    "a float": b"1.0",
    "an exponent": b"1e3",
    "an exponent, capital": b"1E3",
    "a big exponent": b"1e400",
    "minus zero": b"-0",
    "minus zero, inside": b'{"a":[-0]}',
    "NaN": b"NaN",
    "Infinity": b"Infinity",
    "minus Infinity": b"[-Infinity]",
    "2^53": b"9007199254740992",
    "minus 2^53": b"-9007199254740992",
    "many digits": b"1" * 5_000,
    "a leading zero": b"01",
    "a leading zero, negative": b"-01",
    "a plus": b"+1",
    "a byte order mark": b"\xef\xbb\xbf1",
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "trailing bytes": b"{} {}",
    "a trailing null": b"{}\0",
    "a trailing comma": b"[1,]",
    "a comment": b"{}//",
    "a comment inside": b"[/**/]",
    "single quotes": b"{'a':1}",
    "no quotes": b"{a:1}",
    "nothing": b"",
    "white space": b" \n",
    "overlong slash": b'"\xc0\xaf"',
    "overlong null": b'"\xe0\x80\x80"',
    "beyond Unicode": b'"\xf4\x90\x80\x80"',
    "a cut character": b'"\xe2\x82"',
    "a raw surrogate": b'"\xed\xa0\x80"',
    "a raw pair of surrogates": b'"\xed\xa0\xbd\xed\xb8\x80"',
    "a high surrogate": b'"\\ud800"',
    "a low surrogate": b'"\\udc00"',
    "a pair the wrong way": b'"\\udc00\\ud800"',
    "a surrogate in a key": b'{"\\ud800":1}',
    "a surrogate inside": b'[{"a":["x\\udfff"]}]',
    "a raw line break": b'"a\nb"',
    "a raw null": b'"\0"',
    "an unknown escape": b'"\\x41"',
    "an unfinished escape": b'"\\u12"',
    "an unfinished string": b'"abc',
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_what_could_be_read_in_two_ways_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed) as refused:
        canonical.decode(data)
    assert (refused.value.reason, refused.value.status) == ("invalid_params", 422)


def test_what_is_strict_is_read() -> None:
    assert canonical.decode(b" [0, -1,9007199254740991,-9007199254740991]\n") == [
        0, -1, JSON_INT_MAX, -JSON_INT_MAX,
    ]
    assert canonical.decode(b'"\\ud83d\\ude00 \\u0000 \\/"') == "\U0001f600 \0 /"
    assert canonical.decode('"e\u0301"'.encode()) == "e\u0301", "text is kept as it was sent"


UNWRITABLE: dict[str, Any] = {
    "a float": 1.0,
    "NaN": float("nan"),
    "2^53": JSON_INT_MAX + 1,
    "a surrogate": ["\ud800"],
    "a surrogate as key": {"\ud800": 1},
    "a key that is a number": {1: 1},
    "a key beyond ASCII": {"\xe9": 1},
    "bytes": b"a",
    "a set": {1},
}


@pytest.mark.parametrize("value", UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_json_with_integers_does_not_have_is_not_written(value: Any) -> None:
    with pytest.raises(Malformed):
        canonical.encode(value)


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_reader_and_writer_agree_about_the_depth() -> None:
    deepest = canonical.encode(nested(JSON_DEPTH_MAX))
    assert canonical.decode(deepest) == nested(JSON_DEPTH_MAX)
    with pytest.raises(Malformed):
        canonical.encode(nested(JSON_DEPTH_MAX + 1))
    with pytest.raises(Malformed):
        canonical.decode(b"[" + deepest + b"]")
    wide = [nested(JSON_DEPTH_MAX - 1)] * 3 + [{"a": "[[[[[[[[[{{{{{{{{\\\"[[["}] * 3
    assert canonical.decode(canonical.encode(wide)) == wide


def test_brackets_in_text_are_no_depth() -> None:
    text = '["[{' * 1_000 + '\\"\\\\' * 100
    assert canonical.decode(canonical.encode({"text": text})) == {"text": text}


def cpu_ms(call: Callable[[], object]) -> float:
    """What a call costs, at best of three, in milliseconds of this process."""
    costs = []
    for _ in range(3):
        before_s = time.process_time()
        call()
        costs.append((time.process_time() - before_s) * 1_000)
    return min(costs)


MANY_KEYS = b"{" + b",".join(b'"%d":1' % n for n in range(JSON_KEYS_MAX + 1)) + b"}"
COSTLY = {
    "depth 10^5": b"[" * 100_000,
    "depth 10^5, objects": b'{"a":' * 100_000,
    "10^6 keys": b"{" + b",".join(b'"%d":1' % n for n in range(1_000_000)) + b"}",
    "too many keys": MANY_KEYS,
    "100 MB of digits": b"9" * 100_000_000,
    "a megabyte of digits": b"9" * RPC_BYTES_MAX,
    # Each quote was once a new beginning, so this cost the square of its length.
    "an unfinished string": b"[" + b"[]," * 17 + b'"' + b'\\"' * 100_000,
    "an unfinished escape": b"[" + b"[]," * 17 + b'"' + b'\\"' * 100_000 + b"\\",
}


@pytest.mark.parametrize("data", COSTLY.values(), ids=COSTLY)
def test_what_is_too_much_is_refused_at_little_cost(data: bytes) -> None:
    def refuse() -> None:
        with pytest.raises(Malformed) as refused:
            canonical.decode(data)
        expected = "too_large" if len(data) > RPC_BYTES_MAX else "invalid_params"
        assert refused.value.reason == expected

    assert cpu_ms(refuse) < 50


def test_an_object_is_asked_for_by_name() -> None:
    assert canonical.decode_object(b'{"a":1}') == {"a": 1}
    for data in (b"[]", b"null", b'"a"', b"1"):
        with pytest.raises(Malformed):
            canonical.decode_object(data)
    with pytest.raises(Malformed) as refused:
        canonical.decode_object(b'{"a":1}', 6)
    assert refused.value.reason == "too_large"
