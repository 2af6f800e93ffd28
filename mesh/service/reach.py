"""How far away an invitation works, in one word and one address.

`this_machine`: only loopback is listened on. `lan`: the node listens on its network. `public`:
somebody gave an address that is not private (`--advertise`, `public_url`). Said before the link
is handed out, because a link that nobody can reach looks like one that was refused.
"""

import ipaddress
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit


class Reach:
    """The addresses under which this node may be reached now, best first."""

    def __init__(
        self,
        *,
        advertised: Sequence[str],
        lan: Callable[[], Sequence[str]],
        loopback: Callable[[], str],
        page: Callable[[], str],
    ) -> None:
        """`lan` gives the addresses that are open to the network, none when it is closed.

        On this machine nodes dial `loopback`, and browsers open `page`.
        """
        self._advertised = tuple(advertised)
        self._lan = lan
        self._loopback = loopback
        self._page = page

    def addresses(self) -> tuple[str, ...]:
        """Addresses for other nodes: a loopback address only where there is nothing better."""
        return self._wide() or (self._loopback(),)

    def base(self) -> str:
        """The address that stands in a link.

        Where only this machine can open it, it is that of the page: a browser would be warned
        of our own certificate for nothing.
        """
        return next(iter(self._wide()), None) or self._page()

    def word(self) -> str:
        """`public`, `lan` or `this_machine`."""
        if any(_is_public(url) for url in self._advertised):
            return "public"
        return "lan" if any(not _is_loopback(url) for url in self._wide()) else "this_machine"

    def _wide(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._advertised, *self._lan())))


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _is_loopback(url: str) -> bool:
    host = _host(url)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_public(url: str) -> bool:
    host = _host(url)
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith((".local", ".lan", ".internal", ".home.arpa"))
