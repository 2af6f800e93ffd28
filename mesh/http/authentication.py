"""Who asks: a program with the home's token, or a page with a session cookie.

Nothing else is an authority: no address, no header of a proxy, no token in a URL. A cookie rides
along with every request that a browser makes, so it counts only together with our own Origin; a
bearer is put there by a program, and a page that has one is refused unless it is ours.
"""

import hashlib
import hmac

from aiohttp import hdrs, web

from mesh.core.errors import Refused
from mesh.http.browser_session import BrowserSessions
from mesh.http.own_hosts import OwnHosts
from mesh.rpc.caller import Caller

_TOKEN_CHARS_MAX = 256


class Authentication:
    """Decides for each request, before its body is read or its socket upgraded."""

    def __init__(self, *, sessions: BrowserSessions, hosts: OwnHosts, token: str) -> None:
        """`token` is control.json's; only its digest is kept here."""
        assert len(token) >= 32, "the token must be unguessable"
        self._sessions = sessions
        self._hosts = hosts
        self._token_sha256 = hashlib.sha256(token.encode()).digest()

    async def caller(self, request: web.Request, *, acts: bool) -> Caller:
        """The caller of a request. `acts` is false only where the answer shows and changes nothing.

        Raises:
            Refused: `unauthenticated` or `wrong_origin`.
        """
        header = request.headers.get(hdrs.AUTHORIZATION)
        self.check_origin(request, required=acts and header is None)
        if header is not None:
            return self._program(header)
        cookie = request.cookies.get(self._sessions.cookie_name)
        row = await self._sessions.of_cookie(cookie) if cookie else None
        if row is None:
            raise Refused("unauthenticated", "This browser is not logged in to the node.")
        return Caller(kind="browser", session_id=row.session_id)

    def check_origin(self, request: web.Request, *, required: bool) -> None:
        """Refuse a foreign page, and where `required` also a request without an Origin."""
        self._hosts.check_origin(
            request.headers.get(hdrs.ORIGIN),
            scheme="https" if request.secure else "http",
            host=request.headers.get(hdrs.HOST, ""),
            required=required,
        )

    def _program(self, header: str) -> Caller:
        scheme, _, token = header.partition(" ")
        given = hashlib.sha256(token[:_TOKEN_CHARS_MAX].encode(errors="replace")).digest()
        # Digests have one length, so the comparison tells nothing about the token.
        if scheme.lower() != "bearer" or not hmac.compare_digest(given, self._token_sha256):
            raise Refused(
                "unauthenticated",
                "The token is not this node's.",
                next="Read control.json again: each start of the node makes a new token.",
            )
        return Caller(kind="program")
