"""Browser sessions: a one-time link opens one, a cookie carries it, the operator can end it.

Only SHA-256 digests of secrets are kept, in memory and on the disk; what is found by digest is
compared again in constant time. A session slides: 90 days after its last use it ends. The last
use is written at most once an hour, since every write costs an fsync.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from mesh.core import ids
from mesh.core.errors import Refused
from mesh.core.limits import (
    BROWSER_SESSION_S,
    BROWSER_SESSION_WRITE_S,
    BROWSER_SESSIONS_MAX,
    LOGIN_LINK_S,
)
from mesh.ports import Clock, Entropy
from mesh.stores import SessionRow, SessionStore

SECRET_BYTES: Final = 32
SECRET_CHARS_MAX: Final = 128
USER_AGENT_CHARS_MAX: Final = 200


def digest(secret: str) -> str:
    """Hex SHA-256 of a secret: all that is ever kept of it."""
    return hashlib.sha256(secret.encode()).hexdigest()


class BrowserSessions:
    """All browser sessions of this install. `load` before the first request."""

    def __init__(
        self,
        *,
        store: SessionStore,
        clock: Clock,
        entropy: Entropy,
        install_id: str,
        url: Callable[[], str],
    ) -> None:
        """`url` answers the address that login links point to, without a final slash."""
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self._url = url
        self._rows: dict[str, SessionRow] = {}  # by secret_sha256
        self._written_at_ms: dict[str, int] = {}  # by session_id
        self._open_pages: dict[str, set[Callable[[], None]]] = {}  # by session_id
        # Cookies ignore ports: the install's id keeps two nodes of one machine apart.
        self.cookie_name = "roommesh_" + install_id.removeprefix("install:")[:8]

    async def load(self) -> None:
        """Read the sessions from the store."""
        for row in await self._store.all():
            self._rows[row.secret_sha256] = row
            self._written_at_ms[row.session_id] = row.last_seen_at_ms

    def rows(self) -> Sequence[SessionRow]:
        """Sessions that are still good."""
        now_ms = self._clock.now().wall_ms
        return [row for row in self._rows.values() if row.expires_at_ms > now_ms]

    async def login_link(self) -> tuple[str, int]:
        """A new one-time link and its expiry (wall ms). The secret stands in the fragment only."""
        secret = self._make_secret()
        expires_at_ms = self._clock.now().wall_ms + LOGIN_LINK_S * 1000
        await self._store.put_login(digest(secret), expires_at_ms)
        return f"{self._url()}/#login={secret}", expires_at_ms

    async def log_in(self, secret: str, user_agent: str) -> str:
        """Spend a link's secret; returns the secret of the new session's cookie.

        Raises:
            Refused: reason `login_spent`; expired, used and invented links look alike.
        """
        now_ms = self._clock.now().wall_ms
        if len(secret) > SECRET_CHARS_MAX or not await self._store.spend_login(
            digest(secret), now_ms
        ):
            raise Refused("login_spent", "This login link was used already, or it is too old.")
        cookie = self._make_secret()
        row = SessionRow(
            session_id=ids.make("s", self._entropy.bytes(ids.ENTROPY_BYTES)),
            secret_sha256=digest(cookie),
            created_at_ms=now_ms,
            last_seen_at_ms=now_ms,
            expires_at_ms=now_ms + BROWSER_SESSION_S * 1000,
            user_agent=_printable(user_agent),
        )
        await self._make_room()
        await self._store.put(row)
        self._rows[row.secret_sha256] = row
        self._written_at_ms[row.session_id] = now_ms
        return cookie

    async def of_cookie(self, cookie: str) -> SessionRow | None:
        """The session of that cookie, its end moved on; None if there is none."""
        if len(cookie) > SECRET_CHARS_MAX:
            return None
        given = digest(cookie)
        row = self._rows.get(given)
        now_ms = self._clock.now().wall_ms
        if row is None or not hmac.compare_digest(row.secret_sha256, given):
            return None
        if row.expires_at_ms <= now_ms:
            await self.revoke(row.session_id)
            return None
        row = replace(row, last_seen_at_ms=now_ms, expires_at_ms=now_ms + BROWSER_SESSION_S * 1000)
        self._rows[given] = row
        if now_ms - self._written_at_ms[row.session_id] >= BROWSER_SESSION_WRITE_S * 1000:
            # Marked before the write, so that a burst of requests writes once.
            self._written_at_ms[row.session_id] = now_ms
            await self._store.put(row)
        return row

    async def revoke(self, session_id: str) -> bool:
        """End a session; its open pages are cut. False if there is none of that id.

        It is forgotten before the disk is asked: a request in between finds no session to renew.
        """
        row = next((r for r in self._rows.values() if r.session_id == session_id), None)
        if row is None:
            return False
        del self._rows[row.secret_sha256]
        self._written_at_ms.pop(session_id, None)
        for cut in tuple(self._open_pages.get(session_id, ())):
            cut()
        await self._store.delete(session_id)
        return True

    @contextmanager
    def watching(self, session_id: str, cut: Callable[[], None]) -> Iterator[None]:
        """While inside, the end of that session calls `cut`."""
        pages = self._open_pages.setdefault(session_id, set())
        pages.add(cut)
        try:
            yield
        finally:
            pages.discard(cut)
            if not pages:
                self._open_pages.pop(session_id, None)

    async def _make_room(self) -> None:
        while len(self._rows) >= BROWSER_SESSIONS_MAX:
            oldest = min(self._rows.values(), key=lambda row: row.last_seen_at_ms)
            await self.revoke(oldest.session_id)

    def _make_secret(self) -> str:
        return ids.b64(self._entropy.bytes(SECRET_BYTES))


def _printable(user_agent: str) -> str:
    return "".join(c for c in user_agent if " " <= c <= "~")[:USER_AGENT_CHARS_MAX]
