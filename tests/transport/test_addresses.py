"""Every address that somebody else named is vetted before it is dialed."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Malformed, MeshError, Refused
from mesh.core.limits import ADDRESSES_PER_PEER_MAX
from mesh.transport.addresses import VettedResolver, own_ips, vet_ip, vet_url, vetted
from tests.transport.nodes import FixedResolver


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://192.168.1.4:7420", "https://192.168.1.4:7420"),
        ("wss://Laptop.LOCAL:7420/", "https://laptop.local:7420"),
        ("https://mesh.example.org", "https://mesh.example.org:443"),
        ("https://[2001:DB8:0::1]:7420", "https://[2001:db8::1]:7420"),
        ("https://[fd12::1]:7420", "https://[fd12::1]:7420"),
        ("http://127.0.0.1:7421", "http://127.0.0.1:7421"),
        ("ws://localhost:7421", "http://localhost:7421"),
        ("http://[::1]:80", "http://[::1]:80"),
        ("https://xn--bcher-kva.example:7420", "https://xn--bcher-kva.example:7420"),
    ],
)
def test_an_honest_address_is_brought_into_one_form(url: str, canonical: str) -> None:
    assert vet_url(url).url == canonical
    assert vet_url(canonical).url == canonical


@pytest.mark.parametrize(
    "url",
    [
        "",
        "192.168.1.4:7420",
        "ftp://192.168.1.4:7420",
        "file:///etc/passwd",
        "https://user:secret@192.168.1.4:7420",
        "https://192.168.1.4:7420@evil.example",
        "https://192.168.1.4:7420/rpc",
        "https://192.168.1.4:7420?x",
        "https://192.168.1.4:7420#x",
        "https://192.168.1.4:7420\r\nX: y",
        "https://192.168.1.4:7420\n",
        " https://192.168.1.4:7420",
        "https://192.168.1.4:0",
        "https://192.168.1.4:65536",
        "https://192.168.1.4:07420",
        "https://host.example.:7420",
        "https://host..example:7420",
        "https://-host.example:7420",
        "https://ho_st.example:7420",
        "https://höst.example:7420",
        "https://2130706433:7420",
        "https://0x7f000001:7420",
        "https://0x7f.0.0.1:7420",
        "https://0177.0.0.1:7420",
        "https://127.1:7420",
        "https://1.2.3.4.5:7420",
        "https://[::1:7420",
        "https://[fe80::1%25eth0]:7420",
        "https://[1.2.3.4]x:7420",
        "https://" + "a" * 300,
        "https://\u2460.example",
    ],
)
def test_what_is_not_plainly_an_address_is_malformed(url: str) -> None:
    with pytest.raises(Malformed):
        vet_url(url)


@pytest.mark.parametrize(
    "ip",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "100.100.100.200",
        "fd00:ec2::254",
        "0.0.0.0",
        "0.1.2.3",
        "::",
        "::ffff:0.0.0.0",
        "224.0.0.251",
        "239.255.255.250",
        "255.255.255.255",
        "240.0.0.1",
        "ff02::fb",
        "fe80::1",
    ],
)
def test_networks_no_node_lives_in_are_refused(ip: str) -> None:
    with pytest.raises(Refused) as caught:
        vet_ip(ipaddress.ip_address(ip))
    assert caught.value.reason == "forbidden"
    host = f"[{ip}]" if ":" in ip else ip
    with pytest.raises(MeshError):
        vet_url(f"https://{host}:7420")


@pytest.mark.parametrize(
    "ip", ["10.0.0.4", "192.168.1.4", "172.16.0.9", "fd12::1", "::ffff:10.0.0.4"]
)
def test_private_addresses_are_ordinary_unless_said_otherwise(ip: str) -> None:
    vet_ip(ipaddress.ip_address(ip))
    with pytest.raises(Refused):
        vet_ip(ipaddress.ip_address(ip), allow_private=False)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:22", "https://127.9.9.9:1", "https://[::1]:1", "https://localhost:1"]
)
def test_loopback_is_for_this_machine_only(url: str) -> None:
    assert vet_url(url).is_loopback
    with pytest.raises(Refused):
        vet_url(url, allow_loopback=False)


def test_plain_http_leaves_this_machine_never() -> None:
    with pytest.raises(Refused, match="only https"):
        vet_url("http://192.168.1.4:7420")
    with pytest.raises(Refused):
        vet_url("https://sub.localhost:1")


def test_a_list_of_hints_keeps_the_good_ones_in_order_and_bounded() -> None:
    urls = ("nonsense", "https://10.0.0.1:1", "https://10.0.0.1:1/", "https://169.254.169.254:1")
    assert vetted(urls, allow_loopback=True) == ("https://10.0.0.1:1",)
    many = tuple(f"https://10.0.0.{n}:1" for n in range(1, 100))
    assert vetted(many, allow_loopback=True) == many[:ADDRESSES_PER_PEER_MAX]


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        address = vet_url(text)
    except MeshError:
        return
    assert vet_url(address.url) == address


def test_our_own_addresses_can_be_dialed_by_others() -> None:
    for ip in own_ips():
        vet_ip(ip, allow_loopback=False)


async def test_a_name_leads_only_where_an_address_may() -> None:
    resolver = VettedResolver(FixedResolver("169.254.169.254", "127.0.0.1", "192.168.1.4"))
    found = await resolver.resolve("peer.example", 7420)
    assert [entry["host"] for entry in found] == ["192.168.1.4"]


async def test_a_name_that_leads_nowhere_good_has_no_address() -> None:
    with pytest.raises(OSError, match="no address"):
        await VettedResolver(FixedResolver("127.0.0.1", "0.0.0.0")).resolve("peer.example", 1)
    local = await VettedResolver(FixedResolver("127.0.0.1")).resolve("localhost", 1)
    assert len(local) == 1


async def test_the_system_resolves_localhost() -> None:
    resolver = VettedResolver()
    assert await resolver.resolve("localhost", 1)
    await resolver.close()
