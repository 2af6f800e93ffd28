"""The demo's nodes before they start: their ports and their environment."""

import socket

import pytest

from mesh.cli.demo_nodes import LOOPBACK, environment, free_ports
from mesh.cli.failure import Failed


@pytest.fixture
def taken() -> socket.socket:
    """A port somebody listens at."""
    listener = socket.create_server((LOOPBACK, 0))
    return listener


def test_ports_that_are_taken_are_passed_over(taken: socket.socket) -> None:
    with taken:
        port = taken.getsockname()[1]
        if port > 65_000:
            pytest.skip("too near to the end of all ports")
        found = free_ports(port, 3)
    assert port not in found
    assert found == sorted(set(found)) and len(found) == 3
    assert all(found_port > port for found_port in found)


def test_port_0_stays_0() -> None:
    assert free_ports(0, 3) == [0, 0, 0]


def test_too_few_ports_are_refused_with_what_helps() -> None:
    with pytest.raises(Failed) as refusal:
        free_ports(65_535, 3)
    assert refusal.value.reason == "port_taken"
    assert "--port" in refusal.value.next


def test_a_node_gets_no_setting_of_the_users() -> None:
    own = {
        "ROOMMESH_HOME": "x",
        "ROOMMESH_LAN": "true",
        "ROOMMESH_LISTEN": "0.0.0.0:1",
        "ROOMMESH_TLS_KEY_FILE": "x",
    }
    kept = {"PATH": "/bin", "HOME": "/h", "LAN": "x", "ROOMMESH_MODEL_KEY": "k", "USER": "me"}
    made = environment(own | kept, "Friend")
    assert own.keys() & made.keys() == set()
    assert made["HOME"] == "/h" and made["LAN"] == "x" and made["ROOMMESH_MODEL_KEY"] == "k"
    assert made["USER"] == made["LOGNAME"] == "Friend"
