"""`roommesh up`: the node, in the foreground, until Ctrl-C or SIGTERM.

The login link is a secret. It is printed only where a person looks: not into a pipe, a log or a
service's journal (attack 56).
"""

import os
import sys
from typing import Any

import click

from mesh import config
from mesh.cli.terminal import Terminal


@click.command(help="Run the node here, in the foreground.")
@click.option("--listen", metavar="HOST:PORT", help="Where to listen; port 0 takes any free one.")
@click.option("--name", help="What this install is called.")
@click.option("--lan/--no-lan", default=None, help="Let other machines connect.")
@click.option("--advertise", multiple=True, metavar="URL", help="Where other nodes may dial.")
@click.option("--no-discovery", is_flag=True, help="Do not look for other nodes by mDNS.")
@click.option("--tls-cert", metavar="FILE", help="A certificate (PEM) of your own.")
@click.option("--tls-key", metavar="FILE", help="Its key (PEM).")
@click.option("--public-url", metavar="URL", help="The address that a proxy shows.")
@click.option("--log-level", help="debug, info, warning or error.")
@click.pass_obj
def command(
    terminal: Terminal, /, no_discovery: bool, advertise: tuple[str, ...], **given: Any
) -> int:
    """Start it; returns when it has drained."""
    flags: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    if advertise:
        flags["advertise"] = advertise
    if no_discovery:
        flags["discovery"] = False
    home = config.home_of(terminal.home, os.environ)
    settings = config.read_settings(home, flags, os.environ)
    # Imported here: only this command and `join` carry a whole node.
    from mesh import node

    async def say(ready: Any) -> None:
        await announce(terminal, ready, show_secret=sys.stdout.isatty())

    node.run(settings, say)
    return 0


async def announce(terminal: Terminal, ready: Any, *, show_secret: bool) -> None:
    """Say where the node is, and how to get in."""
    if terminal.json:
        terminal.value(
            {
                "ready": True,
                "url": ready.url,
                "lan_urls": list(ready.lan_urls),
                "fingerprint": ready.fingerprint,
                "install_id": ready.install_id,
            }
        )
        return
    terminal.line(f"roommesh is ready: {ready.url}")
    for url in ready.lan_urls:
        terminal.line(f"  from other machines: {url}")
    if ready.lan_urls:
        terminal.line(f"  certificate SHA-256: {ready.fingerprint}")
        terminal.line("  A browser will warn about this certificate once: compare the fingerprint.")
    if show_secret:
        link, _ = await ready.login_link()
        terminal.line(f"  open the page: {link}")
        terminal.line("  (works once, for 10 minutes; `roommesh open` makes another)")
    else:
        terminal.line("  open the page: roommesh open")
