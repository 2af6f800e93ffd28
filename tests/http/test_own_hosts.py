"""Names that are ours, and pages that are not."""

import pytest

from mesh.core.errors import Refused
from mesh.http.own_hosts import OwnHosts, host_name

HOSTS = OwnHosts(
    hostname="Desk.example",
    public_url="https://rooms.example.org",
    advertised=["https://vpn.example.net:7420"],
)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:7420",
        "127.0.0.1",
        "[::1]:7420",
        "192.168.1.9:7420",
        "localhost:7420",
        "LOCALHOST",
        "localhost.",
        "desk.example:1",
        "desk.example.local",
        "desk.local",
        "rooms.example.org",
        "vpn.example.net:7420",
    ],
)
def test_our_names_are_taken(host: str) -> None:
    HOSTS.check_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "127.1",
        "2130706433",
        "user@127.0.0.1",
        "127.0.0.1/x",
        "127.0.0.1 x",
        "127.0.0.1:99999",
        "[::1",
        "127.0.0.1,evil.example",
        "x" * 300,
        ":7420",
        "example.org",
    ],
)
def test_other_names_are_refused_and_the_setting_is_named(host: str) -> None:
    with pytest.raises(Refused) as refusal:
        HOSTS.check_host(host)
    assert refusal.value.reason == "wrong_host"
    assert refusal.value.status == 421
    assert "public_url" in refusal.value.next
    assert "evil" not in refusal.value.message


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:7420", "HTTP://127.0.0.1:7420", "https://rooms.example.org"]
)
def test_our_page_is_taken(origin: str) -> None:
    HOSTS.check_origin(origin, scheme="http", host="127.0.0.1:7420", required=True)


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://127.0.0.1:7421",
        "https://127.0.0.1:7420",
        "http://127.0.0.1",
        "http://localhost:7420",
        "http://evil.example",
        "http://rooms.example.org",
        "",
    ],
)
@pytest.mark.parametrize("required", [True, False])
def test_another_page_is_refused(origin: str, required: bool) -> None:
    with pytest.raises(Refused) as refusal:
        HOSTS.check_origin(origin, scheme="http", host="127.0.0.1:7420", required=required)
    assert (refusal.value.reason, refusal.value.status) == ("wrong_origin", 403)


def test_no_origin_is_refused_only_where_a_browser_would_send_one() -> None:
    HOSTS.check_origin(None, scheme="http", host="127.0.0.1", required=False)
    with pytest.raises(Refused):
        HOSTS.check_origin(None, scheme="http", host="127.0.0.1", required=True)


def test_without_a_public_url_nothing_stands_for_it() -> None:
    plain = OwnHosts(hostname="desk")
    with pytest.raises(Refused):
        plain.check_origin("", scheme="http", host="x", required=False)
    with pytest.raises(Refused):
        plain.check_host("rooms.example.org")


def test_a_host_is_read_without_its_port() -> None:
    assert host_name("[2001:db8::1]:80") == "2001:db8::1"
    assert host_name("Name:80") == "name"
    assert host_name("a\\b") is None
