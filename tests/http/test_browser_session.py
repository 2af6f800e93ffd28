"""A link opens one session; the session slides, is written rarely, and ends when told."""

import hashlib

import pytest

from mesh.core.errors import Refused
from mesh.core.limits import BROWSER_SESSION_S, BROWSER_SESSIONS_MAX, LOGIN_LINK_S
from mesh.http.browser_session import BrowserSessions
from tests.http.edge import INSTALL, CountedEntropy, FakeStore, HandClock

HOUR_S = 3_600
DAY_S = 24 * HOUR_S


class World:
    """Sessions over a fake store."""

    def __init__(self) -> None:
        self.store, self.clock, self.entropy = FakeStore(), HandClock(), CountedEntropy()
        self.sessions = self.restart()

    def restart(self) -> BrowserSessions:
        self.sessions = BrowserSessions(
            store=self.store,
            clock=self.clock,
            entropy=self.entropy,
            install_id=INSTALL,
            url=lambda: "http://127.0.0.1:7420",
        )
        return self.sessions

    async def log_in(self) -> str:
        link, _ = await self.sessions.login_link()
        return await self.sessions.log_in(link.partition("#login=")[2], "Browser/1")


@pytest.fixture
def world() -> World:
    return World()


async def test_the_cookie_is_named_by_the_install(world: World) -> None:
    assert world.sessions.cookie_name == "roommesh_0123abcd"


async def test_a_link_carries_its_secret_in_the_fragment(world: World) -> None:
    link, expires_at_ms = await world.sessions.login_link()
    assert link.startswith("http://127.0.0.1:7420/#login=")
    assert expires_at_ms == world.clock.wall_ms + LOGIN_LINK_S * 1000


async def test_a_link_opens_exactly_one_session(world: World) -> None:
    link, _ = await world.sessions.login_link()
    secret = link.partition("#login=")[2]
    cookie = await world.sessions.log_in(secret, "Browser/1")
    row = await world.sessions.of_cookie(cookie)
    assert row is not None and row.user_agent == "Browser/1"
    with pytest.raises(Refused) as refusal:
        await world.sessions.log_in(secret, "Browser/1")
    assert (refusal.value.reason, refusal.value.status) == ("login_spent", 401)


@pytest.mark.parametrize("secret", ["", "invented", "x" * 10_000])
async def test_an_invented_secret_opens_nothing(world: World, secret: str) -> None:
    with pytest.raises(Refused, match="login_spent"):
        await world.sessions.log_in(secret, "")


async def test_a_link_ends_after_ten_minutes(world: World) -> None:
    link, _ = await world.sessions.login_link()
    world.clock.pass_s(LOGIN_LINK_S)
    with pytest.raises(Refused, match="login_spent"):
        await world.sessions.log_in(link.partition("#login=")[2], "")


async def test_only_digests_are_stored(world: World) -> None:
    link, _ = await world.sessions.login_link()
    secret = link.partition("#login=")[2]
    assert list(world.store.logins) == [hashlib.sha256(secret.encode()).hexdigest()]
    cookie = await world.sessions.log_in(secret, "")
    (row,) = world.store.rows.values()
    assert row.secret_sha256 == hashlib.sha256(cookie.encode()).hexdigest()
    assert cookie not in repr(row) and secret not in repr(row)


async def test_a_session_survives_a_restart(world: World) -> None:
    cookie = await world.log_in()
    again = world.restart()
    assert await again.of_cookie(cookie) is None
    await again.load()
    assert await again.of_cookie(cookie) is not None


async def test_a_session_slides_and_ends_when_unused(world: World) -> None:
    cookie = await world.log_in()
    for _ in range(3):
        world.clock.pass_s(BROWSER_SESSION_S - 1)
        assert await world.sessions.of_cookie(cookie) is not None
    world.clock.pass_s(BROWSER_SESSION_S)
    assert world.sessions.rows() == []
    assert await world.sessions.of_cookie(cookie) is None
    assert world.store.rows == {}


async def test_the_last_use_is_written_once_an_hour(world: World) -> None:
    cookie = await world.log_in()
    written = world.store.writes
    for _ in range(100):
        await world.sessions.of_cookie(cookie)
    assert world.store.writes == written
    world.clock.pass_s(HOUR_S)
    for _ in range(100):
        await world.sessions.of_cookie(cookie)
    assert world.store.writes == written + 1
    (row,) = world.store.rows.values()
    assert row.last_seen_at_ms == world.clock.wall_ms


@pytest.mark.parametrize("cookie", ["", "invented", "é", "x" * 10_000])
async def test_an_invented_cookie_is_nobody(world: World, cookie: str) -> None:
    await world.log_in()
    assert await world.sessions.of_cookie(cookie) is None


async def test_an_ended_session_is_gone_and_its_pages_are_cut(world: World) -> None:
    cookie = await world.log_in()
    (row,) = world.sessions.rows()
    cuts: list[str] = []
    with world.sessions.watching(row.session_id, lambda: cuts.append("a")):
        with world.sessions.watching(row.session_id, lambda: cuts.append("left before")):
            pass
        assert await world.sessions.revoke(row.session_id)
    assert cuts == ["a"]
    assert await world.sessions.of_cookie(cookie) is None
    assert world.store.rows == {}
    assert not await world.sessions.revoke(row.session_id)


async def test_above_the_bound_the_longest_unused_goes(world: World) -> None:
    first = await world.log_in()
    world.clock.pass_s(1)
    for _ in range(BROWSER_SESSIONS_MAX - 1):
        last = await world.log_in()
    assert await world.sessions.of_cookie(first) is not None
    world.clock.pass_s(1)
    await world.sessions.of_cookie(last)
    await world.log_in()
    assert len(world.sessions.rows()) == BROWSER_SESSIONS_MAX
    assert await world.sessions.of_cookie(last) is not None


async def test_a_user_agent_is_cut_to_printable_text(world: World) -> None:
    link, _ = await world.sessions.login_link()
    await world.sessions.log_in(link.partition("#login=")[2], "A\x1b[31m\r\nB" + "c" * 500)
    (row,) = world.sessions.rows()
    assert row.user_agent.startswith("A[31mBc") and len(row.user_agent) == 200
