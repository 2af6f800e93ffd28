"""One endpoint: every odd answer is one typed error, and the key goes into one header only."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gateway.backend import Surroundings
from gateway.backends import endpoint as endpoint_module
from gateway.backends.endpoint import ApiKey, Endpoint, retry_after_s
from gateway.errors import (
    BackendCut,
    BackendError,
    BackendFailed,
    BackendRefused,
    BackendUnauthorized,
    BackendUnreachable,
    NotAModel,
    RateLimited,
    ReplyTooLarge,
    TurnTimedOut,
)
from tests.gateway.backends.raw_server import closed_port, raw_server, response
from tests.stub_model.process import StubModel

NOW_MS = 1_800_000_000_000


def surroundings(folder: Path, environ: Mapping[str, str] | None = None) -> Surroundings:
    return Surroundings(
        folder=folder, environ=environ or {}, clock=lambda: NOW_MS, fence=lambda: "f"
    )


def endpoint(base_url: str, key_headers: Any = dict, **timeouts: int) -> Endpoint:
    return Endpoint(base_url, key_headers=key_headers, clock=lambda: NOW_MS, **timeouts)


async def completed(one: Endpoint, model: str = "stub-echo") -> bytes:
    """All bytes of a streamed answer."""
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": True}
    async with one, one.completion(body) as chunks:
        return b"".join([chunk async for chunk in chunks])


async def test_models_and_a_stream(stub: StubModel) -> None:
    async with endpoint(stub.url) as one:
        assert "stub-echo" in await one.models()
    assert (await completed(endpoint(stub.url))).endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("model", "kind", "said"),
    [
        ("stub-401", BackendUnauthorized, "HTTP 401"),
        ("stub-404", BackendRefused, "no such model"),
        ("stub-429", RateLimited, "wait 1 s"),
        ("stub-500", BackendFailed, "out of order"),
        ("stub-302", NotAModel, "HTTP 302 redirects"),
        ("stub-html", NotAModel, "text/html"),
        ("stub-json", NotAModel, "application/json"),
        ("stub-cut", BackendCut, "cut"),
    ],
)
async def test_odd_answers_have_names(
    stub: StubModel, model: str, kind: type[BackendError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        await completed(endpoint(stub.url), model)


async def test_nobody_there() -> None:
    with pytest.raises(BackendUnreachable, match="Nothing answers at http"):
        await completed(endpoint(await closed_port()))


async def test_a_name_that_nobody_has() -> None:
    with pytest.raises(BackendUnreachable):
        await completed(endpoint("http://model.invalid/v1"))


async def test_silence_has_an_end() -> None:
    async with raw_server(response(b"data: 1"), hangs=True) as url:
        with pytest.raises(TurnTimedOut, match="within 1 s"):
            await completed(endpoint(url, idle_s=1))
    async with raw_server(b"", hangs=True) as url:
        with pytest.raises(TurnTimedOut):
            await completed(endpoint(url, idle_s=1))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"", BackendCut),
        (b"SSH-2.0-OpenSSH_9.2\r\n", NotAModel),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, NotAModel),
        (response(b"<html>Not Found</html>", "404 Not Found", "text/html"), NotAModel),
        (response(b"<html>Bad Gateway</html>", "502 Bad Gateway", "text/html"), BackendFailed),
        (response(b"x" * 1_000_000, "400 Bad Request"), NotAModel),
    ],
)
async def test_what_else_may_listen_there(answer: bytes, kind: type[BackendError]) -> None:
    async with raw_server(answer) as url:
        with pytest.raises(kind):
            await completed(endpoint(url))


@pytest.mark.parametrize("body", [b"", b"[]", b'{"data":7}', b'{"data":' + b"[" * 100_000])
async def test_a_list_of_models_that_is_none(body: bytes) -> None:
    async with raw_server(response(body, kind="application/json")) as url:
        with pytest.raises(NotAModel, match="is not a list of models"):
            async with endpoint(url) as one:
                await one.models()


async def test_a_stream_has_a_limit(stub: StubModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "STREAM_BYTES_MAX", 100)
    with pytest.raises(ReplyTooLarge, match="100 bytes"):
        await completed(endpoint(stub.url))


async def test_the_key_is_sent_and_read_anew_each_time(stub: StubModel, tmp_path: Path) -> None:
    environ = {"MODEL_KEY": "sk-one"}
    key = ApiKey(surroundings(tmp_path, environ), variable="MODEL_KEY")
    await completed(endpoint(stub.url, key.headers))
    assert (await stub.last())["headers"]["Authorization"] == "Bearer sk-one"
    environ["MODEL_KEY"] = "wrong"
    async with endpoint(stub.url, key.headers) as one:
        with pytest.raises(BackendUnauthorized, match="HTTP 401") as refused:
            await one.models()
    assert "wrong" not in str(refused.value)


async def test_no_key_no_header(stub: StubModel, tmp_path: Path) -> None:
    await completed(endpoint(stub.url, ApiKey(surroundings(tmp_path)).headers))
    assert "Authorization" not in (await stub.last())["headers"]


def test_a_key_from_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "model.key"
    key = ApiKey(surroundings(tmp_path), file="model.key")
    with pytest.raises(BackendUnauthorized, match=r"model\.key cannot be read"):
        key.headers()
    file.write_text("sk-file\n")
    file.chmod(0o644)
    with pytest.raises(BackendUnauthorized, match="chmod 600"):
        key.headers()
    file.chmod(0o600)
    assert key.headers() == {"Authorization": "Bearer sk-file"}
    file.write_bytes(b"\xff")
    with pytest.raises(BackendUnauthorized, match="not ASCII"):
        key.headers()


@pytest.mark.parametrize(
    "value", ["", "  ", "sk-canary\r\nX-Evil: 1", "sk-canary\x00", "k" * 5_000]
)
def test_a_key_is_one_line_and_never_quoted(tmp_path: Path, value: str) -> None:
    key = ApiKey(surroundings(tmp_path, {"MODEL_KEY": value}), variable="MODEL_KEY")
    with pytest.raises(BackendUnauthorized, match="MODEL_KEY") as refused:
        key.headers()
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 1),
        ("0", 0),
        (" 30 ", 30),
        ("9" * 400, 999_999_999),
        ("Fri, 15 Jan 2027 08:00:10 GMT", 10),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0),
        ("soon", 1),
        ("-5", 1),
        ("", 1),
    ],
)
def test_how_long_to_wait(header: str | None, seconds: int) -> None:
    assert retry_after_s(header, NOW_MS) == seconds
