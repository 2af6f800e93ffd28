"""`peers.*`: the installs this node has met. Shapes are those of docs/surface.md."""

from collections.abc import Sequence
from typing import Any

from mesh.client.request import Request


class Peers:
    """Other installs."""

    def __init__(self, request: Request) -> None:
        """Made by the connection."""
        self._request = request

    async def list(self) -> Sequence[dict[str, Any]]:
        """All of them, with the state of the link."""
        peers: Sequence[dict[str, Any]] = (await self._request("peers.list"))["peers"]
        return peers

    async def show(self, install_id: str) -> dict[str, Any]:
        """One of them."""
        return await self._request("peers.show", {"install_id": install_id})

    async def ping(self, install_id: str) -> int:
        """The round trip over its link, in microseconds."""
        return int((await self._request("peers.ping", {"install_id": install_id}))["rtt_us"])
