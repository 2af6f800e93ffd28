"""`POST /login` spends a one-time link; `POST /logout` ends this browser's session.

The secret comes in the body, from the page's fragment: a prefetch or the preview of a chat cannot
spend it. Failures are counted per address; secrets have 256 bits, so the count protects the disk
from being asked in vain, not the secret from being guessed.
"""

from collections import OrderedDict, deque

import msgspec
from aiohttp import hdrs, web

from mesh.core import canonical
from mesh.core.errors import Malformed, Refused
from mesh.core.limits import (
    BROWSER_SESSION_S,
    LOGIN_ADDRESSES_MAX,
    LOGIN_BYTES_MAX,
    LOGIN_FAILURES_MAX,
    LOGIN_WINDOW_S,
)
from mesh.http.authentication import Authentication
from mesh.http.browser_session import BrowserSessions
from mesh.http.request_body import read_json_body
from mesh.ports import Clock


class LoginFailures:
    """How often each address failed lately. `now_s` is monotonic."""

    def __init__(self) -> None:
        self._at_s: OrderedDict[str, deque[float]] = OrderedDict()

    def check(self, address: str, now_s: float) -> None:
        """Refuse an address that failed too often.

        Raises:
            Refused: reason `rate_limited`.
        """
        failed = self._at_s.get(address)
        while failed and failed[0] <= now_s - LOGIN_WINDOW_S:
            failed.popleft()
        if failed and len(failed) >= LOGIN_FAILURES_MAX:
            raise Refused("rate_limited", "Too many failed logins.", next="Wait a minute.")

    def add(self, address: str, now_s: float) -> None:
        """Remember a failure; the address that failed longest ago is forgotten first."""
        self._at_s.setdefault(address, deque(maxlen=LOGIN_FAILURES_MAX)).append(now_s)
        self._at_s.move_to_end(address)
        while len(self._at_s) > LOGIN_ADDRESSES_MAX:
            self._at_s.popitem(last=False)


class Login:
    """The two routes."""

    def __init__(
        self, *, sessions: BrowserSessions, authentication: Authentication, clock: Clock
    ) -> None:
        self._sessions = sessions
        self._authentication = authentication
        self._clock = clock
        self._failures = LoginFailures()

    async def log_in(self, request: web.Request) -> web.Response:
        """Answer the cookie for the secret of a link."""
        # A foreign page must not log this browser in either (login CSRF).
        self._authentication.check_origin(request, required=True)
        address = request.remote or ""
        now_s = self._clock.now().mono_s
        self._failures.check(address, now_s)
        body = canonical.decode_object(await read_json_body(request, LOGIN_BYTES_MAX))
        secret = body.get("secret")
        if not isinstance(secret, str) or len(body) != 1:
            raise Malformed("invalid_params", "secret must be text.", field="secret")
        try:
            cookie = await self._sessions.log_in(secret, request.headers.get(hdrs.USER_AGENT, ""))
        except Refused:
            self._failures.add(address, now_s)
            raise
        response = _done()
        response.set_cookie(
            self._sessions.cookie_name,
            cookie,
            max_age=BROWSER_SESSION_S,
            path="/",
            httponly=True,
            samesite="Strict",
            secure=_is_secure(request),
        )
        return response

    async def log_out(self, request: web.Request) -> web.Response:
        """End the session of this browser, and take the cookie back."""
        caller = await self._authentication.caller(request, acts=True)
        if caller.session_id is None:
            raise Refused("unsupported", "A program has no session to end.")
        await self._sessions.revoke(caller.session_id)
        response = _done()
        response.del_cookie(
            self._sessions.cookie_name,
            path="/",
            httponly=True,
            samesite="Strict",
            secure=_is_secure(request),
        )
        return response


def _is_secure(request: web.Request) -> bool:
    """True when the browser speaks TLS, to us or to the operator's proxy before us."""
    # The Origin was checked: an https one is ours or public_url's.
    return request.secure or request.headers.get(hdrs.ORIGIN, "").startswith("https:")


def _done() -> web.Response:
    return web.Response(body=msgspec.json.encode({"ok": True}), content_type="application/json")
