"""The node's port in the terms of the rest of the node: where it is, how far it is open.

Wraps the listener, the certificate and the announcement on the local network, so that *Let other
machines connect* is one call that is applied live and remembered.
"""

from collections.abc import Callable, Sequence

from mesh.ports import Settings as SavedSettings
from mesh.storage.certificate import Certificate
from mesh.system import network_ips
from mesh.transport.discovery import Discovery
from mesh.transport.listener import Listener

LAN_SETTING = "lan"


class Port:
    """One port, open on loopback always and to the network on demand."""

    def __init__(
        self,
        *,
        listener: Listener,
        certificate: Certificate,
        discovery: Discovery | None,
        saved: SavedSettings,
        name: str,
        changed: Callable[[str], None],
    ) -> None:
        self._listener = listener
        self._certificate = certificate
        self._discovery = discovery
        self._saved = saved
        self._name = name
        self._changed = changed

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
            for ip in network_ips()
        ]

    def fingerprint(self) -> str:
        """The certificate's SHA-256 in groups."""
        return self._certificate.fingerprint()

    async def set_lan(self, enabled: bool) -> None:
        """Open or close the port to the network, announce it, and remember the choice.

        Raises:
            MeshError: reason `port_taken`; then nothing has changed.
        """
        await self.open(enabled)
        await self._saved.put(LAN_SETTING, "true" if enabled else "false")
        self._changed("links")

    async def open(self, lan: bool) -> None:
        """Apply a choice that is remembered already. Raises like `set_lan`."""
        if lan != self._listener.is_lan:
            self._listener.set_lan(lan)
        if self._discovery is not None:
            if lan:
                await self._discovery.advertise(self._name, self._listener.port)
            else:
                await self._discovery.hush()
