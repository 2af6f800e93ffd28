"""Reading a request's body: bounded, timed, and only after the caller is known (situation 70)."""

import asyncio

from aiohttp import hdrs, web

from mesh.core.errors import Malformed, Refused
from mesh.core.limits import HTTP_BODY_S


async def read_json_body(request: web.Request, size_bytes_max: int) -> bytes:
    """The bytes of a JSON body, at most that many.

    Raises:
        Malformed: `too_large`, before anything was read where a length is announced;
            `invalid_request` for another content type or a compressed body.
        Refused: `timeout` when it does not arrive in HTTP_BODY_S.
    """
    # A form or plain text is what a foreign page can post without asking (attack 54).
    if request.content_type != "application/json":
        raise Malformed("invalid_request", "The Content-Type must be application/json.")
    if hdrs.CONTENT_ENCODING in request.headers:
        raise Malformed("invalid_request", "A compressed body is not taken.")
    too_large = Malformed(
        "too_large", f"More than {size_bytes_max} bytes in one request.", limit=size_bytes_max
    )
    if (request.content_length or 0) > size_bytes_max:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(HTTP_BODY_S):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > size_bytes_max:
                    raise too_large
    except TimeoutError:
        raise Refused("timeout", "The body of the request did not arrive in time.") from None
    return bytes(body)
