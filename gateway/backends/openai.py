"""Any OpenAI-compatible endpoint as an agent: Ollama, llama.cpp, vLLM, or a hosted one.

Why: one well-known way of talking covers nearly every model there is. A turn: remember what the
room handed over, write the envelope, ask for a streamed completion, fold the stream. A rate limit
is waited out as the endpoint asks, visibly, within the turn's deadline and before the first word;
after the first word nothing is ever asked again, since the room has seen it.

Options: `base_url` and `model` (required), `api_key_env` or `api_key_file` (where the key lies),
`system_prompt`, `temperature_percent` (0 to 200; not sent when left out), `connect_timeout_s`,
`idle_timeout_s`. It refuses a key in the profile and an address with a name or password in it.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from types import TracebackType
from typing import Literal, Self

from yarl import URL

from gateway.backend import Surroundings
from gateway.backends import envelope
from gateway.backends.completion import Completion
from gateway.backends.endpoint import ApiKey, Endpoint
from gateway.backends.sse import SseParser
from gateway.errors import BackendCut, ProfileInvalid, RateLimited, TurnTimedOut
from gateway.exchange import Activity, TurnRequest, Update
from gateway.limits import (
    CONNECT_TIMEOUT_S_DEFAULT,
    IDLE_TIMEOUT_S_DEFAULT,
    RATE_LIMIT_RETRIES_MAX,
    TIMEOUT_S_MAX,
)
from gateway.memory import Memory
from gateway.options import Options
from gateway.profile import NO_TOOLS, Catalog, Policy, ProfileConfig, text_catalog

_UNSET = -1


class OpenAI:
    """The backend of one model behind one endpoint."""

    def __init__(self, config: ProfileConfig, surroundings: Surroundings) -> None:
        """Raises ProfileInvalid."""
        options = Options(dict(config.options))
        base_url = _base_url(options.text("base_url"))
        self._model = options.text("model")
        self._system_prompt = options.text("system_prompt", "")
        self._temperature_percent = options.integer(
            "temperature_percent", _UNSET, low=_UNSET, high=200
        )
        variable, file = options.text("api_key_env", ""), options.text("api_key_file", "")
        connect_s = options.integer(
            "connect_timeout_s", CONNECT_TIMEOUT_S_DEFAULT, low=1, high=TIMEOUT_S_MAX
        )
        idle_s = options.integer(
            "idle_timeout_s", IDLE_TIMEOUT_S_DEFAULT, low=1, high=TIMEOUT_S_MAX
        )
        options.refuse_rest()
        if variable and file:
            raise ProfileInvalid("options.api_key_file", "and api_key_env exclude each other")
        self._endpoint = Endpoint(
            base_url,
            key_headers=ApiKey(surroundings, variable=variable, file=file).headers,
            clock=surroundings.clock,
            connect_s=connect_s,
            idle_s=idle_s,
        )
        self._fence = surroundings.fence
        self._memory = Memory(surroundings.state)
        self.catalog: Catalog = text_catalog(config.name)
        self.policy = Policy(
            backend="openai",
            model=self._model,
            endpoint=base_url,
            system_prompt_sha256=envelope.system_sha256(self._system_prompt),
            approval_mode=NO_TOOLS,
            settings=(("temperature_percent", self._temperature_percent),),
        )

    async def __aenter__(self) -> Self:
        await self._endpoint.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._endpoint.__aexit__(kind, error, trace)

    async def probe(self) -> str:
        """Ask the endpoint for its models. Raises BackendError."""
        models = await self._endpoint.models()
        if self._model in models or any(m.startswith(f"{self._model}:") for m in models):
            return f"The endpoint offers {self._model}."
        # Not a failure: some servers answer to any name, and list another one.
        listed = ", ".join(models[:5]) or "no model at all"
        return f"The endpoint answers, but does not list {self._model}; it lists {listed}."

    async def run(self, request: TurnRequest) -> AsyncGenerator[Update, None]:
        """One turn; see the module. Raises BackendError."""
        deadline = asyncio.get_running_loop().time() + request.deadline_s
        body = self._body(request)
        async with AsyncExitStack() as stack:
            for tries_left in range(RATE_LIMIT_RETRIES_MAX, -1, -1):
                try:
                    chunks = await stack.enter_async_context(self._endpoint.completion(body))
                except RateLimited as limited:
                    left_s = deadline - asyncio.get_running_loop().time()
                    if not tries_left or limited.retry_after_s >= left_s:
                        raise
                    yield _waiting(limited, "started")
                    await asyncio.sleep(limited.retry_after_s)
                    yield _waiting(limited, "finished")
                else:
                    break
            async with aclosing(chunks), aclosing(self._fold(chunks)) as updates:
                async for update in updates:
                    yield update

    async def _fold(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[Update, None]:
        """The updates of a stream of bytes, with its `Final`. Raises BackendError."""
        completion = Completion(self._endpoint.base_url)
        parser = SseParser()
        try:
            async for chunk in chunks:
                for data in parser.feed(chunk):
                    for update in completion.feed(data):
                        yield update
                    if completion.done:
                        break
                if completion.done:
                    break
        except BackendCut:
            raise BackendCut(completion.text) from None
        except TurnTimedOut as silent:
            raise TurnTimedOut(silent.waited_s, completion.text) from None
        activities, final = completion.close()
        for activity in activities:
            yield activity
        yield final

    def _body(self, request: TurnRequest) -> dict[str, object]:
        lines = self._memory.remember(request)
        body: dict[str, object] = {
            "model": self._model,
            "messages": envelope.messages(request, lines, self._system_prompt, self._fence),
            "stream": True,
        }
        if self._temperature_percent != _UNSET:
            body["temperature"] = self._temperature_percent / 100
        return body


def _waiting(limited: RateLimited, state: Literal["started", "finished"]) -> Activity:
    return Activity(
        tool="model", text=f"rate limited, waiting {limited.retry_after_s} s", state=state
    )


def _base_url(text: str) -> str:
    """The address without a slash at its end. Raises ProfileInvalid, never quoting the address."""
    rule = "must be an http or https address like http://127.0.0.1:11434/v1"
    try:
        url = URL(text)
        (url.host or "").encode("idna")
    except ValueError:
        raise ProfileInvalid("options.base_url", rule) from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ProfileInvalid("options.base_url", rule)
    # A password in an address would end up in the file, in messages and in the policy.
    if url.user or url.password or url.query_string or url.fragment:
        raise ProfileInvalid("options.base_url", "must be an address without password or query")
    return str(url).rstrip("/")
