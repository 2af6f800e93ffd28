"""Which of a peer's candidates are tried, and which are ignored.

A candidate makes us send STUN requests to an address of a stranger's choice. So only UDP on
unprivileged ports is tried, only addresses that a person may have, only a few, and `CheckBudget`
bounds the requests whatever the library does with them. The answer never waits for a check, so
its timing tells nothing about what is reachable.

A `.local` name is not resolved: whoever answers the multicast would pick where we send, and an
absent one would cost seconds. Its owner reaches our candidates first, and is then known by the
address he came from.

Pure. It refuses nothing with an exception: a candidate that is not tried has a `Verdict`.
"""

import ipaddress
from dataclasses import dataclass
from enum import Enum
from typing import Final

from audio.limits import CANDIDATES_TRIED_MAX, CHECKS_PER_S_MAX

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_PORT_MIN: Final = 1_024


class Verdict(Enum):
    """Why a candidate is tried or not."""

    TRIED = "tried"
    MALFORMED = "malformed"
    NOT_UDP = "not_udp"
    COMPONENT = "component"
    HIDDEN_NAME = "hidden_name"
    ADDRESS = "address"
    NETWORK = "network"
    PORT = "port"
    DUPLICATE = "duplicate"
    TOO_MANY = "too_many"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One address at which a peer may be reached (RFC 8445)."""

    foundation: str
    component: int
    transport: str
    priority: int
    host: str
    port: int
    kind: str

    @property
    def line(self) -> str:
        """The value of its `a=candidate:` line."""
        return (
            f"{self.foundation} {self.component} {self.transport} {self.priority} "
            f"{self.host} {self.port} typ {self.kind}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Where peers may be: `networks`, or anywhere that is fit for a person when it is empty."""

    networks: tuple[Network, ...] = ()


ANYWHERE: Final = Policy()


def parse(line: str) -> Candidate | None:
    """Read a candidate line, with or without its name; None if it is none."""
    parts = line.removeprefix("a=").removeprefix("candidate:").split()
    if len(parts) < 8 or parts[6] != "typ" or len(parts[0]) > 32:
        return None
    component, priority, port = parts[1], parts[3], parts[5]
    if not all(_is_number(text) for text in (component, priority, port)):
        return None
    return Candidate(
        foundation=parts[0], component=int(component), transport=parts[2].lower(),
        priority=int(priority), host=parts[4], port=int(port), kind=parts[7],
    )


def judge(candidate: Candidate | None, policy: Policy) -> Verdict:
    """Whether a candidate may be tried, regardless of the others."""
    if candidate is None or candidate.kind not in ("host", "srflx", "prflx", "relay"):
        return Verdict.MALFORMED
    if candidate.transport != "udp":
        return Verdict.NOT_UDP
    if candidate.component != 1:
        return Verdict.COMPONENT
    if candidate.host.lower().endswith(".local"):
        return Verdict.HIDDEN_NAME
    try:
        address = ipaddress.ip_address(candidate.host)
    except ValueError:
        return Verdict.ADDRESS
    if isinstance(address, ipaddress.IPv6Address) and (
        address.ipv4_mapped or address.scope_id or address.is_site_local
    ):
        return Verdict.ADDRESS
    # Loopback would let a stranger's offer talk to services of this machine.
    if (
        address.is_loopback or address.is_multicast or address.is_unspecified
        or address.is_link_local or str(address) == "255.255.255.255"
    ):
        return Verdict.ADDRESS
    # Ports below are services (mail, names, files); no browser binds one.
    if not _PORT_MIN <= candidate.port <= 65_535:
        return Verdict.PORT
    if policy.networks and not any(address in network for network in policy.networks):
        return Verdict.NETWORK
    return Verdict.TRIED


def choose(
    candidates: tuple[Candidate | None, ...], policy: Policy
) -> tuple[tuple[Candidate, ...], tuple[Verdict, ...]]:
    """The candidates to try, best first, and a verdict for each one given."""
    verdicts = [judge(candidate, policy) for candidate in candidates]
    seen: set[tuple[str, int]] = set()
    fit: list[tuple[int, int]] = []
    for index, candidate in enumerate(candidates):
        if verdicts[index] is not Verdict.TRIED or candidate is None:
            continue
        if (candidate.host, candidate.port) in seen:
            verdicts[index] = Verdict.DUPLICATE
            continue
        seen.add((candidate.host, candidate.port))
        fit.append((-candidate.priority, index))
    fit.sort()
    for _, index in fit[CANDIDATES_TRIED_MAX:]:
        verdicts[index] = Verdict.TOO_MANY
    chosen = [candidates[index] for _, index in fit[:CANDIDATES_TRIED_MAX]]
    return tuple(one for one in chosen if one is not None), tuple(verdicts)


class CheckBudget:
    """How many datagrams of one kind may pass: `per_s`, with a burst of the same size."""

    def __init__(self, *, per_s: float = CHECKS_PER_S_MAX, burst: float | None = None) -> None:
        assert per_s > 0
        self._per_s = per_s
        self._burst = per_s if burst is None else burst
        self._left = self._burst
        self._at_s: float | None = None

    def spend(self, now_s: float) -> bool:
        """Whether one more may pass now."""
        if self._at_s is not None:
            self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10
