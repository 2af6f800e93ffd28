"""Refusals as HTTP answers, and the headers that every answer carries.

The body is `{"error": {"reason", "message", "next"}}`. HTTP itself refuses only authentication,
Host, Origin, size and paths; everything else is a JSON-RPC error under status 200.
"""

from typing import Final

import msgspec
from aiohttp import hdrs, web

from mesh.core.errors import Malformed, MeshError, Refused

HEADERS: Final = {
    # Nothing from elsewhere, nothing inline: text of strangers cannot become code (attack 64).
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    # A login or invitation link must not travel on as a Referer (situation 64).
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Signal handler: put HEADERS on every answer; what is not a page is not stored."""
    response.headers.update(HEADERS)
    response.headers.setdefault(hdrs.CACHE_CONTROL, "no-store")
    response.headers.pop(hdrs.SERVER, None)


def answer(error: MeshError, status: int | None = None) -> web.Response:
    """The HTTP answer of a refusal; `status` where it is not the reason's own."""
    said = {"reason": error.reason, "message": error.message, "next": error.next}
    response = web.Response(
        status=status or error.status,
        body=msgspec.json.encode({"error": said}),
        content_type="application/json",
    )
    if error.status == 401:
        response.headers[hdrs.WWW_AUTHENTICATE] = 'Bearer realm="roommesh"'
    # The body may not have been read: this connection cannot carry another request.
    response.force_close()
    return response


def of_status(status: int) -> MeshError:
    """Our refusal for one of aiohttp's: a path (404) or method (405) that is not there."""
    if status == 400:
        return Malformed("invalid_request", "This is not a request that the path takes.")
    if status == 405:
        return Malformed("unsupported", "This path does not take that method.")
    return Refused("not_found", "There is nothing at this path.")
