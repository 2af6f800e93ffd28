"""Sightings are hints: bounded, cleaned, and never more."""

import asyncio
import ipaddress

import pytest

from mesh.core.limits import SIGHTING_S, SIGHTINGS_MAX
from mesh.telemetry import Metrics
from mesh.transport import discovery
from mesh.transport.discovery import Discovery, Sighting, Sightings, read_record
from tests.transport.nodes import KeptLog, SkippingClock, an_end

OURS, THEIRS = (an_end(seed).chain.install_id for seed in (1, 2))
IP = ipaddress.ip_address("192.168.1.4")


def a_sighting(number: int, name: str = "laptop") -> Sighting:
    return Sighting(
        install_id=f"install:{number:032x}",
        name=name,
        addresses=("https://192.168.1.4:7420",),
        heard_s=float(number),
    )


def a_record(**changed: bytes | None) -> dict[bytes, bytes | None]:
    record = {b"v": b"1", b"id": THEIRS.encode(), b"name": b"laptop"}
    return record | {key.encode(): value for key, value in changed.items()}


def test_a_record_in_order_is_a_sighting() -> None:
    ips = (IP, ipaddress.ip_address("fd12::1"), ipaddress.ip_address("127.0.0.1"))
    assert read_record(a_record(), ips, 7420, 5.0) == Sighting(
        install_id=THEIRS,
        name="laptop",
        addresses=("https://192.168.1.4:7420", "https://[fd12::1]:7420"),
        heard_s=5.0,
    )


@pytest.mark.parametrize(
    "record",
    [
        {},
        a_record(v=b"2"),
        a_record(id=b"install:XYZ"),
        a_record(id=None),
        a_record(name=b""),
        a_record(name="\u200b".encode()),
        a_record(name=b"x" * 200),
        a_record(id=b"\xff\xfe"),
    ],
)
def test_a_record_out_of_order_is_nothing(record: dict[bytes, bytes | None]) -> None:
    assert read_record(record, (IP,), 7420, 0.0) is None
    assert read_record(a_record(), (IP,), 0, 0.0) is None


def test_a_name_that_deceives_is_cleaned() -> None:
    found = read_record(a_record(name="lap\u202etop".encode()), (IP,), 7420, 0.0)
    assert found is not None
    assert found.name == "laptop"


def test_bait_is_not_an_address() -> None:
    bait = ("127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1")
    found = read_record(a_record(), tuple(map(ipaddress.ip_address, bait)), 7420, 0.0)
    assert found is not None
    assert found.addresses == ()
    assert not Sightings(OURS).put(found)


def test_only_what_is_new_is_news() -> None:
    kept = Sightings("install:" + "f" * 32)
    assert kept.put(a_sighting(1))
    assert not kept.put(a_sighting(1))
    assert kept.put(a_sighting(1, name="desktop"))
    assert [sighting.name for sighting in kept.current(1.0)] == ["desktop"]


def test_our_own_echo_is_not_a_sighting() -> None:
    assert not Sightings(a_sighting(1).install_id).put(a_sighting(1))


def test_a_flood_drops_the_oldest_and_old_ones_are_forgotten() -> None:
    kept = Sightings(OURS)
    for number in range(SIGHTINGS_MAX + 10):
        kept.put(a_sighting(number))
    found = kept.current(float(SIGHTINGS_MAX))
    assert len(found) == SIGHTINGS_MAX
    assert found[0] == a_sighting(10)
    assert kept.current(SIGHTING_S + SIGHTINGS_MAX + 10) == ()


async def test_two_nodes_see_each_other_on_a_real_network() -> None:
    """Multicast on loopback; an address of the local network stands in the record."""
    seen: asyncio.Queue[Sighting] = asyncio.Queue()

    def a_discovery(install_id: str) -> Discovery:
        return Discovery(
            install_id=install_id,
            clock=SkippingClock(),
            log=KeptLog(),
            metrics=Metrics(),
            on_sighting=seen.put_nowait,
            interfaces=["127.0.0.1"],
        )

    async with asyncio.timeout(15), a_discovery(OURS) as browsing, a_discovery(THEIRS) as telling:
        await telling.advertise("node 2", 7420, (IP,))
        found = await seen.get()
        assert (found.install_id, found.name) == (THEIRS, "node 2")
        assert found.addresses == ("https://192.168.1.4:7420",)
        assert [s.install_id for s in browsing.sightings] == [THEIRS]
        assert telling.sightings == ()
        await telling.advertise("node two", 7421, (IP,))
        while (again := await seen.get()).name != "node two":
            pass
        assert again.addresses == ("https://192.168.1.4:7421",)
        await telling.hush()
        await telling.hush()


async def test_without_a_network_nothing_is_seen_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_network() -> None:
        raise OSError("no network")

    monkeypatch.setattr(discovery, "AsyncZeroconf", no_network)
    log = KeptLog()
    async with Discovery(
        install_id=OURS,
        clock=SkippingClock(),
        log=log,
        metrics=Metrics(),
        on_sighting=lambda _: None,
    ) as alone:
        await alone.advertise("node 1", 7420)
        await alone.hush()
        assert alone.sightings == ()
    assert log.events("warning") == ["other installs are not looked for"]
