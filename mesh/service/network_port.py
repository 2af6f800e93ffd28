"""The node's port in the terms of the rest of the node: where it is, how far it is open.

*Let other machines connect* is one call here: applied live, announced on the local network, and
remembered for the next start.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from mesh.stores import Settings

_SETTING = "lan"


class Opens(Protocol):
    """The listener."""

    @property
    def port(self) -> int:
        """The port number."""
        ...

    @property
    def is_lan(self) -> bool:
        """True while other machines can connect."""
        ...

    def set_lan(self, enabled: bool) -> None:
        """Open or close it for other machines. Raises MeshError `port_taken`."""
        ...


class Announces(Protocol):
    """The announcement on the local network."""

    async def advertise(self, name: str, port: int, ips: tuple[Any, ...] = ()) -> None:
        """Tell who we are and where."""
        ...

    async def hush(self) -> None:
        """Stop telling."""
        ...


class NetworkPort:
    """One port, open on loopback always and to the network on demand."""

    def __init__(
        self,
        *,
        listener: Opens,
        announcement: Announces | None,
        fingerprint: Callable[[], str],
        network_ips: Callable[[], Sequence[str]],
        saved: Settings,
        name: str,
        changed: Callable[[str], None],
    ) -> None:
        self._listener = listener
        self._announcement = announcement
        self._network_ips = network_ips
        self._saved = saved
        self._name = name
        self._changed = changed
        self.fingerprint = fingerprint

    def loopback(self) -> str:
        """The page's address on this machine."""
        return f"http://127.0.0.1:{self._listener.port}"

    def loopback_link(self) -> str:
        """Where other nodes on this machine dial."""
        return f"https://127.0.0.1:{self._listener.port}"

    def lan(self) -> Sequence[str]:
        """Addresses that are open to the network; none while the port is closed to it."""
        if not self._listener.is_lan:
            return ()
        port = self._listener.port
        return [
            f"https://[{ip}]:{port}" if ":" in ip else f"https://{ip}:{port}"
            for ip in self._network_ips()
        ]

    async def set_lan(self, enabled: bool) -> None:
        """Open or close the port to the network, announce it, and remember the choice.

        Raises:
            MeshError: reason `port_taken`; then nothing has changed.
        """
        await self._apply(enabled)
        await self._saved.put(_SETTING, "true" if enabled else "false")
        self._changed("links")

    async def restore(self, chosen: bool | None) -> None:
        """Apply the choice of a flag or file, else the remembered one. Raises like `set_lan`."""
        await self._apply(await self._saved.get(_SETTING) == "true" if chosen is None else chosen)

    async def _apply(self, lan: bool) -> None:
        if lan != self._listener.is_lan:
            self._listener.set_lan(lan)
        if self._announcement is not None:
            if lan:
                await self._announcement.advertise(self._name, self._listener.port)
            else:
                await self._announcement.hush()
