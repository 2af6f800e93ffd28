"""The HTTP side of the fake node: pages with the real policy, login, and the two RPC roads."""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import WSMsgType, web

from tests.web.fake_node import FakeNode

WEB = Path(__file__).resolve().parents[2] / "mesh" / "web"
SECRET = "let-me-in"
COOKIE = "roommesh_0f0f0f0f"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
POLICY = "default-src 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'"


@web.middleware
async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The headers of every answer."""
    response = await handler(request)
    if not response.prepared:
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["Cache-Control"] = "no-cache"
        response.headers["X-Content-Type-Options"] = "nosniff"
    return response


async def index(request: web.Request) -> web.StreamResponse:
    """`/` and `/i`."""
    return web.FileResponse(WEB / "index.html")


async def log_in(request: web.Request) -> web.Response:
    """The link works any number of times: this is a fake."""
    if (await request.json()).get("secret") != SECRET:
        error = {"reason": "login_spent", "message": "This link was used.", "next": "roommesh open"}
        return web.json_response({"error": error}, status=401)
    response = web.json_response({"ok": True})
    response.set_cookie(COOKIE, "yes", httponly=True, samesite="Strict")
    return response


def application(node: FakeNode) -> web.Application:
    """All routes."""

    async def rpc(request: web.Request) -> web.StreamResponse:
        if request.cookies.get(COOKIE) != "yes":
            error = {"reason": "login_required", "message": "Sign in.", "next": "roommesh open"}
            return web.json_response({"error": error}, status=401)
        return web.json_response(await node.call(await request.json(), None))

    async def live(request: web.Request) -> web.StreamResponse:
        if request.cookies.get(COOKIE) != "yes":
            raise web.HTTPUnauthorized
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        node.sockets[socket] = set()
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await socket.send_json(await node.call(json.loads(message.data), socket))
        del node.sockets[socket]
        return socket

    app = web.Application(middlewares=[guarded])
    app.router.add_get("/", index)
    app.router.add_get("/i", index)
    app.router.add_post("/login", log_in)
    app.router.add_post("/rpc", rpc)
    app.router.add_get("/rpc", live)
    app.router.add_static("/web", WEB)
    return app


async def serve(port: int) -> None:
    """Serve until cancelled."""
    node = FakeNode()
    runner = web.AppRunner(application(node))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    print(f"http://127.0.0.1:{port}/#login={SECRET}", flush=True)
    try:
        await node.script.run()
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=7499)
    asyncio.run(serve(parser.parse_args().port))
