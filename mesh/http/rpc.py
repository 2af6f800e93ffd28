"""`POST /rpc`: one JSON-RPC request. Who asks is known before the body is read."""

from aiohttp import web

from mesh.core.limits import RPC_BYTES_MAX
from mesh.http.authentication import Authentication
from mesh.http.request_body import read_json_body
from mesh.rpc.dispatch import Dispatch


class PostRpc:
    """The route, over one dispatch."""

    def __init__(self, *, authentication: Authentication, dispatch: Dispatch) -> None:
        self._authentication = authentication
        self._dispatch = dispatch

    async def post(self, request: web.Request) -> web.Response:
        """Answer with status 200, or 204 for a notification."""
        caller = await self._authentication.caller(request, acts=True)
        body = await read_json_body(request, RPC_BYTES_MAX)
        answer = await self._dispatch.answer(body, caller)
        if answer is None:
            return web.Response(status=204)
        return web.Response(body=answer, content_type="application/json")
