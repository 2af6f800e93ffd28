"""The one table of receipts. The rules are in `core.receipt`; here they meet the disk.

Opening is one transaction, so of two callers with one id exactly one stores its row and both
get the same answer.
"""

import functools
import sqlite3
from typing import Any, Final

from mesh.core import canonical, receipt
from mesh.core.errors import Refused
from mesh.core.receipt import Claim, Status
from mesh.storage.database import Database
from mesh.stores import ReceiptRow

_COLUMNS: Final = (
    "request_id, operation, owner, input_sha256, status, reason, message, result, state,"
    " created_at_ms, updated_at_ms"
)
_BY_ID: Final = f"SELECT {_COLUMNS} FROM receipts WHERE request_id = ?"


class DiskReceiptStore:
    """`stores.ReceiptStore` on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, row: ReceiptRow) -> ReceiptRow:
        """Store `row` if the id is new and return it; else return the stored row, unchanged.

        Raises:
            Refused: `conflict` for the same id with other input or another operation;
                `not_found` when the id belongs to another owner.
        """
        assert row.status == Status.PENDING, "a receipt begins as pending"
        return await self._database.write(functools.partial(_open, row=row))

    async def update(
        self,
        request_id: str,
        *,
        status: str,
        reason: str = "",
        message: str = "",
        result: dict[str, Any] | None = None,
        state: dict[str, Any] | None = None,
        proved: bool = False,
        now_ms: int,
    ) -> ReceiptRow:
        """Move a receipt forward; `result` and `state` stay as they are where None.

        Raises:
            AssertionError: there is no such step.
            Refused: reason `not_found`, there is no such receipt.
        """
        job = functools.partial(
            _update,
            request_id=request_id,
            to=Status(status),
            proved=proved,
            texts=(reason, message),
            result=None if result is None else canonical.encode(result),
            state=None if state is None else canonical.encode(state),
            now_ms=now_ms,
        )
        return await self._database.write(job)

    async def get(self, request_id: str, owner: str) -> ReceiptRow | None:
        """The receipt, if it is that owner's."""
        row = await self._database.read(
            lambda connection: connection.execute(
                f"{_BY_ID} AND owner = ?", (request_id, owner)
            ).fetchone()
        )
        return None if row is None else _receipt(row)

    async def unfinished(self) -> tuple[ReceiptRow, ...]:
        """Receipts that are still pending, oldest first."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                f"SELECT {_COLUMNS} FROM receipts WHERE status = 'pending'"
                " ORDER BY created_at_ms, rowid"
            ).fetchall()
        )
        return tuple(map(_receipt, rows))


def _open(connection: sqlite3.Connection, *, row: ReceiptRow) -> ReceiptRow:
    found = connection.execute(_BY_ID, (row.request_id,)).fetchone()
    if found is not None:
        stored = _receipt(found)
        receipt.same_or_refuse(_claim(stored), _claim(row))
        return stored
    connection.execute(
        f"INSERT INTO receipts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row.request_id,
            row.operation,
            row.owner,
            row.input_sha256,
            row.status,
            row.reason,
            row.message,
            canonical.encode(row.result),
            canonical.encode(row.state),
            row.created_at_ms,
            row.updated_at_ms,
        ),
    )
    return row


def _update(
    connection: sqlite3.Connection,
    *,
    request_id: str,
    to: Status,
    proved: bool,
    texts: tuple[str, str],
    result: bytes | None,
    state: bytes | None,
    now_ms: int,
) -> ReceiptRow:
    found = connection.execute(_BY_ID, (request_id,)).fetchone()
    if found is None:
        raise Refused("not_found", "There is no receipt with this request_id.")
    receipt.step(Status(_receipt(found).status), to, proved=proved)
    connection.execute(
        "UPDATE receipts SET status = ?, reason = ?, message = ?, result = coalesce(?, result),"
        " state = coalesce(?, state), updated_at_ms = ? WHERE request_id = ?",
        (to.value, *texts, result, state, now_ms, request_id),
    )
    return _receipt(connection.execute(_BY_ID, (request_id,)).fetchone())


def _claim(row: ReceiptRow) -> Claim:
    return Claim(operation=row.operation, owner=row.owner, input_sha256=row.input_sha256)


def _receipt(row: tuple[Any, ...]) -> ReceiptRow:
    return ReceiptRow(
        request_id=row[0],
        operation=row[1],
        owner=row[2],
        input_sha256=row[3],
        status=row[4],
        reason=row[5],
        message=row[6],
        result=canonical.decode_object(row[7]),
        state=canonical.decode_object(row[8]),
        created_at_ms=row[9],
        updated_at_ms=row[10],
    )
