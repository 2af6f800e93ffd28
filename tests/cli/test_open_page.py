"""`open`: the link reaches the browser and nobody else."""

import stat
from pathlib import Path

import pytest

from mesh.cli import open_page
from mesh.cli.open_page import has_screen, write_redirect
from tests.cli.nodes import Command, running_node

LINK = 'http://127.0.0.1:7420/#login=abc"<def'


def test_a_screen_is_one_that_this_person_sees() -> None:
    assert has_screen({"DISPLAY": ":0"}) and has_screen({"WAYLAND_DISPLAY": "wayland-0"})
    assert not has_screen({"DISPLAY": ":0", "SSH_CONNECTION": "a b c d"})
    assert not has_screen({})


def test_the_file_is_this_users_and_follows_no_link(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("mine")
    path = tmp_path / "open.html"
    path.symlink_to(target)
    write_redirect(path, LINK)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.is_symlink()
    assert target.read_text() == "mine"
    assert "abc&quot;&lt;def" in path.read_text()


async def test_without_a_screen_the_link_is_printed(
    alpha: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_page, "has_screen", lambda environ: False)
    said = await alpha("open")
    assert said.out.startswith("http://127.0.0.1:") and "/#login=" in said.out
    assert "once" in said.err
    found = (await alpha("open", "--json")).json
    assert found["expires_at"] > 0


async def test_the_browser_is_given_a_file_and_not_the_secret(
    alpha: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(open_page, "has_screen", lambda environ: True)

    def browser(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", browser)
    said = await alpha("open")
    assert opened == [(alpha.home / "open.html").as_uri()]
    assert "login" not in said.out + said.err
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert "/#login=" in (await alpha("open")).out


async def test_a_phone_gets_an_address_it_can_reach(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Command(home=tmp_path / "home", capsys=capsys)
    async with running_node(command.home, "alpha", lan=True) as node:
        if not node.ready.lan_urls:
            pytest.skip("this machine has no network address")
        said = await command("open", "--qr")
        assert "█" in said.out
        assert said.out.splitlines()[-1].startswith(node.ready.lan_urls[0] + "/#login=")


async def test_a_qr_code_that_only_this_machine_can_use_says_so(alpha: Command) -> None:
    said = await alpha("open", "--qr")
    assert "roommesh up --lan" in said.err
