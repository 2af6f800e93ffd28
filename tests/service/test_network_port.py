"""The port: open on this machine always, to the network on demand, and remembered."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mesh.core.errors import Refused
from mesh.service.network_port import NetworkPort
from mesh.storage.database import Database
from mesh.storage.settings_store import DiskSettings


class Listener:
    """A listener that may refuse to open."""

    def __init__(self) -> None:
        self.port = 7420
        self.is_lan = False
        self.is_taken = False
        self.calls = 0

    def set_lan(self, enabled: bool) -> None:
        """Open or close."""
        self.calls += 1
        if self.is_taken:
            raise Refused("port_taken", "Another program listens there.")
        self.is_lan = enabled


class Announcement:
    """What was told on the network."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int] | None] = []

    async def advertise(self, name: str, port: int, ips: tuple[Any, ...] = ()) -> None:
        """Tell."""
        self.told.append((name, port))

    async def hush(self) -> None:
        """Stop telling."""
        self.told.append(None)


def a_port(
    listener: Listener,
    saved: DiskSettings,
    announcement: Announcement | None = None,
    ips: Sequence[str] = ("192.0.2.7", "2001:db8::7"),
) -> tuple[NetworkPort, list[str]]:
    """A port and the words it tells pages."""
    changed: list[str] = []
    port = NetworkPort(
        listener=listener,
        announcement=announcement,
        fingerprint=lambda: "AB",
        network_ips=lambda: ips,
        saved=saved,
        name="desktop",
        changed=changed.append,
    )
    return port, changed


async def test_opening_is_live_announced_and_remembered(tmp_path: Path) -> None:
    async with Database(tmp_path / "mesh.db") as database:
        saved, listener, told = DiskSettings(database), Listener(), Announcement()
        port, changed = a_port(listener, saved, told)
        assert (port.loopback(), port.loopback_link()) == (
            "http://127.0.0.1:7420",
            "https://127.0.0.1:7420",
        )
        assert port.lan() == ()
        await port.set_lan(True)
        assert port.lan() == ["https://192.0.2.7:7420", "https://[2001:db8::7]:7420"]
        assert told.told == [("desktop", 7420)] and changed == ["links"]
        again, _ = a_port(Listener(), saved)
        await again.restore(None)
        assert again.lan(), "the next start does as the last one did"
        await port.set_lan(False)
        assert port.lan() == () and told.told[-1] is None
        third, _ = a_port(Listener(), saved)
        await third.restore(None)
        assert third.lan() == ()


async def test_a_flag_counts_more_than_what_was_remembered(tmp_path: Path) -> None:
    async with Database(tmp_path / "mesh.db") as database:
        saved, listener = DiskSettings(database), Listener()
        port, _ = a_port(listener, saved)
        await port.set_lan(True)
        other, _ = a_port(Listener(), saved)
        await other.restore(False)
        assert other.lan() == ()
        await other.restore(True)
        assert other.lan()
        assert await saved.get("lan") == "true", "a flag is for one start and is not remembered"


async def test_a_port_that_is_taken_changes_nothing(tmp_path: Path) -> None:
    async with Database(tmp_path / "mesh.db") as database:
        saved, listener, told = DiskSettings(database), Listener(), Announcement()
        listener.is_taken = True
        port, changed = a_port(listener, saved, told)
        with pytest.raises(Refused, match="port_taken"):
            await port.set_lan(True)
        assert not told.told and not changed and await saved.get("lan") is None


async def test_what_is_open_is_not_opened_again(tmp_path: Path) -> None:
    async with Database(tmp_path / "mesh.db") as database:
        listener = Listener()
        port, _ = a_port(listener, DiskSettings(database))
        await port.set_lan(True)
        await port.set_lan(True)
        assert listener.calls == 1
