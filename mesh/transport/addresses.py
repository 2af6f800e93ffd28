"""One vetting function for every address that came from somebody else.

An address hint is a URL from an invitation, a handshake or a sighting. Before anything is
dialed, `vet_url` takes it apart strictly and refuses what could turn a dial into something
else: credentials, control characters, other schemes, numbers that only some parsers take for an
IP address, and networks no node lives in (cloud metadata, multicast, unspecified). Names are
resolved by `VettedResolver`, which applies the same rules to what they resolve to, and the
connection goes to exactly that address: there is no second look-up to lie to.

Nodes live on local networks, so private addresses are ordinary here. Loopback is accepted only
where the caller says that the hint comes from this machine's own user or over a local link.
"""

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import Final

import ifaddr
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from mesh.core.errors import Malformed, Refused
from mesh.core.limits import ADDRESS_CHARS_MAX, ADDRESSES_PER_PEER_MAX

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_URL: Final = re.compile(
    r"(?P<scheme>https?|wss?)://"
    r"(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?/?"
)
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# `0x7f.1`, `2130706433`, `017700000001`: some resolvers read these as addresses, we never do.
_NUMERIC_TAIL: Final = re.compile(r"(?:.*\.)?(?:0x[0-9a-f]*|[0-9]+)")
_PLAIN: Final = frozenset({"http", "ws"})

# Where clouds answer with credentials to whoever asks from inside.
_METADATA: Final = frozenset(
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254")
)
_THIS_NETWORK: Final = ipaddress.IPv4Network("0.0.0.0/8")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A vetted place to dial. `ip` is None where `host` is a name still to be resolved."""

    is_tls: bool
    host: str
    port: int
    ip: IpAddress | None

    @property
    def url(self) -> str:
        """The canonical form: https or http, host in lower case, port, no path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_tls else 'http'}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """True if it can only be this machine."""
        return self.host == "localhost" or (self.ip is not None and self.ip.is_loopback)

    @property
    def is_public_name(self) -> bool:
        """True for a DNS name for which the world's certificate authorities could vouch."""
        return self.ip is None and "." in self.host and not self.host.endswith(".local")


def vet_url(url: str, *, allow_private: bool = True, allow_loopback: bool = True) -> Address:
    """Take a node's URL apart, strictly. A path other than `/` is refused too.

    Raises:
        Malformed: not a plain `scheme://host[:port]` URL.
        Refused: reason `forbidden`, an address no node is dialed at (see `vet_ip`), or plain
            HTTP to another machine.
    """
    found = _URL.fullmatch(url) if len(url) <= ADDRESS_CHARS_MAX else None
    if found is None:
        raise Malformed("invalid_params", "The address is not https://HOST:PORT.")
    is_tls = found["scheme"] not in _PLAIN
    port = int(found["port"] or (443 if is_tls else 80))
    if port > 65_535:
        raise Malformed("invalid_params", "The port is above 65535.")
    host = found["host"].lower().strip("[]")
    ip = _ip_of(host)
    if ip is not None:
        host = str(ip)
        vet_ip(ip, allow_private=allow_private, allow_loopback=allow_loopback)
    elif host == "localhost" or host.endswith(".localhost"):
        if not allow_loopback or host != "localhost":
            raise Refused("forbidden", f"{host} is not an address of another machine.")
    address = Address(is_tls=is_tls, host=host, port=port, ip=ip)
    if not is_tls and not address.is_loopback:
        raise Refused("forbidden", "Between machines only https is dialed.")
    return address


def vet_ip(ip: IpAddress, *, allow_private: bool = True, allow_loopback: bool = True) -> None:
    """Refuse an address that no node is dialed at.

    Raises:
        Refused: reason `forbidden`.
    """
    inner = _unwrapped(ip)
    refused = (
        inner in _METADATA
        or inner.is_unspecified
        or inner.is_multicast
        or (inner.is_reserved and not inner.is_loopback)
        or (inner.version == 4 and inner in _THIS_NETWORK)
        or (inner.version == 6 and inner.is_link_local)
        or (inner.is_loopback and not allow_loopback)
        or (inner.is_private and not inner.is_loopback and not allow_private)
    )
    if refused:
        raise Refused("forbidden", f"{ip} is not an address at which a node is dialed.")


def vetted(urls: tuple[str, ...], *, allow_loopback: bool) -> tuple[str, ...]:
    """The canonical forms of those that pass, in order, without doubles, bounded."""
    kept: dict[str, None] = {}
    for url in urls:
        try:
            kept[vet_url(url, allow_loopback=allow_loopback).url] = None
        except (Malformed, Refused):
            continue
    return tuple(kept)[:ADDRESSES_PER_PEER_MAX]


def own_ips() -> tuple[IpAddress, ...]:
    """This machine's addresses that others may dial, private IPv4 first."""
    found: list[IpAddress] = []
    for adapter in ifaddr.get_adapters():
        for entry in adapter.ips:
            text = entry.ip if isinstance(entry.ip, str) else entry.ip[0]
            ip = ipaddress.ip_address(text)
            if not (ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified):
                found.append(ip)
    unique = dict.fromkeys(found)
    return tuple(sorted(unique, key=lambda ip: (ip.version, not ip.is_private, int(ip))))


class VettedResolver(AbstractResolver):
    """Resolves names as the system does, and drops every address that `vet_ip` refuses."""

    def __init__(self, inner: AbstractResolver | None = None) -> None:
        self._inner = inner or ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of `host` that may be dialed.

        Raises:
            OSError: the name has none.
        """
        kept: list[ResolveResult] = []
        for entry in await self._inner.resolve(host, port, family):
            try:
                # A name that resolves to loopback is a rebinding trick, unless it says so.
                vet_ip(
                    ipaddress.ip_address(entry["host"].partition("%")[0]),
                    allow_loopback=host == "localhost",
                )
            except Refused:
                continue
            kept.append(entry)
        if not kept:
            raise OSError(None, "the name has no address at which a node is dialed")
        return kept

    async def close(self) -> None:
        """Release what the system's resolver holds."""
        await self._inner.close()


def _ip_of(host: str) -> IpAddress | None:
    """The IP literal in `host`, None for a DNS name.

    Raises:
        Malformed: neither, or a number in a form that parsers disagree about.
    """
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    if _NUMERIC_TAIL.fullmatch(host) or not all(map(_LABEL.fullmatch, host.split("."))):
        raise Malformed("invalid_params", "The host is neither a name nor an IP address.")
    return None


def _unwrapped(ip: IpAddress) -> IpAddress:
    """The IPv4 address that an IPv6 one carries inside, if it does."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else ip)
