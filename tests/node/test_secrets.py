"""Secrets stand nowhere but where they belong: not in logs, answers, metrics, files, processes."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from mesh.client import RequestRejected
from mesh.client.invitations import new_request_id
from mesh.core import ids
from mesh.core.invitation import decode_link
from tests.node.followed import WAIT_S
from tests.node.nodes import Install, a_world

ROOT = Path(__file__).resolve().parents[2]


class Spoken:
    """Everything a node has told anybody, and the secrets that must not be in it."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.canaries: dict[str, str] = {}

    def hear(self, *texts: object) -> None:
        """Keep what was said."""
        self.heard += map(str, texts)

    def check(self) -> None:
        """No secret, whole or in its other spelling, stands in anything that was said."""
        assert self.canaries and all(len(secret) >= 16 for secret in self.canaries.values())
        for name, secret in self.canaries.items():
            found = [text for text in self.heard if secret in text]
            assert not found, f"{name} stands in {found[0][:300]}"


async def ask(install: Install, path: str, **headers: str) -> tuple[int, str]:
    """Status and everything of an HTTP answer: head and body."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(install.url + path, headers=headers) as response,
    ):
        return response.status, f"{response.headers} {await response.text()}"


def secrets_of(link: str) -> dict[str, str]:
    """The ways in which a link's secret may be spelt."""
    secret = decode_link(link).secret
    return {"link": link.partition("#")[2], "hex": secret.hex(), "base64": ids.b64(secret)}


async def test_no_secret_is_logged_answered_or_counted(tmp_path: Path) -> None:
    """Situation 64: redeem, and fail to redeem in every way; then look everywhere."""
    spoken = Spoken()
    async with a_world(tmp_path) as world:
        host, guest = await world.installs("desktop", "laptop")
        room_id = await host.founds("Den")
        good = await host.invites(room_id, uses=2)
        revoked = await host.sdk.invitations.create(room_id)
        await host.sdk.invitations.revoke(revoked["invitation_id"])
        late = await host.invites(room_id, ttl_seconds=1)
        damaged = good[:-6]
        for name, link in {"good": good, "revoked": revoked["link"], "late": late}.items():
            spoken.canaries |= {f"{name} {k}": v for k, v in secrets_of(link).items()}
        spoken.canaries["damaged"] = damaged.partition("#")[2]
        host.clock.ahead_ms = 5_000
        for link in (revoked["link"], late, damaged, "https://x/i#", f"{good}A"):
            for asked in (
                guest.sdk.invitations.preview(link),
                guest.sdk.invitations.accept(link, request_id=new_request_id()),
            ):
                with pytest.raises(RequestRejected) as refusal:
                    await asked
                spoken.hear(refusal.value, refusal.value.next, refusal.value.fields)
        await guest.accepts(good, lend=["echo"])
        with pytest.raises(RequestRejected) as again:
            await guest.sdk.invitations.accept(good, request_id=new_request_id())
        spoken.hear(again.value, again.value.fields)
        await host.sees_agent(room_id, "echo")
        await host.says(room_id, "@echo hello")
        login = (await host.sdk.node.login_link())["link"].partition("#login=")[2]
        spoken.canaries |= {"login": login, "token": host.token, "their token": guest.token}
        for install in (host, guest):
            spoken.canaries |= {
                f"grant {row.grant_id}": row.token.decode().rpartition(".")[2]
                for row in (
                    *install.node.services.lending.issued(),
                    *install.node.services.routing.held(),
                )
            }
            await hear_everything(spoken, install, room_id)
        assert any(name.startswith("grant") for name in spoken.canaries)
        for install in (host, guest):
            await install.stop()
            spoken.hear(install.log_text)
    spoken.check()


async def hear_everything(spoken: Spoken, install: Install, room_id: str) -> None:
    """Every list, state, page and failure that the node gives out."""
    sdk = install.sdk
    spoken.hear(
        await install.log(room_id),
        await sdk.rooms.state(room_id),
        await sdk.invitations.list(),
        await sdk.grants.list(),
        await sdk.peers.list(),
        await sdk.node.info(),
        await sdk.node.status(),
        await sdk.node.sessions(),
    )
    bearer = {"Authorization": f"Bearer {install.token}"}
    for path in ("/", "/i", "/livez", "/readyz", "/.well-known/roommesh", "/nothing", "/rpc"):
        spoken.hear(*await ask(install, path), *await ask(install, path, **bearer))
    status, metrics = await ask(install, "/metrics", **bearer)
    assert status == 200 and "roommesh_" in metrics
    spoken.hear(metrics, *await ask(install, "/metrics", Authorization="Bearer wrong"))
    for body in (b"{", b'{"jsonrpc":"2.0","id":1,"method":"x"}'):
        spoken.hear(await install.posts(body))


async def test_the_page_of_an_invitation_sends_no_referrer(tmp_path: Path) -> None:
    """Situation 64: the secret is in the fragment, and the page passes nothing on."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        link = await host.invites(await host.founds("Den"))
        assert urlsplit(link).path == "/i" and not urlsplit(link).query
        _, said = await ask(host, "/i")
        assert "'Referrer-Policy': 'no-referrer'" in said


async def test_a_running_process_shows_no_token(tmp_path: Path) -> None:
    """Attack 56: not in its arguments, its environment, its output, its log or a new file."""
    home = tmp_path / "home"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mesh.cli.main", "--home", str(home)),
        *("up", "--listen", "127.0.0.1:0", "--no-discovery"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(WAIT_S):
            first = await process.stdout.readline()
        assert b"ready" in first, first
        control = json.loads((home / "control.json").read_text())
        token = control["token"].encode()
        shown = [Path(f"/proc/{control['pid']}/{name}") for name in ("cmdline", "environ")]
        seen = [first, *(path.read_bytes() for path in shown)]
        os.kill(control["pid"], signal.SIGTERM)
        async with asyncio.timeout(WAIT_S):
            rest, _ = await process.communicate()
        seen += [rest, *(f.read_bytes() for f in home.rglob("*") if f.is_file())]
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0
    assert len(token) >= 32 and not [text for text in seen if token in text]
    assert not (home / "control.json").exists()


async def test_a_fault_of_ours_is_written_down_without_what_it_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack 56, the crash: the log has a traceback, the caller a number, nobody the secret."""
    async with a_world(tmp_path) as world:
        host = await world.install("desktop")
        link = await host.invites(await host.founds("Den"))
        canary = link.partition("#")[2]

        async def breaks(link_text: str) -> dict[str, object]:
            raise RuntimeError(f"cannot read {link_text}")

        monkeypatch.setattr(host.node.services.joining, "preview", breaks)
        with pytest.raises(RequestRejected, match="internal") as refusal:
            await host.sdk.invitations.preview(link)
        number = refusal.value.fields["correlation_id"]
        assert number in host.log_text and "RuntimeError" in host.log_text
        assert canary not in host.log_text
        assert canary not in f"{refusal.value} {refusal.value.next} {refusal.value.fields}"
