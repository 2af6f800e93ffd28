"""Who else is on the local network, by multicast DNS (`_roommesh._tcp.local.`).

A node browses always (unless told not to) and advertises only while other machines may connect.
What is heard is a *sighting*: anybody can shout any name, so it is a hint that a person approves
on both sides or that helps to dial an install we know already; the handshake finds out who is
really there. Sightings are bounded and forgotten after SIGHTING_S.

The instance is named by the install id, never by the machine's or a person's name; the display
name stands in the record for people to recognise.
"""

import asyncio
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from zeroconf import IPVersion, ServiceStateChange, Zeroconf
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from mesh.core import ids
from mesh.core.errors import Malformed
from mesh.core.limits import ADDRESSES_PER_PEER_MAX, SIGHTING_S, SIGHTINGS_MAX
from mesh.ports import Clock
from mesh.telemetry import Log, Metrics
from mesh.transport.addresses import IpAddress, own_ips, vetted

SERVICE: Final = "_roommesh._tcp.local."
_RECORD_VERSION: Final = "1"
_LOOK_UPS_MAX: Final = 16  # at a time; a flood of records is not looked up, and comes again
_LOOK_UP_MS: Final = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """An unauthenticated hint that an install may be reachable. `heard_s` is monotonic."""

    install_id: str
    name: str
    addresses: tuple[str, ...]
    heard_s: float


class Sightings:
    """The bounded list of what was heard; the oldest goes first."""

    def __init__(self, our_install_id: str) -> None:
        self._ours = our_install_id
        self._by_install: dict[str, Sighting] = {}

    def put(self, sighting: Sighting) -> bool:
        """Remember one. True if it says something new; our own echo never does."""
        if sighting.install_id == self._ours or not sighting.addresses:
            return False
        before = self._by_install.pop(sighting.install_id, None)
        self._by_install[sighting.install_id] = sighting
        while len(self._by_install) > SIGHTINGS_MAX:
            del self._by_install[next(iter(self._by_install))]
        return before is None or (before.name, before.addresses) != (
            sighting.name,
            sighting.addresses,
        )

    def current(self, now_s: float) -> tuple[Sighting, ...]:
        """What was heard within SIGHTING_S, oldest first."""
        return tuple(s for s in self._by_install.values() if now_s - s.heard_s <= SIGHTING_S)


def read_record(
    properties: Mapping[bytes, bytes | None], ips: tuple[IpAddress, ...], port: int, now_s: float
) -> Sighting | None:
    """The sighting in a record, or None if it is not one of ours or not in order."""
    texts = {
        key.decode("ascii", "replace"): (value or b"").decode("utf-8", "replace")
        for key, value in properties.items()
    }
    if texts.get("v") != _RECORD_VERSION or not 0 < port <= 65_535:
        return None
    try:
        install_id = ids.check(ids.INSTALL, texts.get("id"), "id")
        name = ids.clean_name(texts.get("name"))
    except Malformed:
        return None
    urls = tuple(
        f"https://[{ip}]:{port}" if ip.version == 6 else f"https://{ip}:{port}"
        for ip in ips[: 2 * ADDRESSES_PER_PEER_MAX]
    )
    # Loopback and metadata addresses in a stranger's record are bait, not hints.
    return Sighting(
        install_id=install_id,
        name=name,
        addresses=vetted(urls, allow_loopback=False),
        heard_s=now_s,
    )


class Discovery:
    """Browses while it is open; advertises between `advertise` and `hush`.

    `on_sighting` is called with each hint that says something new.
    """

    def __init__(
        self,
        *,
        install_id: str,
        clock: Clock,
        log: Log,
        metrics: Metrics,
        on_sighting: Callable[[Sighting], None],
        interfaces: list[str] | None = None,
    ) -> None:
        self._install_id = install_id
        self._clock = clock
        self._log = log
        self._metrics = metrics
        self._on_sighting = on_sighting
        self._interfaces = interfaces
        self._sightings = Sightings(install_id)
        self._zeroconf: AsyncZeroconf | None = None
        self._browser: AsyncServiceBrowser | None = None
        self._record: AsyncServiceInfo | None = None
        self._tasks = asyncio.TaskGroup()
        self._look_ups: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Start to browse. Without a usable network it stays quiet and says so in the log."""
        await self._tasks.__aenter__()
        try:
            if self._interfaces is None:
                self._zeroconf = AsyncZeroconf()
            else:
                self._zeroconf = AsyncZeroconf(interfaces=self._interfaces)
        except OSError as error:
            self._log.warning("other installs are not looked for", text=str(error))
            return self
        self._browser = AsyncServiceBrowser(
            self._zeroconf.zeroconf, [SERVICE], handlers=[self._changed]
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._browser is not None:
            await self._browser.async_cancel()
        for task in self._look_ups:
            task.cancel()
        await self._tasks.__aexit__(kind, error, trace)
        if self._zeroconf is not None:
            await self._zeroconf.async_unregister_all_services()
            await self._zeroconf.async_close()

    @property
    def sightings(self) -> tuple[Sighting, ...]:
        """Who was heard lately."""
        return self._sightings.current(self._clock.now().mono_s)

    async def advertise(self, name: str, port: int, ips: tuple[IpAddress, ...] = ()) -> None:
        """Tell the local network that this install listens on `port`; `ips` default to our own."""
        if self._zeroconf is None:
            return
        await self.hush()
        addresses = (ips or own_ips())[:ADDRESSES_PER_PEER_MAX]
        label = self._install_id.replace(":", "-")
        self._record = AsyncServiceInfo(
            SERVICE,
            f"{label}.{SERVICE}",
            port=port,
            properties={"v": _RECORD_VERSION, "id": self._install_id, "name": name},
            server=f"{label}.local.",
            addresses=[ip.packed for ip in addresses],
        )
        await (await self._zeroconf.async_register_service(self._record))

    async def hush(self) -> None:
        """Take the advertisement back."""
        if self._zeroconf is not None and self._record is not None:
            record, self._record = self._record, None
            await (await self._zeroconf.async_unregister_service(record))

    def _changed(
        self, zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange
    ) -> None:
        # A goodbye forgets nothing: it is as unproved as the rest, and ends nobody's link.
        if state_change is ServiceStateChange.Removed:
            return
        if len(self._look_ups) < _LOOK_UPS_MAX:
            task = self._tasks.create_task(self._look_up(zeroconf, service_type, name))
            self._look_ups.add(task)
            task.add_done_callback(self._look_ups.discard)

    async def _look_up(self, zeroconf: Zeroconf, service_type: str, name: str) -> None:
        """Read the whole record, from the cache or by asking for what is missing."""
        record = AsyncServiceInfo(service_type, name)
        if not await record.async_request(zeroconf, _LOOK_UP_MS) or record.port is None:
            return
        found = record.ip_addresses_by_version(IPVersion.All)
        ips = tuple(ipaddress.ip_address(ip.packed) for ip in found)
        now_s = self._clock.now().mono_s
        sighting = read_record(record.properties, ips, record.port, now_s)
        if sighting is not None and self._sightings.put(sighting):
            self._metrics.sightings.set(len(self.sightings))
            self._on_sighting(sighting)
