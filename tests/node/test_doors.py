"""Who gets in: pages of strangers, forged requests, other people of this machine, open files."""

import os
import re
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mesh.config import read_settings
from mesh.core.errors import MeshError
from mesh.node import Node
from tests.node.nodes import Install, a_world

RPC = b'{"jsonrpc":"2.0","id":1,"method":"groups.create","params":{"name":"Stolen"}}'
ORIGINS = ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1", "file://"]
# A sentence that says what to do.
DOES = re.compile(r"\b(run|choose|restore|use|remove|move|put)\b", re.IGNORECASE)
HOSTS = ["evil.example", "127.0.0.1.evil.example", "desktop.evil", "", "127.0.0.1, evil"]


async def logged_in(install: Install, session: aiohttp.ClientSession) -> dict[str, str]:
    """Log a browser in by a one-time link; returns the headers that its page would send."""
    link = (await install.sdk.node.login_link())["link"]
    secret = link.partition("#login=")[2]
    page = {"Origin": install.url}
    async with session.post(
        f"{install.url}/login", json={"secret": secret}, headers=page
    ) as response:
        assert response.status == 200
    return page


async def opens(session: aiohttp.ClientSession, url: str, headers: dict[str, str]) -> int:
    """Try a WebSocket to /rpc; the status of the refusal, or 101."""
    try:
        async with session.ws_connect(f"{url}/rpc", headers=headers) as ws:
            assert not ws.closed
            return 101
    except aiohttp.WSServerHandshakeError as refusal:
        return refusal.status


@pytest.mark.parametrize("origin", ORIGINS)
async def test_a_page_of_a_stranger_opens_no_socket_and_posts_nothing(
    tmp_path: Path, origin: str
) -> None:
    """Attacks 53 and 54: the browser sends our cookie along; the Origin gives the page away."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with a_world(tmp_path) as world, aiohttp.ClientSession(cookie_jar=jar) as browser:
        host = await world.install("desktop")
        ours = await logged_in(host, browser)
        assert await opens(browser, host.url, ours) == 101
        theirs = {"Origin": origin}
        assert await opens(browser, host.url, theirs) == 403
        assert await opens(browser, host.url, {}) == 403
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/json"):
            said = {**theirs, "Content-Type": kind}
            async with browser.post(f"{host.url}/rpc", data=RPC, headers=said) as response:
                assert response.status == 403
                assert not {h for h in response.headers if h.startswith("Access-Control")}
        async with browser.options(f"{host.url}/rpc", headers=theirs) as response:
            assert response.status in {403, 404, 405}
            assert not {h for h in response.headers if h.startswith("Access-Control")}
        assert not await host.sdk.rooms.list()


@pytest.mark.parametrize("name", HOSTS, ids=ascii)
async def test_a_rebound_name_is_not_served(tmp_path: Path, name: str) -> None:
    """Attack 53: every path answers 421 to a Host that is not ours, with cookie and token too."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        for line in ("GET / ", "GET /rpc ", "POST /login ", "GET /livez ", "GET /link "):
            request = (
                f"{line}HTTP/1.1\r\nHost: {name}\r\nAuthorization: Bearer {host.token}\r\n"
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-Length: 0\r\n\r\n"
            )
            status = await host.status_of(request.encode())
            # Where no Host stands, the parser may refuse before we do.
            assert status in ({421, 400} if not name else {421}), line


async def test_nothing_happens_without_the_token_and_nothing_by_looking(tmp_path: Path) -> None:
    """Attack 54: 401 for whoever has neither token nor cookie; GET has no side effects."""
    async with a_world(tmp_path) as world, aiohttp.ClientSession() as stranger:
        host = await world.install("desktop")
        link = (await host.sdk.node.login_link())["link"]
        secret = link.partition("#login=")[2]
        for headers in (
            {"Origin": host.url},
            {"Authorization": "Bearer " + "x" * 43},
            {"Authorization": "Basic " + host.token},
            {"Authorization": "Bearer"},
            {"Authorization": f"Bearer {host.token[:-1]}"},
            {"X-Forwarded-For": "127.0.0.1", "Origin": host.url},
        ):
            async with stranger.post(f"{host.url}/rpc", data=RPC, headers=headers) as response:
                assert response.status == 401, headers
            assert await opens(stranger, host.url, headers) == 401
        for path in (
            f"/rpc?token={host.token}",
            f"/?token={host.token}",
            f"/login?secret={secret}",
            f"/login#{secret}",
            "/logout",
            "/metrics",
        ):
            async with stranger.get(host.url + path) as response:
                assert "set-cookie" not in response.headers, path
                assert response.status in {200, 401, 403, 404, 405, 426}
        assert not await host.sdk.rooms.list() and not await host.sdk.node.sessions()
        # The link was looked at in every way, and is still good.
        async with stranger.post(
            f"{host.url}/login", json={"secret": secret}, headers={"Origin": host.url}
        ) as response:
            assert response.status == 200


async def test_what_a_node_writes_is_its_owners_alone(tmp_path: Path) -> None:
    """Attack 55: the token's file and every other file of a home, while the node runs."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        await host.founds("Den", "echo")
        assert stat.S_IMODE(host.home.stat().st_mode) == 0o700
        control = (host.home / "control.json").stat()
        assert stat.S_IMODE(control.st_mode) == 0o600 and control.st_uid == os.geteuid()
        # Others cannot enter the home; what must never be read is closed by itself as well.
        named = ("control.json", "identity.key", "tls.key", "lock", "mesh.db", "logs/node.log")
        found = [host.home / name for name in named] + list(host.home.glob("mesh.db-*"))
        for path in found:
            assert not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o600, path
        with socket.socket() as wide, pytest.raises(OSError):
            # The port is bound on loopback only: the machine's other addresses are free.
            wide.bind(("127.0.0.1", host.port))


def planted_link(home: Path) -> None:
    """Somebody was there first: the token would go where a link points."""
    (home / "control.json").symlink_to(home.parent / "theirs.json")


def planted_file(home: Path) -> None:
    """Somebody keeps the file open for reading."""
    (home / "control.json").write_text("{}")
    (home / "control.json").chmod(0o644)


@pytest.mark.parametrize("plant", [planted_link, planted_file])
async def test_a_planted_token_file_gets_no_token(
    tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    """Attack 55: it is replaced, never written into."""
    async with a_world(tmp_path) as world:
        host = world.not_started("desktop")
        host.home.mkdir(mode=0o700)
        plant(host.home)
        held = None
        if not (host.home / "control.json").is_symlink():
            held = (host.home / "control.json").open()
        await host.start()
        control = host.home / "control.json"
        assert not control.is_symlink() and stat.S_IMODE(control.stat().st_mode) == 0o600
        assert not (tmp_path / "theirs.json").exists()
        if held is not None:
            with held:
                assert host.token not in held.read()


def too_open(path: Path) -> None:
    """Others may read it."""
    path.chmod(0o644)


def emptied(path: Path) -> None:
    """Nothing is left of it."""
    path.write_bytes(b"")


def cut_short(path: Path) -> None:
    """Half of it is left."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def linked(path: Path) -> None:
    """It lies elsewhere."""
    path.rename(path.parent.parent / "moved.key")
    path.symlink_to(path.parent.parent / "moved.key")


def gone(path: Path) -> None:
    """It was deleted, while the rooms it hosts are still there."""
    path.unlink()


@pytest.mark.parametrize("damage", [too_open, emptied, cut_short, linked, gone])
async def test_a_key_that_is_not_safe_stops_the_start_with_a_sentence(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """Attack 62: no node, no new key, and words that say what to do."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        await host.founds("Den")
        await host.stop()
        damage(host.home / "identity.key")
        before = sorted(p.name for p in host.home.iterdir())
        with pytest.raises(MeshError) as refusal:
            await host.start()
        assert refusal.value.reason == "key_unsafe"
        assert DOES.search(f"{refusal.value.message} {refusal.value.next}"), refusal.value
        after = sorted(p.name for p in host.home.iterdir())
        assert set(after) - {"control.json"} == set(before) - {"control.json"}
        assert not (host.home / "control.json").exists()


async def test_a_home_on_a_synced_folder_is_refused(tmp_path: Path) -> None:
    """Attack 62: a key that another machine copies is two nodes with one name."""
    home = tmp_path / "Dropbox" / "roommesh"
    home.parent.mkdir()
    flags: dict[str, Any] = {"listen": "127.0.0.1:0", "name": "x", "discovery": False}
    with pytest.raises(MeshError, match=r"Dropbox.*Choose another --home"):
        async with Node(read_settings(home, flags, {})):
            pass


async def test_what_let_somebody_in_before_a_restart_is_refused_in_words(tmp_path: Path) -> None:
    """Situation 21: an old token is never taken for a new one, nor its request for accepted."""
    async with a_world(tmp_path) as world, aiohttp.ClientSession() as program:
        host = await world.install("desktop")
        old = host.token
        await host.stop()
        await host.start()
        for token, status in ((old, 401), (host.token, 200)):
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            async with program.post(f"{host.url}/rpc", data=RPC, headers=headers) as response:
                assert response.status == status
                if status == 401:
                    answer = await response.json()
                    assert answer["error"]["reason"] == "unauthenticated"
                    assert "control.json" in answer["error"]["next"]
        assert len(await host.sdk.rooms.list()) == 1
