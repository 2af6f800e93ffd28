"""`roommesh open`: a one-time link to the page, opened where there is a screen.

The link is a secret and would stand in the argument list of the browser, which every user of the
machine can read (attack 56). So the browser is given a file of the home, readable by this user
only, that leads on to the link.
"""

import html
import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from mesh import config
from mesh.cli.asking import ask
from mesh.cli.qr import show_qr
from mesh.cli.terminal import Terminal

FILE_NAME: Final = "open.html"


@click.command(help="Open the page with a one-time link.")
@click.option("--print", "only_print", is_flag=True, help="Print the link, open nothing.")
@click.option("--qr", is_flag=True, help="Show the link as a QR code, for a phone.")
@click.pass_obj
def command(terminal: Terminal, only_print: bool, qr: bool) -> None:
    """Make the link, then open, draw or print it."""
    found, info = ask(terminal, _link_and_info)
    link = found["link"]
    if qr and info["lan_urls"]:
        # A phone cannot reach this machine's loopback.
        link = info["lan_urls"][0] + link[link.index("/#") :]
    if terminal.json:
        terminal.value({"link": link, "expires_at": found["expires_at"]})
        return
    if qr:
        if not info["lan_urls"]:
            terminal.note("Only this machine reaches that address: run `roommesh up --lan`.")
        show_qr(terminal, link)
    opened = not only_print and not qr and has_screen(os.environ) and _open(terminal, link)
    if not opened:
        terminal.line(link)
        terminal.note("The link works once, for 10 minutes.")


async def _link_and_info(node: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return await node.node.login_link(), await node.node.info()


def has_screen(environ: Mapping[str, str]) -> bool:
    """True where a browser could show itself to whoever typed the command."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    if sys.platform == "darwin":
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def _open(terminal: Terminal, link: str) -> bool:
    path = config.home_of(terminal.home, os.environ) / FILE_NAME
    write_redirect(path, link)
    if not webbrowser.open(path.as_uri()):
        return False
    terminal.line("The page opens in your browser. If it does not: roommesh open --print")
    return True


def write_redirect(path: Path, link: str) -> None:
    """A page, for this user only, that leads on to `link`."""
    address = html.escape(link, quote=True)
    page = (
        '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0; url={address}">'
        f'<title>roommesh</title><p><a href="{address}">Open roommesh</a></p>\n'
    )
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(page)
