"""What the demo says to somebody who sits at another machine."""

from pathlib import Path

import pytest

from mesh.cli.demo_folder import DemoFolder
from mesh.cli.demo_nodes import DemoNode
from mesh.cli.demo_play import ssh_line


@pytest.fixture
def nodes() -> list[DemoNode]:
    """Three that were never started."""
    folder = DemoFolder()
    folder.path = Path("nowhere")
    return [DemoNode("n", "N", folder=folder, port=port) for port in (7420, 7423, 7424)]


def test_over_ssh_there_is_a_line_with_all_three_ports(
    nodes: list[DemoNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "somebody")
    ways = "-L 7420:127.0.0.1:7420 -L 7423:127.0.0.1:7423 -L 7424:127.0.0.1:7424"
    usual = {"SSH_CONNECTION": "192.0.2.7 50022 192.0.2.1 22"}
    assert ssh_line(usual, nodes) == f"ssh {ways} somebody@192.0.2.1"
    other = {"SSH_CONNECTION": "2001:db8::7 50022 2001:db8::1 2222"}
    assert ssh_line(other, nodes) == f"ssh -p 2222 {ways} somebody@2001:db8::1"


@pytest.mark.parametrize("environ", [{}, {"SSH_CONNECTION": ""}, {"SSH_CONNECTION": "odd"}])
def test_elsewhere_there_is_none(nodes: list[DemoNode], environ: dict[str, str]) -> None:
    assert ssh_line(environ, nodes) == ""
