"""A bad network in user space: a UDP relay that loses, delays, reorders and doubles by a seed.

It stands between a participant and the engine because the descriptions say so: `through` takes the
offer's candidates away and puts the relay's address into the answer. The kernel's own means (netem)
are not everywhere; this one needs no rights and gives the same losses for the same seed.
"""

import asyncio
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """What happens to datagrams of media. Handshakes pass, so that every run begins alike.

    `loss` is the chance of one being lost; `burst` the chance of the next after a lost one
    (None: as any other). `jitter_s` is added evenly from 0; `double` and `reorder` are chances.
    """

    loss: float = 0.0
    burst: float | None = None
    delay_s: float = 0.0
    jitter_s: float = 0.0
    double: float = 0.0
    reorder: float = 0.0


class _Side(asyncio.DatagramProtocol):
    def __init__(self, take: Callable[[bytes, tuple[str, int]], None]) -> None:
        self.take = take
        self.transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.take(data, addr)


class ImpairedPath:
    """The relay, as an asynchronous context manager. `up` is towards the engine."""

    def __init__(self, seed: int, *, up: Weather | None = None,
                 down: Weather | None = None) -> None:
        self.seed = seed
        self.up, self.down = up or Weather(), down or Weather()
        self.counts = {"passed": 0, "lost": 0}
        self._chance = random.Random(seed)
        self._was_lost = {True: False, False: False}
        self._member: tuple[str, int] | None = None
        self._engine: tuple[str, int] | None = None
        self._is_open = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._is_open = False
        if self._engine is not None:
            self._near.transport.close()
            self._far.transport.close()

    @property
    def lost_share(self) -> float:
        """The loss as it was, for the log beside the seed."""
        return self.counts["lost"] / max(1, self.counts["lost"] + self.counts["passed"])

    async def answer_through(self, text: str) -> str:
        """The answer with the relay's address instead of the engine's."""
        found = re.findall(r"a=candidate:\S+ 1 udp \d+ (\d+\.\d+\.\d+\.\d+) (\d+) typ host", text)
        host, port = found[0]
        self._engine = (host, int(port))
        loop = asyncio.get_running_loop()
        _, self._near = await loop.create_datagram_endpoint(
            lambda: _Side(self._from_member), local_addr=(host, 0))
        _, self._far = await loop.create_datagram_endpoint(
            lambda: _Side(self._from_engine), local_addr=(host, 0))
        own = self._near.transport.get_extra_info("sockname")
        lines = [line for line in text.split("\r\n") if not line.startswith("a=candidate")]
        lines.insert(-1, f"a=candidate:1 1 udp 2130706431 {own[0]} {own[1]} typ host")
        return "\r\n".join(lines)

    def cut(self) -> None:
        """Nothing passes any more, not even the handshake's kind."""
        self._is_open = False

    def _from_member(self, data: bytes, address: tuple[str, int]) -> None:
        self._member = address
        self._carry(data, self.up, is_up=True)

    def _from_engine(self, data: bytes, address: tuple[str, int]) -> None:
        self._carry(data, self.down, is_up=False)

    def _carry(self, data: bytes, weather: Weather, *, is_up: bool) -> None:
        if not self._is_open:
            return
        if not 128 <= data[0] <= 191:
            self._later(data, weather.delay_s, is_up=is_up)
            return
        chance = weather.loss
        if self._was_lost[is_up] and weather.burst is not None:
            chance = weather.burst
        self._was_lost[is_up] = self._chance.random() < chance
        self.counts["lost" if self._was_lost[is_up] else "passed"] += 1
        if self._was_lost[is_up]:
            return
        delay_s = weather.delay_s + self._chance.random() * weather.jitter_s
        if self._chance.random() < weather.reorder:
            delay_s += 0.03
        self._later(data, delay_s, is_up=is_up)
        if self._chance.random() < weather.double:
            self._later(data, delay_s + 0.005, is_up=is_up)

    def _later(self, data: bytes, delay_s: float, *, is_up: bool) -> None:
        if delay_s <= 0:
            self._send(data, is_up=is_up)
        else:
            asyncio.get_running_loop().call_later(delay_s, self._send_late, data, is_up)

    def _send_late(self, data: bytes, is_up: bool) -> None:
        if self._is_open:
            self._send(data, is_up=is_up)

    def _send(self, data: bytes, *, is_up: bool) -> None:
        if is_up:
            assert self._engine is not None
            self._far.transport.sendto(data, self._engine)
        elif self._member is not None:
            self._near.transport.sendto(data, self._member)
