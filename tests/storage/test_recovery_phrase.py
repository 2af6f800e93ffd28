"""The phrase a person copies from paper."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Malformed
from mesh.storage.recovery_phrase import ENTROPY_BYTES, entropy_of, phrase_of

# Frozen: a phrase on paper must open its key for ever.
VECTOR = "000 G40 R40 M30 E20 918 5GR 38E 1W8 124 GK5 HQD"


def test_it_is_twelve_groups_of_three() -> None:
    phrase = phrase_of(bytes(range(ENTROPY_BYTES)))
    assert phrase == VECTOR


@given(st.binary(min_size=ENTROPY_BYTES, max_size=ENTROPY_BYTES))
def test_it_comes_back(entropy: bytes) -> None:
    assert entropy_of(phrase_of(entropy)) == entropy


def test_spelling_does_not_matter() -> None:
    entropy = b"\x00" * 19 + b"\x01"
    phrase = phrase_of(entropy)
    assert "0" in phrase
    spoken = phrase.lower().replace("0", "o").replace("1", "l").replace(" ", "-")
    assert entropy_of(f"  {spoken}\n") == entropy


@given(
    st.binary(min_size=ENTROPY_BYTES, max_size=ENTROPY_BYTES),
    st.integers(min_value=0, max_value=35),
    st.integers(min_value=1, max_value=31),
)
def test_a_slip_of_the_pen_is_noticed(entropy: bytes, place: int, shift: int) -> None:
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    text = list(phrase_of(entropy).replace(" ", ""))
    text[place] = alphabet[(alphabet.index(text[place]) + shift) % 32]
    # 20 bits of checksum: one slip in a million passes, and then gives other bytes.
    try:
        assert entropy_of("".join(text)) != entropy
    except Malformed as error:
        assert "mistyped" in error.message


@pytest.mark.parametrize("phrase", ["", "ABC", "000 " * 13, "U" * 36, "é" * 36])
def test_what_is_no_phrase_is_refused(phrase: str) -> None:
    with pytest.raises(Malformed):
        entropy_of(phrase)
