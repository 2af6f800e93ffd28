"""A model server without a model: OpenAI-compatible, deterministic, in a process of its own.

    python -m tests.stub_model.server [--port 0] [--host 127.0.0.1]

The first line on stdout is `{"url": "http://HOST:PORT/v1"}`. It serves `/v1/models` and streamed
and whole `/v1/chat/completions`. What it does with a request is chosen by the model's name:

    stub-echo        answers the text of the last line of the conversation, word by word
    stub-slow        begins at once and never ends by itself
    stub-split       as echo, every byte of the stream sent alone, with comments, CRLF, a BOM
    stub-chain       mentions the author of the last line; stub-chain:HANDLE mentions HANDLE
    stub-tool        shows a tool at work, then answers;  stub-tool-only  wants one and stops
    stub-429         refuses every other request for 1 s;  stub-429-always  each one, for 3600 s
    stub-cut         breaks off after three words;  stub-end  closes in peace, without an end
    stub-error       reports an error in the stream, after a word
    stub-401  stub-404  stub-500  stub-302  stub-html  stub-json  stub-junk  stub-flood

Besides `/v1` it tells tests what happened: `GET /stub/last` is the newest request's body and
headers, `GET /stub/abandoned/MODEL` answers when a client has left its stream before the end.
"""

import argparse
import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable

from aiohttp import web

MODELS = (
    "stub-embed",
    "stub-echo",
    "stub-slow",
    "stub-split",
    "stub-chain",
    "stub-tool",
    "stub-tool-only",
    "stub-429",
    "stub-429-always",
    "stub-cut",
    "stub-end",
    "stub-error",
    "stub-401",
    "stub-404",
    "stub-500",
    "stub-302",
    "stub-html",
    "stub-json",
    "stub-junk",
    "stub-flood",
)


class Observed:
    """What happened so far, for tests to ask about."""

    def __init__(self) -> None:
        self.last: dict[str, object] = {}
        self.refusals = 0
        self.abandoned = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(0))


OBSERVED = web.AppKey("observed", Observed)


def last_line(body: dict[str, object]) -> tuple[str, str]:
    """Author and text of the conversation's last line, from an envelope or from plain text."""
    messages = body["messages"]
    assert isinstance(messages, list) and messages, "a conversation has messages"
    content = str(messages[-1]["content"])
    for line in reversed(content.splitlines()):
        if line.startswith("{"):
            block = json.loads(line)
            return block["author"]["handle"], block["text"]
    return "nobody", content


def answer(model: str, body: dict[str, object]) -> str:
    """The text that a well-behaved model of this name answers with."""
    author, text = last_line(body)
    name, _, handle = model.partition(":")
    return f"@{handle or author} your turn now" if name == "stub-chain" else text


def frame(delta: dict[str, object], finish: str | None = None, model: str = "stub") -> str:
    """One frame of a streamed completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "stub-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    return json.dumps({**head, "choices": [choice]}, ensure_ascii=False)


def tool(name: str | None, arguments: str) -> dict[str, object]:
    """The delta of a tool call's first or later piece."""
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    call = {"index": 0, "function": function}
    return {"tool_calls": [{**call, "id": "call-1", "type": "function"} if name else call]}


async def frames(model: str, text: str) -> AsyncIterator[str]:
    """The data of each frame, in order; a stream without `[DONE]` is one that does not end well."""
    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1].rstrip(" ")
    yield frame({"role": "assistant", "content": ""})
    if model.startswith("stub-tool"):
        yield frame(tool("look_up", '{"word":'))
        yield frame(tool(None, '"room"}'))
    if model == "stub-tool-only":
        yield frame({}, "tool_calls")
        yield "[DONE]"
        return
    if model in ("stub-slow", "stub-flood"):
        words = ["flood " * 10_000] * 10 if model == "stub-flood" else ["so… "]
    for word in words[:3] if model in ("stub-cut", "stub-end") else words:
        yield frame({"content": word})
    if model == "stub-slow":
        await asyncio.Event().wait()
    if model == "stub-error":
        yield json.dumps({"error": {"message": "the model ran out of memory", "type": "server"}})
    if model == "stub-junk":
        yield "not a frame"
    if model not in ("stub-cut", "stub-end"):
        yield frame({}, "stop")
        yield json.dumps({"id": "stub-1", "choices": [], "usage": {"total_tokens": 3}})
        yield "[DONE]"


def refusal(model: str, observed: Observed) -> web.Response | None:
    """The answer of a model that does not stream one, or None."""

    def error(status: int, message: str) -> web.Response:
        return web.json_response({"error": {"message": message, "type": "stub"}}, status=status)

    def limited(seconds: int) -> web.Response:
        response = error(429, "slow down")
        response.headers["Retry-After"] = str(seconds)
        return response

    if model == "stub-429":
        observed.refusals += 1
        return limited(1) if observed.refusals % 2 else None
    answers: dict[str, Callable[[], web.Response]] = {
        "stub-429-always": lambda: limited(3600),
        "stub-401": lambda: error(401, "who are you?"),
        "stub-404": lambda: error(404, "no such model"),
        "stub-500": lambda: error(500, "out of order"),
        "stub-302": lambda: web.Response(status=302, headers={"Location": "/v1/elsewhere"}),
        "stub-html": lambda: web.Response(text="<html>Welcome</html>", content_type="text/html"),
        "stub-json": lambda: web.json_response({"hello": "world"}),
    }
    return answers[model]() if model in answers else None


async def complete(request: web.Request) -> web.StreamResponse:
    """`POST /v1/chat/completions`."""
    observed = request.app[OBSERVED]
    body = await request.json()
    observed.last = {"body": body, "headers": dict(request.headers)}
    model = body["model"].partition(":")[0]
    if (refused := refusal(model, observed)) is not None:
        return refused
    text = answer(body["model"], body)
    if not body.get("stream"):
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        head = {"id": "stub-1", "object": "chat.completion", "created": 1, "model": model}
        return web.json_response({**head, "choices": [choice]})
    return await stream(request, model, text)


async def stream(request: web.Request, model: str, text: str) -> web.StreamResponse:
    """The frames as server-sent events; `stub-split` sends each byte alone."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    is_split = model == "stub-split"
    if is_split:
        await trickle(response, "\ufeff: keep-alive\r\n\r\n".encode())
    try:
        async for data in frames(model, text):
            if is_split:
                await trickle(response, f"event: chunk\r\ndata: {data}\r\n\r\n: tick\r".encode())
            else:
                await response.write(f"data: {data}\n\n".encode())
    except (ConnectionResetError, asyncio.CancelledError):
        request.app[OBSERVED].abandoned[model].release()
        raise
    if model == "stub-cut" and request.transport is not None:
        request.transport.abort()
        return response
    await response.write_eof()
    return response


async def trickle(response: web.StreamResponse, content: bytes) -> None:
    """Each byte in a chunk of its own."""
    for i in range(len(content)):
        await response.write(content[i : i + 1])


async def models(request: web.Request) -> web.Response:
    """`GET /v1/models`; the key "wrong" is refused."""
    if request.headers.get("Authorization") == "Bearer wrong":
        return web.json_response({"error": {"message": "wrong key"}}, status=401)
    data = [{"id": name, "object": "model", "created": 1, "owned_by": "stub"} for name in MODELS]
    return web.json_response({"object": "list", "data": data})


async def last(request: web.Request) -> web.Response:
    """`GET /stub/last`."""
    return web.json_response(request.app[OBSERVED].last)


async def abandoned(request: web.Request) -> web.Response:
    """`GET /stub/abandoned/MODEL`: answers when one more client has left a stream early."""
    await request.app[OBSERVED].abandoned[request.match_info["model"]].acquire()
    return web.json_response({"abandoned": 1})


def application() -> web.Application:
    """The server's routes."""
    app = web.Application(client_max_size=4 * 1024 * 1024)
    app[OBSERVED] = Observed()
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_get("/v1/models", models)
    app.router.add_get("/stub/last", last)
    app.router.add_get("/stub/abandoned/{model}", abandoned)
    return app


async def serve(host: str, port: int) -> None:
    """Serve until a signal comes, having said where on the first line."""
    runner = web.AppRunner(application(), handler_cancellation=True, shutdown_timeout=0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        bound = runner.addresses[0][1]
        sys.stdout.write(json.dumps({"url": f"http://{host}:{bound}/v1"}) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="A model server without a model.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    try:
        asyncio.run(serve(arguments.host, arguments.port))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
