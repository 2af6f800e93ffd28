"""Memory: each line once, bounded, the same after a restart and after a crash."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import memory as memory_module
from gateway.errors import MemoryUnwritable
from gateway.limits import ROOM_LINES_BYTES_MAX, ROOM_LINES_MAX, ROOMS_IN_MEMORY_MAX
from gateway.memory import Memory, RoomLines
from tests.gateway.a_room import line, request


def seqs(lines: tuple[object, ...]) -> list[int]:
    """The seqs of lines, in their order."""
    return [one.seq for one in lines]  # type: ignore[attr-defined]


def test_a_line_enters_once() -> None:
    lines = RoomLines()
    assert lines.add(line(2, "b"))
    assert lines.add(line(1, "a"))
    assert not lines.add(line(2, "b"))
    assert seqs(lines.in_order()) == [1, 2]


def test_a_rewound_room_forgets_the_other_branch() -> None:
    lines = RoomLines()
    for seq in (1, 2, 3, 4):
        lines.add(line(seq, "old"))
    assert lines.add(line(3, "new", event_id="other"))
    assert [(one.seq, one.text) for one in lines.in_order()] == [
        (1, "old"),
        (2, "old"),
        (3, "new"),
    ]


def test_the_oldest_lines_go_first_by_number_and_by_bytes() -> None:
    lines = RoomLines()
    for seq in range(1, ROOM_LINES_MAX + 3):
        lines.add(line(seq, "x"))
    assert seqs(lines.in_order())[0] == 3
    assert not lines.add(line(1, "x")), "what was forgotten stays forgotten"
    lines.add(line(ROOM_LINES_MAX + 3, "x" * (ROOM_LINES_BYTES_MAX - 400)))
    assert seqs(lines.in_order()) == [ROOM_LINES_MAX + 3]


@given(st.lists(st.lists(st.integers(1, 30), min_size=1, unique=True).map(sorted), max_size=8))
def test_fifty_reconnects_change_nothing(batches: list[list[int]]) -> None:
    once, often = RoomLines(), RoomLines()
    for batch in batches:
        for seq in batch:
            once.add(line(seq, "x"))
        for seq in batch * 2:
            often.add(line(seq, "x"))
    assert once.in_order() == often.in_order()


def test_what_was_given_is_there_after_a_restart_and_is_not_taken_twice(tmp_path: Path) -> None:
    given_lines = [line(1, "a"), line(2, "grin 😀\nand a line")]
    kept = Memory(tmp_path).remember(request("hello", given_lines, seq=3))
    again = Memory(tmp_path)
    assert again.remember(request("hello", given_lines, seq=3)) == kept
    assert seqs(kept) == [1, 2, 3]
    (file,) = tmp_path.iterdir()
    assert len(file.read_bytes().splitlines()) == 3


def test_rooms_are_kept_apart(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.remember(request("the code is 1234", seq=1, room_id="a"))
    assert seqs(memory.remember(request("what is it?", seq=5, room_id="b"))) == [5]


@pytest.mark.parametrize("room_id", ["../../up", "/", "", "x" * 5_000])
def test_a_room_cannot_choose_its_file(tmp_path: Path, room_id: str) -> None:
    state = tmp_path / "state"
    Memory(state).remember(request("hello", room_id=room_id))
    assert [path.parent for path in tmp_path.rglob("*.jsonl")] == [state]


def test_a_row_that_a_crash_cut_costs_itself_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Memory(tmp_path).remember(request("c", [line(1, "a"), line(2, "b")], seq=3))
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-20])
    Memory(tmp_path).remember(request("d", seq=4))
    assert seqs(Memory(tmp_path).remember(request("e", seq=5))) == [1, 2, 4, 5]
    assert "1 rows" in caplog.text


def test_a_file_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "ROOM_LINES_BYTES_MAX", 4_000)
    memory = Memory(tmp_path)
    for seq in range(1, 60):
        memory.remember(request("x" * 100, seq=seq))
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size < 3 * 4_000
    kept = memory.remember(request("last", seq=60))
    assert 3 <= len(kept) <= 12
    assert Memory(tmp_path).remember(request("last", seq=60)) == kept


def test_a_room_that_left_memory_comes_back_from_its_file(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    for number in range(ROOMS_IN_MEMORY_MAX + 1):
        memory.remember(request("first", seq=1, room_id=f"r{number}"))
    assert len(memory._rooms) == ROOMS_IN_MEMORY_MAX
    assert seqs(memory.remember(request("second", seq=2, room_id="r0"))) == [1, 2]


def test_a_disk_that_refuses_is_named_and_nothing_is_pretended(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("a file where the directory should be")
    memory = Memory(state)
    for _ in range(2):
        with pytest.raises(MemoryUnwritable):
            memory.remember(request("hello"))
    state.unlink()
    assert seqs(memory.remember(request("hello"))) == [100]
