"""The audit has teeth: each broken promise is found, and named."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.netns import audit
from tests.netns.account_book import AccountBook


def event(event_id: str, seq: int, **changed: Any) -> dict[str, Any]:
    """An event as `groups.log` shows it, as far as the audit looks."""
    said = {"event_id": event_id, "seq": seq, "hash": f"hash {seq}", "kind": "message.user"}
    return {**said, **changed}


@pytest.fixture
def book(tmp_path: Path) -> Iterator[AccountBook]:
    """Two acknowledged ids and a queued one, of one sender."""
    with AccountBook(tmp_path / "ledger.jsonl") as made:
        for seq, event_id in enumerate(("e_one", "e_two"), 1):
            made.offer(event_id, "laptop 1")
            made.answer(event_id, {"accepted": True, "event": event(event_id, seq)})
        made.offer("e_three", "laptop 1")
        made.answer("e_three", {"accepted": False, "queued": True, "state": "waiting"})
        yield made


WHOLE = [event("e_one", 1), event("e_two", 2), event("e_three", 3)]


def test_kept_promises_are_no_findings(book: AccountBook) -> None:
    assert audit.judge(book, WHOLE, {}).are_none
    assert audit.judge(book, WHOLE[:2], {"e_three": "not_member"}).are_none


@pytest.mark.parametrize(
    ("events", "refused", "named", "ids"),
    [
        ([WHOLE[0], WHOLE[2]], {}, "missing", ["e_two"]),
        ([*WHOLE, event("e_two", 4)], {}, "twice", ["e_two"]),
        ([WHOLE[0], event("e_two", 2, hash="another"), WHOLE[2]], {}, "moved", ["e_two"]),
        (WHOLE[:2], {}, "unanswered", ["e_three"]),
        (WHOLE[:2], {"e_three": ""}, "unanswered", ["e_three"]),
        ([*WHOLE, event("e_four", 4)], {}, "foreign", ["e_four"]),
        ([event("e_three", 0), *WHOLE[:2]], {}, "unordered", ["e_three"]),
    ],
)
def test_a_broken_promise_is_found(
    book: AccountBook,
    events: list[dict[str, Any]],
    refused: dict[str, str],
    named: str,
    ids: list[str],
) -> None:
    findings = audit.judge(book, events, refused)
    assert not findings.are_none
    assert list(getattr(findings, named)) == ids


def test_logs_that_differ_are_told_apart() -> None:
    audit.assert_identical({"a": WHOLE, "b": list(WHOLE)})
    for other in (WHOLE[:2], [*WHOLE[:2], event("e_three", 3, hash="another")]):
        with pytest.raises(AssertionError, match="a"):
            audit.assert_identical({"a": WHOLE, "b": other})


def test_the_book_is_on_the_disk_as_it_is_written(book: AccountBook, tmp_path: Path) -> None:
    lines = (tmp_path / "ledger.jsonl").read_text().splitlines()
    assert len(lines) == 6
    assert '"acknowledged": "e_two"' in lines[3]
    assert '"queued": "e_three"' in lines[5]
