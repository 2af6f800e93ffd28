"""This machine's clocks, randomness and network addresses, behind the node's ports.

`CLOCK_BOOTTIME` counts the time a laptop sleeps, so that a deadline that passed while the lid was
closed has passed. macOS's monotonic clock in libc counts it too.
"""

import os
import random
import secrets
import socket
import time

import ifaddr

from mesh.core.inputs import Now

_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_random = random.SystemRandom()


class SystemClock:
    """`ports.Clock` on this machine."""

    def now(self) -> Now:
        """Read both clocks."""
        return Now(wall_ms=time.time_ns() // 1_000_000, mono_s=time.clock_gettime(_MONOTONIC))


class SystemEntropy:
    """`ports.Entropy` on this machine."""

    def bytes(self, count: int) -> bytes:
        """Unpredictable bytes."""
        return secrets.token_bytes(count)

    def uniform(self, low: float, high: float) -> float:
        """A number between."""
        return _random.uniform(low, high)


def hostname() -> str:
    """This machine's name, without its domain."""
    return socket.gethostname().partition(".")[0] or "machine"


def person_name() -> str:
    """How the person at this machine is called, as far as the system knows."""
    return os.environ.get("USER") or os.environ.get("LOGNAME") or hostname()


def network_ips() -> tuple[str, ...]:
    """Addresses of this machine that others on its networks may reach, IPv4 first."""
    found: list[str] = []
    for adapter in ifaddr.get_adapters():
        for ip in adapter.ips:
            text = ip.ip if isinstance(ip.ip, str) else ip.ip[0]
            scoped = not isinstance(ip.ip, str) and ip.ip[2] != 0
            if text.startswith("127.") or text == "::1" or scoped or text in found:
                continue
            if text.startswith("169.254.") or text.startswith("fe80"):
                continue
            found.append(text)
    return tuple(sorted(found, key=lambda text: ":" in text))
