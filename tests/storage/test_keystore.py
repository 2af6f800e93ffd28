"""The install's key and the owner's key, and everything that makes them unusable."""

import os
from pathlib import Path

import pytest

from mesh.core.errors import Malformed, MeshError, Refused
from mesh.core.identity import verify
from mesh.storage import keystore, private_file
from mesh.storage.keystore import OWNER_ENTROPY_BYTES, Effort, create_owner_key, open_owner_key

QUICK = Effort(ops=1, memory_bytes=8192)
ENTROPY = bytes(range(OWNER_ENTROPY_BYTES))


def no_entropy(count: int) -> bytes:
    raise AssertionError("a key was made where one was there")


def refused(home: Path) -> str:
    with pytest.raises(MeshError) as caught:
        keystore.open_identity(home, no_entropy)
    assert caught.value.reason == "key_unsafe"
    return caught.value.message


def test_the_identity_is_made_once_and_kept(tmp_path: Path) -> None:
    first = keystore.open_identity(tmp_path, lambda count: b"\x07" * count)
    again = keystore.open_identity(tmp_path, no_entropy)
    assert again == first
    assert first.chain.current == first.key.public
    assert first.chain.install_id.startswith("install:")
    text = (tmp_path / keystore.IDENTITY).read_text()
    assert text == f"roommesh install key 1\n{'07' * 32}\n"


def test_the_secret_is_not_in_the_words_for_it(tmp_path: Path) -> None:
    identity = keystore.open_identity(tmp_path, lambda count: b"\x07" * count)
    assert "07" * 8 not in repr(identity)


@pytest.mark.parametrize("keep_bytes", range(0, 88, 8))
def test_a_key_cut_short_is_refused(tmp_path: Path, keep_bytes: int) -> None:
    keystore.open_identity(tmp_path, os.urandom)
    path = tmp_path / keystore.IDENTITY
    path.write_bytes(path.read_bytes()[:keep_bytes])
    assert "restore it from a backup" in refused(tmp_path)


def test_a_key_open_to_others_or_reached_by_a_link_is_refused(tmp_path: Path) -> None:
    keystore.open_identity(tmp_path, os.urandom)
    path = tmp_path / keystore.IDENTITY
    path.chmod(0o644)
    assert f"chmod 600 {path}" in refused(tmp_path)
    path.chmod(0o600)
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    assert "symbolic link" in refused(tmp_path)


def test_no_new_identity_is_made_beside_rooms(tmp_path: Path) -> None:
    (tmp_path / keystore.DATABASE).touch()
    assert "is missing" in refused(tmp_path)
    assert not (tmp_path / keystore.IDENTITY).exists()


def test_the_owner_key_opens_with_its_phrase(tmp_path: Path) -> None:
    assert keystore.owner_public(tmp_path) is None
    phrase = create_owner_key(tmp_path, ENTROPY, effort=QUICK)
    key = open_owner_key(tmp_path, f"  {phrase.lower()} ")
    assert key.public == keystore.owner_public(tmp_path)
    assert verify(key.public, "node", b"x", key.sign("node", b"x"))
    data = (tmp_path / keystore.OWNER).read_bytes()
    assert ENTROPY[:32].hex().encode() not in data
    assert phrase.encode() not in data


def test_the_usual_effort_is_moderate_and_works(tmp_path: Path) -> None:
    phrase = create_owner_key(tmp_path, ENTROPY)
    text = (tmp_path / keystore.OWNER).read_text()
    assert f" {Effort().ops} {256 << 20} " in text
    assert open_owner_key(tmp_path, phrase).public == keystore.owner_public(tmp_path)


def test_another_phrase_is_refused_and_a_slip_is_told_apart(tmp_path: Path) -> None:
    phrase = create_owner_key(tmp_path, ENTROPY, effort=QUICK)
    (tmp_path / "other").mkdir()
    other = create_owner_key(tmp_path / "other", ENTROPY[::-1], effort=QUICK)
    with pytest.raises(Refused) as caught:
        open_owner_key(tmp_path, other)
    assert caught.value.reason == "forbidden"
    with pytest.raises(Malformed):
        open_owner_key(tmp_path, ("1" if phrase[0] != "1" else "2") + phrase[1:])


def test_an_owner_key_is_never_replaced(tmp_path: Path) -> None:
    create_owner_key(tmp_path, ENTROPY, effort=QUICK)
    before = (tmp_path / keystore.OWNER).read_bytes()
    with pytest.raises(FileExistsError):
        create_owner_key(tmp_path, ENTROPY[::-1], effort=QUICK)
    assert (tmp_path / keystore.OWNER).read_bytes() == before


def test_the_phrase_is_shown_before_the_key_is_stored(tmp_path: Path) -> None:
    stored: list[bool] = []
    create_owner_key(
        tmp_path,
        ENTROPY,
        show=lambda _: stored.append((tmp_path / keystore.OWNER).exists()),
        effort=QUICK,
    )
    assert stored == [False]


@pytest.mark.parametrize("field", ["ops", "memory", "box"])
def test_an_owner_key_that_was_not_made_here_is_refused(tmp_path: Path, field: str) -> None:
    phrase = create_owner_key(tmp_path, ENTROPY, effort=QUICK)
    path = tmp_path / keystore.OWNER
    words = path.read_text().split(" ")
    place, value = {"ops": (5, "99"), "memory": (6, "9999999999"), "box": (7, "00\n")}[field]
    words[place] = value
    private_file.replace(path, " ".join(words).encode())
    with pytest.raises(MeshError) as caught:
        open_owner_key(tmp_path, phrase)
    assert caught.value.reason == "key_unsafe"
