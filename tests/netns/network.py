"""Machines that are network namespaces, on one switch, with roads that can be cut and healed.

    machine a --veth-- \
    machine b --veth--  switch (a bridge in a namespace of its own)      nothing leads outside
    machine c --veth-- /

A road is cut at its far end, by a packet filter in the namespace that would have received: this
cuts one way only (`cut_one_way`), or both (`cut`). `unplug` takes a machine's cable out at the
switch. Packets are dropped in silence, as real networks do; nobody is told by a reset.

The namespaces carry the id of the process that made them. What a killed run left behind is
removed by the next one. Needs root, iproute2 and nftables.
"""

import ctypes
import os
import re
import signal
import socket as sockets
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_MARK: Final = "roommesh"
_SWITCH: Final = "switch"
_SUBNET: Final = "10.77.0"
_CLONE_NEWNET: Final = 0x4000_0000
_COMMAND_S: Final = 20.0
_NAMESPACES: Final = Path("/run/netns")
_FILTER: Final = """
table ip roads {
    set lost_from { type ipv4_addr; }
    chain inbound {
        type filter hook input priority 0; policy accept;
        ip saddr @lost_from drop
        jump dials
    }
    chain dials { }
}
"""
# A SYN without an ACK is somebody who dials; answers to our own dialing pass.
_NO_DIALS: Final = 'add rule ip roads dials iifname != "lo" tcp flags & (syn | ack) == syn drop\n'
_HEALED: Final = "flush set ip roads lost_from\nflush chain ip roads dials\n"

_libc = ctypes.CDLL(None, use_errno=True)


class Network:
    """The machines and their roads. `with` it: they exist inside, and nothing of them after."""

    def __init__(self, machines: Sequence[str]) -> None:
        """`machines` are short names: they become names of interfaces."""
        assert len(set(machines)) == len(machines) and _SWITCH not in machines
        self.machines = tuple(machines)

    def __enter__(self) -> Self:
        remove_abandoned()
        try:
            self._build()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._remove()

    def address(self, machine: str) -> str:
        """Its IPv4 address."""
        return f"{_SUBNET}.{1 + self.machines.index(machine)}"

    def prefix(self, machine: str) -> tuple[str, ...]:
        """What to write before a command so that it runs on that machine."""
        return ("ip", "netns", "exec", self._namespace(machine))

    def socket(
        self, machine: str, kind: sockets.SocketKind = sockets.SOCK_STREAM
    ) -> sockets.socket:
        """An IPv4 socket that belongs to that machine; it stays there wherever it is used."""
        with _inside(self._namespace(machine)):
            made = sockets.socket(sockets.AF_INET, kind)
        made.setblocking(False)
        return made

    # --- roads -----------------------------------------------------------------------------

    def cut(self, one: str, other: str) -> None:
        """Nothing passes between the two any more, in either direction."""
        self.cut_one_way(one, other)
        self.cut_one_way(other, one)

    def cut_one_way(self, source: str, target: str) -> None:
        """What `source` sends to `target` is lost; the other direction still works."""
        lost = f"add element ip roads lost_from {{ {self.address(source)} }}\n"
        _run("nft", "-f", "-", namespace=self._namespace(target), text=lost)

    def refuse_dials(self, machine: str) -> None:
        """Nobody can open a connection to it; it can open connections itself, as behind a NAT."""
        _run("nft", "-f", "-", namespace=self._namespace(machine), text=_NO_DIALS)

    def unplug(self, machine: str) -> None:
        """Take its cable out: it has no carrier and reaches nobody."""
        _run("ip", "link", "set", machine, "down", namespace=self._namespace(_SWITCH))

    def plug(self, machine: str) -> None:
        """Put the cable back."""
        _run("ip", "link", "set", machine, "up", namespace=self._namespace(_SWITCH))

    def heal(self) -> None:
        """All roads are open and all cables are in."""
        for machine in self.machines:
            _run("nft", "-f", "-", namespace=self._namespace(machine), text=_HEALED)
            self.plug(machine)

    # --- building --------------------------------------------------------------------------

    def _namespace(self, machine: str) -> str:
        return f"{_MARK}-{os.getpid()}-{machine}"

    def _build(self) -> None:
        switch = self._namespace(_SWITCH)
        for machine in (_SWITCH, *self.machines):
            _run("ip", "netns", "add", self._namespace(machine))
            _run("ip", "link", "set", "lo", "up", namespace=self._namespace(machine))
        _run("ip", "link", "add", "bridge", "type", "bridge", namespace=switch)
        _run("ip", "link", "set", "bridge", "up", namespace=switch)
        for machine in self.machines:
            there = self._namespace(machine)
            pair = ("type", "veth", "peer", "name", "lan", "netns", there)
            _run("ip", "link", "add", machine, *pair, namespace=switch)
            _run("ip", "link", "set", machine, "master", "bridge", "up", namespace=switch)
            _run("ip", "address", "add", f"{self.address(machine)}/24", "dev", "lan",
                 namespace=there)
            _run("ip", "link", "set", "lan", "up", namespace=there)
            _run("nft", "-f", "-", namespace=there, text=_FILTER)

    def _remove(self) -> None:
        for machine in (*self.machines, _SWITCH):
            _remove_namespace(self._namespace(machine))


def remove_abandoned() -> None:
    """Remove the namespaces of runs whose process is gone."""
    for path in _NAMESPACES.glob(f"{_MARK}-*"):
        owner = re.match(rf"{_MARK}-(\d+)-", path.name)
        if owner is not None and not Path(f"/proc/{owner[1]}").exists():
            _remove_namespace(path.name)


def _remove_namespace(name: str) -> None:
    """Kill what runs in a namespace and delete it, if it is there."""
    if not (_NAMESPACES / name).exists():
        return
    for pid in _run("ip", "netns", "pids", name).split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    _run("ip", "netns", "delete", name)


def _run(*command: str, namespace: str = "", text: str = "") -> str:
    """Run a command to its end, at most _COMMAND_S; returns what it printed."""
    prefix = ("ip", "netns", "exec", namespace) if namespace else ()
    done = subprocess.run(
        (*prefix, *command), input=text, capture_output=True, text=True, timeout=_COMMAND_S,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


@contextmanager
def _inside(namespace: str) -> Iterator[None]:
    """This thread is in that namespace meanwhile. Nothing may be awaited inside."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    there = os.open(_NAMESPACES / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(there)
        try:
            yield
        finally:
            _enter(here)
    finally:
        os.close(here)
        os.close(there)


def _enter(namespace: int) -> None:
    if _libc.setns(namespace, _CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
