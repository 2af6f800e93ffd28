"""`/.well-known/roommesh`: who answers here, signed, for those who hold nothing but an address.

The answer is `{"payload", "signature"}`, both base64url. The payload is canonical JSON
`{"install_id", "keys", "key_signatures", "link_versions", "version"}`; the signature is the
current key's over these very bytes, of kind `node`. It proves the key chain, not the connection:
that is the handshake's work.
"""

from collections.abc import Sequence

import msgspec
from aiohttp import web

from mesh.core import canonical, ids
from mesh.core.identity import KeyChain, SigningKey


def document(
    *, chain: KeyChain, key: SigningKey, version: str, link_versions: Sequence[int]
) -> bytes:
    """The signed body."""
    assert key.public == chain.current, "only the current key speaks for the install"
    payload = canonical.encode(
        {
            "install_id": chain.install_id,
            "keys": [ids.b64(public) for public in chain.keys],
            "key_signatures": [ids.b64(signature) for signature in chain.signatures],
            "link_versions": list(link_versions),
            "version": version,
        }
    )
    signed = {"payload": ids.b64(payload), "signature": ids.b64(key.sign("node", payload))}
    return msgspec.json.encode(signed)


class WellKnown:
    """The route over a body that was signed once."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def get(self, request: web.Request) -> web.Response:
        """Answer the document to anyone."""
        return web.Response(body=self._body, content_type="application/json")
