"""Which Host and Origin are ours. The answer to DNS rebinding and to foreign pages.

A browser can be made to resolve a stranger's name to our address (attack 53); it then sends that
name as Host. An IP literal cannot be rebound, our own names are ours, `public_url` and advertised
addresses were named by the operator. Cookies ignore ports, so two nodes on one machine share a
"site": only the exact Origin tells their pages apart. The peer's address decides nothing here,
for a proxy on this machine speaks from loopback too.
"""

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from mesh.core.errors import Refused

_HOST_CHARS_MAX = 255


def host_name(host: str) -> str | None:
    """The name part of a Host header in lower case, without port; None if it is malformed."""
    if not host or len(host) > _HOST_CHARS_MAX or any(c in host for c in "/@?#\\ ,"):
        return None
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018  (reading it checks it)
    except ValueError:
        return None
    return parts.hostname.removesuffix(".") if parts.hostname else None


def is_ip_literal(name: str) -> bool:
    """True for an IPv4 or IPv6 address written out."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class OwnHosts:
    """The names under which this node is asked."""

    def __init__(
        self, *, hostname: str, public_url: str = "", advertised: Iterable[str] = ()
    ) -> None:
        """`hostname` is this machine's; the URLs are the operator's settings."""
        short = hostname.lower().removesuffix(".").removesuffix(".local")
        self._names = {"localhost"}
        if short:
            self._names |= {short, f"{short}.local", short.split(".")[0] + ".local"}
        self._public_origin = _origin_of(public_url) if public_url else None
        for url in (public_url, *advertised):
            name = urlsplit(url).hostname if url else None
            if name:
                self._names.add(name)

    def check_host(self, host: str) -> None:
        """Refuse a Host that is not ours.

        Raises:
            Refused: reason `wrong_host`; the sentence names the setting, and not the given name.
        """
        name = host_name(host)
        if name is None or not (name in self._names or is_ip_literal(name)):
            raise Refused(
                "wrong_host",
                "The Host of this request is no name of this node.",
                next="Use an IP address, or name the host in the setting public_url.",
            )

    def check_origin(self, origin: str | None, *, scheme: str, host: str, required: bool) -> None:
        """Refuse a page that is not ours. `host` was checked before.

        Raises:
            Refused: reason `wrong_origin`.
        """
        if origin is None and not required:
            return
        own = f"{scheme}://{host}".lower()
        if origin is None or origin.lower() not in {own, self._public_origin}:
            raise Refused("wrong_origin", "Only this node's own page may ask this.")


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
