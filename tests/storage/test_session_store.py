"""Browser sessions and login links: a link opens one session, whoever comes at once."""

import asyncio
from dataclasses import replace

import pytest

from mesh import stores
from mesh.storage.database import Database
from mesh.storage.session_store import DiskSessionStore
from mesh.stores import SessionRow

SESSION = SessionRow(
    session_id="s1",
    secret_sha256="aa",
    created_at_ms=1,
    last_seen_at_ms=1,
    expires_at_ms=100,
    user_agent="A browser",
)


@pytest.fixture
def store(database: Database) -> stores.SessionStore:
    return DiskSessionStore(database)


async def test_sessions_are_kept_replaced_and_ended(store: stores.SessionStore) -> None:
    other = replace(SESSION, session_id="s0", secret_sha256="bb", created_at_ms=2)
    await store.put(other)
    await store.put(SESSION)
    assert await store.all() == (SESSION, other)
    seen = replace(SESSION, last_seen_at_ms=50)
    await store.put(seen)
    assert await store.all() == (seen, other)
    assert await store.delete("s1")
    assert not await store.delete("s1")
    assert await store.all() == (other,)


async def test_a_login_link_is_spent_once_under_a_race(store: stores.SessionStore) -> None:
    """Situation 63: twenty at once, exactly one succeeds."""
    await store.put_login("aa", expires_at_ms=100)
    spent: list[bool] = []

    async def spend() -> None:
        spent.append(await store.spend_login("aa", now_ms=99))

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(spend())
    assert sorted(spent) == [False] * 19 + [True]


async def test_a_login_link_expires_at_its_instant(store: stores.SessionStore) -> None:
    await store.put_login("aa", expires_at_ms=100)
    await store.put_login("bb", expires_at_ms=101)
    assert not await store.spend_login("aa", now_ms=100)
    # An expired link does not come back with a clock that goes back.
    assert not await store.spend_login("aa", now_ms=99)
    assert await store.spend_login("bb", now_ms=100)
    assert not await store.spend_login("cc", now_ms=0)
