"""A QR code is drawn, and never under --json."""

import pytest

from mesh.cli.qr import show_qr
from mesh.cli.terminal import Terminal


def test_it_is_drawn_in_lines_of_one_width(capsys: pytest.CaptureFixture[str]) -> None:
    show_qr(Terminal(home=None, json=False), "https://192.0.2.1:7420/i#" + "x" * 300)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 20
    assert len({len(line) for line in lines}) == 1
    show_qr(Terminal(home=None, json=True), "x")
    assert capsys.readouterr().out == ""
