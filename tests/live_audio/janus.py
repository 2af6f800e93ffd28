"""Janus AudioBridge from Debian, started for a bench: a room of N and a seat for each offer.

Its configuration is written to a folder of the run; nothing of the system's is touched. Only the
local HTTP transport and the AudioBridge plugin are loaded.
"""

import asyncio
import contextlib
import secrets
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

MISSING = "needs Janus: apt-get install -y janus"
_PLUGINS = Path("/usr/lib")


def is_installed() -> bool:
    """Whether Janus is on this machine."""
    return shutil.which("janus") is not None


class Janus:
    """A running Janus with one mixing room; `join` seats one offer."""

    def __init__(self, pid: int, url: str, http: aiohttp.ClientSession) -> None:
        self.pid = pid
        self._url, self._http = url, http

    async def join(self, offer: str) -> str:
        """The answer to an offer, in room 1234."""
        session = await self._say("", {"janus": "create"})
        path = f"/{session['data']['id']}"
        handle = await self._say(path, {"janus": "attach", "plugin": "janus.plugin.audiobridge"})
        await self._say(f"{path}/{handle['data']['id']}", {
            "janus": "message",
            "body": {"request": "join", "room": 1234, "display": "x", "prebuffer": 2},
        })
        await self._event(path)
        await self._say(f"{path}/{handle['data']['id']}", {
            "janus": "message", "body": {"request": "configure", "muted": False, "prebuffer": 2},
            "jsep": {"type": "offer", "sdp": offer},
        })
        while True:
            event = await self._event(path)
            if "jsep" in event:
                sdp: str = event["jsep"]["sdp"]
                return sdp

    async def _say(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        body["transaction"] = secrets.token_hex(6)
        async with self._http.post(self._url + path, json=body) as reply:
            said: dict[str, Any] = await reply.json()
        assert said["janus"] in ("success", "ack"), said
        return said

    async def _event(self, path: str) -> dict[str, Any]:
        while True:
            async with self._http.get(self._url + path) as reply:
                said: dict[str, Any] = await reply.json()
            if said["janus"] == "event":
                return said


@contextlib.asynccontextmanager
async def janus(folder: Path) -> AsyncIterator[Janus]:
    """Start Janus in a folder of the run, and end it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = next(_PLUGINS.glob("*/janus"))  # noqa: ASYNC240 - before anything runs
    (folder / "janus.jcfg").write_text(
        f'general: {{ configs_folder = "{folder}" plugins_folder = "{home}/plugins" '
        f'transports_folder = "{home}/transports" debug_level = 3 }}\n'
        'media: { ipv6 = false rtp_port_range = "20000-29999" }\n'
        "nat: { ice_lite = false }\n"
        'plugins: { disable = "' + ",".join(
            path.name for path in (home / "plugins").glob("*.so")
            if path.name != "libjanus_audiobridge.so") + '" }\n'
        'transports: { disable = "' + ",".join(
            path.name for path in (home / "transports").glob("*.so")
            if path.name != "libjanus_http.so") + '" }\n'
    )
    (folder / "janus.transport.http.jcfg").write_text(
        f'general: {{ json = "compact" base_path = "/janus" http = true port = {port} '
        'ip = "127.0.0.1" https = false }\n'
    )
    (folder / "janus.plugin.audiobridge.jcfg").write_text(
        'room-1234: { description = "bench" sampling_rate = 48000 spatial_audio = false '
        "record = false default_prebuffering = 2 default_bitrate = 32000 }\n"
    )
    process = await asyncio.create_subprocess_exec(
        "janus", "-F", str(folder), stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with aiohttp.ClientSession() as http:
            url = f"http://127.0.0.1:{port}/janus"
            async with asyncio.timeout(15):
                while True:
                    try:
                        async with http.get(url + "/info") as reply:
                            if reply.status == 200:
                                break
                    except aiohttp.ClientConnectionError:
                        await asyncio.sleep(0.1)
            yield Janus(process.pid, url, http)
    finally:
        process.terminate()
        await process.wait()
