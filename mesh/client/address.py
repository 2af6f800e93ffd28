"""Where the node is: found anew on every try, and let in by its token only.

Through a home the address and token come from `control.json`, which a restarted node writes anew.
A pinned fingerprint is the only trust in a self-signed certificate: nothing else is accepted then.
"""

import asyncio
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from mesh.client.control_file import read_control
from mesh.client.errors import RequestRejected, Unreachable

OPEN_S: Final = 5.0
CLOSE_S: Final = 2.0
HEARTBEAT_S: Final = 20.0
ANSWER_BYTES_MAX: Final = 64 << 20
_REASONS: Final = {401: "unauthenticated", 403: "wrong_origin", 421: "wrong_host"}

Socket = Any
"""aiohttp's client WebSocket, generic in a way its own annotations cannot express."""


class Address:
    """A home, or a URL with its token."""

    def __init__(
        self,
        home: str | Path | None,
        *,
        url: str | None,
        token: str | None,
        fingerprint: str | None,
    ) -> None:
        """As `mesh.client.connect`.

        Raises:
            ValueError: only one of `url` and `token`, or a fingerprint that is none.
        """
        if (url is None) != (token is None):
            raise ValueError("url and token go together")
        self._home = home
        self._url = url.rstrip("/") if url else None
        self._token = token
        self._pin = _pin(fingerprint) if fingerprint else None

    @property
    def is_fixed(self) -> bool:
        """True for a URL: a refusal there is final, for its token cannot change."""
        return self._url is not None

    async def open(self, session: aiohttp.ClientSession) -> Socket:
        """One try to open the WebSocket.

        Raises:
            Unreachable: no node answers there.
            RequestRejected: it does, and does not let us in.
        """
        if self._url is None or self._token is None:
            control = read_control(self._home)
            url, token = control.url, control.token
        else:
            url, token = self._url, self._token
        options: dict[str, Any] = {"ssl": self._pin} if self._pin else {}
        try:
            async with asyncio.timeout(OPEN_S):
                return await session.ws_connect(
                    f"{url}/rpc",
                    headers={"Authorization": f"Bearer {token}"},
                    heartbeat=HEARTBEAT_S,
                    max_msg_size=ANSWER_BYTES_MAX,
                    decode_text=False,
                    timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_S),
                    **options,
                )
        except aiohttp.WSServerHandshakeError as error:
            raise _refused(url, error.status) from None
        except aiohttp.ServerFingerprintMismatch:
            raise Unreachable(
                f"The certificate at {url} has another fingerprint.",
                next="Compare it with the one that the node prints.",
            ) from None
        except (aiohttp.ClientError, OSError, TimeoutError):
            raise Unreachable(f"No node answers at {urlsplit(url).netloc}.") from None


def _pin(fingerprint: str) -> aiohttp.Fingerprint:
    digest = fingerprint.lower().removeprefix("sha256:").replace(":", "")
    return aiohttp.Fingerprint(bytes.fromhex(digest))


def _refused(url: str, status: int) -> RequestRejected | Unreachable:
    if status not in _REASONS:
        return Unreachable(
            f"What answers at {url} is not a node ({status}).",
            next="Check the address and its port.",
        )
    return RequestRejected(
        _REASONS[status],
        "The node does not let this program in.",
        next="Connect through the home's control.json; its token is new at each start.",
        status=status,
    )
