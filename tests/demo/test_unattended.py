"""The demo without a terminal, over SSH, beside a busy port, and with somebody's own settings."""

import signal
import socket
from pathlib import Path

import pytest

from tests.demo.played_demo import PlayedDemo

pytestmark = pytest.mark.timeout(90)
FIRST = 7_420


def a_run_of_ports() -> tuple[socket.socket, int]:
    """A port that is listened at, with room above it."""
    for port in range(27_420, 29_000, 10):
        taken = socket.socket()
        try:
            taken.bind(("127.0.0.1", port))
        except OSError:
            taken.close()
            continue
        taken.listen()
        return taken, port
    raise AssertionError("no free port was found")


def test_it_says_what_is_different_and_touches_nothing_of_the_users(
    nobodys_home: Path, tmp_path: Path
) -> None:
    own_home = tmp_path / "own"
    environment = {
        "SSH_CONNECTION": "192.0.2.7 50022 192.0.2.1 2222",
        "LOGNAME": "somebody",
        "ROOMMESH_HOME": str(own_home),
        "ROOMMESH_LAN": "true",
        "ROOMMESH_LISTEN": "0.0.0.0:1",
    }
    taken, port = a_run_of_ports()
    with taken, PlayedDemo(
        "--json", "demo", "--port", str(port), environment=environment
    ) as demo:
        addresses = demo.value("addresses")
        assert demo.value("playing")["keys"] is False
        ports = [int(node["url"].rpartition(":")[2]) for node in addresses["nodes"]]
        assert port not in ports and all(port < found for found in ports)
        tunnels = " ".join(f"-L {p}:127.0.0.1:{p}" for p in ports)
        assert addresses["tunnel"] == f"ssh -p 2222 {tunnels} somebody@192.0.2.1"
        assert set(addresses["links"]) == {"laptop", "friend"}
        folder = Path(addresses["nodes"][0]["home"]).parent
        demo.process.send_signal(signal.SIGHUP)
        assert demo.ended() == 130
        demo.nothing_left(folder)
    assert not own_home.exists()
    assert not list(nobodys_home.rglob("*roommesh*"))
