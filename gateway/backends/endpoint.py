"""One OpenAI-compatible endpoint over HTTP: its address, its key, and what its answers mean.

Why: every odd way in which a model server can answer becomes one typed error here, so that the
backend above reads as a story. It follows no redirect (a redirect would carry members' text, and
the key, to somebody whom the operator did not name), keeps no cookies, uses no proxy from the
environment, and bounds everything that it reads.

The key is read anew for each request, from the environment or from a private file, so that a
changed key needs no restart. It goes into one header and into no message.
"""

import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Self

import aiohttp
import msgspec

from gateway.backend import Surroundings
from gateway.backends.completion import problem_of
from gateway.errors import (
    BackendCut,
    BackendFailed,
    BackendRefused,
    BackendUnauthorized,
    BackendUnreachable,
    NotAModel,
    RateLimited,
    ReplyTooLarge,
    TurnTimedOut,
)
from gateway.limits import (
    API_KEY_CHARS_MAX,
    CONNECT_TIMEOUT_S_DEFAULT,
    ERROR_BODY_BYTES_MAX,
    IDLE_TIMEOUT_S_DEFAULT,
    MODELS_BODY_BYTES_MAX,
    RATE_LIMIT_WAIT_S_DEFAULT,
    STREAM_BYTES_MAX,
)


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


_models = msgspec.json.Decoder(_Models)


class ApiKey:
    """Where the key lies: a variable of the environment, a file, or nowhere."""

    def __init__(self, surroundings: Surroundings, *, variable: str = "", file: str = "") -> None:
        assert not (variable and file), "a key has one place"
        self._surroundings = surroundings
        self._variable = variable
        self._path = surroundings.folder / file if file else None

    def headers(self) -> dict[str, str]:
        """The header that carries the key; none without one. Raises BackendUnauthorized."""
        if self._variable:
            key = self._surroundings.environ.get(self._variable, "").strip()
            place = f"The environment variable {self._variable}"
        elif self._path is not None:
            key = _private_text(self._path)
            place = f"The file {self._path.name}"
        else:
            return {}
        if not key:
            raise BackendUnauthorized(f"{place} holds no key.")
        # A line break in a header would let a key's file write headers of its own.
        if not key.isascii() or not key.isprintable() or len(key) > API_KEY_CHARS_MAX:
            raise BackendUnauthorized(f"{place} does not hold one line of printable ASCII.")
        return {"Authorization": f"Bearer {key}"}


class Endpoint:
    """`async with Endpoint(...)`: requests to one `base_url`, which has no slash at its end."""

    def __init__(
        self,
        base_url: str,
        *,
        key_headers: Callable[[], dict[str, str]],
        clock: Callable[[], int],
        connect_s: int = CONNECT_TIMEOUT_S_DEFAULT,
        idle_s: int = IDLE_TIMEOUT_S_DEFAULT,
    ) -> None:
        """`connect_s` bounds connecting, `idle_s` each wait for the next bytes."""
        assert not base_url.endswith("/"), "paths are added with their slash"
        self.base_url = base_url
        self._key_headers = key_headers
        self._clock = clock
        self._connect_s = connect_s
        self._idle_s = idle_s
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            # A kept connection to a server that has restarted would cost the next turn its life.
            connector=aiohttp.TCPConnector(force_close=True),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=self._connect_s, sock_read=self._idle_s
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._session is not None, "left once, after it was entered"
        await self._session.close()
        self._session = None

    async def models(self) -> tuple[str, ...]:
        """The models that the endpoint lists. Raises BackendError."""
        async with self._request("GET", "/models") as response:
            body = await _read(response, MODELS_BODY_BYTES_MAX)
        try:
            return tuple(model.id for model in _models.decode(body).data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise NotAModel(self.base_url, "/models is not a list of models") from None

    @asynccontextmanager
    async def completion(
        self, body: dict[str, object]
    ) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        """The bytes of a streamed answer to `body`, as they come. Raises BackendError.

        A connection that breaks while they come is a `BackendCut` without its partial text.
        """
        async with self._request("POST", "/chat/completions", body) as response:
            if response.content_type != "text/event-stream":
                raise NotAModel(self.base_url, f"it answered {response.content_type}, no stream")
            yield self._chunks(response)

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, body: dict[str, object] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response with status 200. Raises BackendError for every other answer, and for none."""
        assert self._session is not None, "used only while entered"
        headers = self._key_headers() | {"Accept-Encoding": "identity"}
        with self._named():
            async with self._session.request(
                method, self.base_url + path, json=body, headers=headers, allow_redirects=False
            ) as response:
                if response.status != 200:
                    raise await self._refusal(response)
                yield response

    async def _chunks(self, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
        """The body as it comes, up to the limit. Raises BackendError."""
        size = 0
        with self._named():
            async for chunk in response.content.iter_any():
                size += len(chunk)
                if size > STREAM_BYTES_MAX:
                    raise ReplyTooLarge("bytes", STREAM_BYTES_MAX)
                yield chunk

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Turns the HTTP library's errors into ours; none of them quotes a header."""
        try:
            yield
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError) as error:
            detail = getattr(error, "strerror", None) or "no connection in time"
            raise BackendUnreachable(self.base_url, detail) from None
        except aiohttp.SocketTimeoutError:
            raise TurnTimedOut(self._idle_s) from None
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            raise BackendCut("") from None
        except aiohttp.ClientError as error:
            raise NotAModel(self.base_url, f"no HTTP ({type(error).__name__})") from None

    async def _refusal(self, response: aiohttp.ClientResponse) -> Exception:
        """What a status other than 200 means."""
        status = response.status
        if status in (401, 403):
            return BackendUnauthorized(f"{self.base_url} refuses the key (HTTP {status}).")
        if status == 429:
            return RateLimited(retry_after_s(response.headers.get("Retry-After"), self._clock()))
        if 300 <= status < 400:
            return NotAModel(self.base_url, f"HTTP {status} redirects elsewhere")
        detail = problem_of(await _read(response, ERROR_BODY_BYTES_MAX))
        if status >= 500:
            return BackendFailed(f"The endpoint failed (HTTP {status}): {detail or 'no reason'}")
        if detail is None:
            return NotAModel(self.base_url, f"HTTP {status} without a reason")
        return BackendRefused(status, detail)


def retry_after_s(header: str | None, now_ms: int) -> int:
    """Whole seconds to wait, from a header in seconds or as a date; a default without one."""
    if header is None:
        return RATE_LIMIT_WAIT_S_DEFAULT
    if header.strip().isascii() and header.strip().isdigit():
        return int(header.strip()[:9])
    try:
        until_s = parsedate_to_datetime(header).timestamp()
    except (ValueError, OverflowError):
        return RATE_LIMIT_WAIT_S_DEFAULT
    return max(0, -int(-(until_s - now_ms / 1000) // 1))


async def _read(response: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    """The body's first `bytes_max` bytes; what is longer fails where it is decoded."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) >= bytes_max:
            break
    return bytes(body[:bytes_max])


def _private_text(path: os.PathLike[str]) -> str:
    """The text of a key's file that only its owner can read. Raises BackendUnauthorized."""
    name = os.path.basename(path)
    try:
        with open(path, encoding="ascii") as file:
            # A key that other accounts can read is no secret any more.
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise BackendUnauthorized(f"The file {name} can be read by others: chmod 600 it.")
            return file.read(API_KEY_CHARS_MAX + 2).strip()
    except (OSError, UnicodeDecodeError) as error:
        detail = getattr(error, "strerror", None) or "it is not ASCII"
        raise BackendUnauthorized(f"The file {name} cannot be read: {detail}.") from None
