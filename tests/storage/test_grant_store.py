"""Loans and grants: an id once, a revocation for ever, both at once."""

import sqlite3
from dataclasses import replace

import pytest

from mesh import stores
from mesh.core.errors import Refused
from mesh.storage.database import Database
from mesh.storage.grant_store import DiskGrantStore
from mesh.stores import GrantRow, LoanRow
from tests.storage.logs import INSTALL, MEMBER, ROOM

LOAN = LoanRow(
    room_id=ROOM,
    member_id=MEMBER,
    profile="scribe",
    permissions=("dispatch", "stop"),
    until_ms=100,
    policy_digest="p",
    catalog_digest="c",
    created_at_ms=1,
)


def grant(number: int, direction: str = "issued", member_id: str = MEMBER) -> GrantRow:
    return GrantRow(
        grant_id=f"g_{number:032x}",
        direction=direction,
        room_id=ROOM,
        member_id=member_id,
        profile="scribe",
        permissions=("dispatch",),
        home_install_id=INSTALL,
        target_install_id=INSTALL,
        issued_at_ms=number,
        expires_at_ms=100,
        token=b"a.b.c\x00",
        catalog={"id": "scribe", "methods": ["x"]},
    )


@pytest.fixture
def store(database: Database) -> stores.GrantStore:
    return DiskGrantStore(database)


async def test_a_loan_is_replaced_by_a_new_consent(store: stores.GrantStore) -> None:
    await store.put_loan(LOAN)
    assert await store.loans() == (LOAN,)
    await store.revoke(ROOM, MEMBER, 50)
    assert await store.loans() == (replace(LOAN, withdrawn_at_ms=50),)
    again = replace(LOAN, until_ms=900, created_at_ms=60)
    await store.put_loan(again)
    assert await store.loans() == (again,)


async def test_a_grant_id_is_used_once(store: stores.GrantStore) -> None:
    await store.put_grant(grant(1))
    with pytest.raises(Refused) as refused:
        await store.put_grant(replace(grant(1), profile="another"))
    assert refused.value.reason == "conflict"
    await store.put_grant(grant(1, "held"))  # we lend to our own room
    assert await store.grants() == (grant(1), grant(1, "held"))


async def test_revoking_ends_the_loan_and_all_its_grants(store: stores.GrantStore) -> None:
    other = "m_" + "9" * 32
    await store.put_loan(LOAN)
    for row in (grant(1), grant(1, "held"), grant(2), grant(3, member_id=other)):
        await store.put_grant(row)
    assert await store.revoke(ROOM, MEMBER, 50) == (grant(1).grant_id, grant(2).grant_id)
    assert await store.revoke(ROOM, MEMBER, 60) == ()
    revoked = {row.grant_id: row.revoked_at_ms for row in await store.grants()}
    assert revoked == {grant(1).grant_id: 50, grant(2).grant_id: 50, grant(3).grant_id: None}
    assert (await store.loans())[0].withdrawn_at_ms == 50


async def test_a_revoked_grant_stays_revoked_whatever_runs(
    database: Database, store: stores.GrantStore
) -> None:
    await store.put_grant(grant(1))
    await store.revoke(ROOM, MEMBER, 50)
    with pytest.raises(Refused):
        await store.put_grant(grant(1))
    for statement in ("UPDATE grants SET revoked_at_ms = NULL", "DELETE FROM grants"):
        with pytest.raises(sqlite3.IntegrityError):
            await database.write(lambda c, s=statement: c.execute(s))  # type: ignore[misc]
    assert (await store.grants())[0].revoked_at_ms == 50


async def test_the_last_use_never_goes_back(store: stores.GrantStore) -> None:
    await store.put_grant(grant(1))
    for now_ms in (5, 9, 7):
        await store.used(grant(1).grant_id, now_ms)
    assert (await store.grants())[0].last_used_at_ms == 9
