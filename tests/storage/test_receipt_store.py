"""Receipts on disk: one id, one answer, and no step that the table does not have."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from mesh import stores
from mesh.core.errors import Refused
from mesh.storage.database import Database
from mesh.storage.receipt_store import DiskReceiptStore
from mesh.stores import ReceiptRow


def receipt(request_id: str = "q1", at_ms: int = 1, **changes: str) -> ReceiptRow:
    row = ReceiptRow(
        request_id=request_id,
        operation="invitations.accept",
        owner="operator",
        input_sha256="aa",
        status="pending",
        reason="",
        message="",
        result={},
        state={"step": 1, "note": "\u00e9"},
        created_at_ms=at_ms,
        updated_at_ms=at_ms,
    )
    return replace(row, **changes)  # type: ignore[arg-type]


@pytest.fixture
def store(database: Database) -> stores.ReceiptStore:
    return DiskReceiptStore(database)


async def test_the_same_id_and_input_answer_the_stored_receipt(store: stores.ReceiptStore) -> None:
    assert await store.open(receipt()) == receipt()
    applied = await store.update("q1", status="applied", result={"seq": 7}, now_ms=9)
    assert await store.open(receipt(at_ms=50)) == applied
    assert applied == replace(receipt(), status="applied", result={"seq": 7}, updated_at_ms=9)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"input_sha256": "bb"}, "conflict"),
        ({"operation": "peers.invite"}, "conflict"),
        ({"owner": "stranger"}, "not_found"),
    ],
)
async def test_another_use_of_an_id_is_refused(
    store: stores.ReceiptStore, changes: dict[str, str], reason: str
) -> None:
    await store.open(receipt())
    with pytest.raises(Refused) as refused:
        await store.open(receipt(**changes))  # type: ignore[arg-type]
    assert refused.value.reason == reason
    assert await store.get("q1", "operator") == receipt()


async def test_of_twenty_openers_one_stores_its_row(store: stores.ReceiptStore) -> None:
    answers: list[ReceiptRow] = []

    async def open_one(number: int) -> None:
        answers.append(await store.open(receipt(at_ms=number)))

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(open_one(number))
    assert Counter(answer.created_at_ms for answer in answers) == {0: 20}


async def test_a_receipt_is_its_owners(store: stores.ReceiptStore) -> None:
    await store.open(receipt())
    assert await store.get("q1", "operator") == receipt()
    assert await store.get("q1", "stranger") is None
    assert await store.get("q2", "operator") is None


async def test_steps_follow_the_table(store: stores.ReceiptStore) -> None:
    await store.open(receipt())
    noted = await store.update("q1", status="pending", state={"step": 2}, now_ms=2)
    assert (noted.status, noted.state, noted.result) == ("pending", {"step": 2}, {})
    lost = await store.update("q1", status="uncertain", reason="interrupted", now_ms=3)
    assert (lost.status, lost.reason, lost.state) == ("uncertain", "interrupted", {"step": 2})
    with pytest.raises(AssertionError, match="from uncertain to applied"):
        await store.update("q1", status="applied", now_ms=4)
    assert await store.get("q1", "operator") == lost
    proved = await store.update("q1", status="applied", proved=True, now_ms=5)
    assert proved.status == "applied"
    with pytest.raises(AssertionError, match="from applied to rejected"):
        await store.update("q1", status="rejected", proved=True, now_ms=6)


async def test_an_unknown_receipt_cannot_be_moved(store: stores.ReceiptStore) -> None:
    with pytest.raises(Refused) as refused:
        await store.update("q1", status="applied", now_ms=1)
    assert refused.value.reason == "not_found"


async def test_unfinished_receipts_are_found_after_a_restart(path: Path) -> None:
    async with Database(path) as database:
        store = DiskReceiptStore(database)
        for request_id, at_ms in (("q3", 3), ("q1", 1), ("q2", 2), ("q4", 4)):
            await store.open(receipt(request_id, at_ms))
        await store.update("q2", status="applied", now_ms=9)
        await store.update("q4", status="uncertain", now_ms=9)
    async with Database(path) as database:
        rows = await DiskReceiptStore(database).unfinished()
    assert rows == (receipt("q1", 1), receipt("q3", 3))
