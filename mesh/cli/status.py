"""`roommesh status`: how the running node stands."""

from typing import Any

import click

from mesh.cli.asking import ask
from mesh.cli.terminal import Terminal, short_id, shown_state
from mesh.cli.visible import one_line


@click.command(help="How the running node stands.")
@click.pass_obj
def command(terminal: Terminal) -> None:
    """Print it; exit status 5 when no node runs."""
    info, status = ask(terminal, _both)
    if terminal.json:
        terminal.value({**info, **status})
        return
    terminal.fields(
        {
            "name": status["name"],
            "install": status["install_id"],
            "version": info["version"],
            "home": info["home"],
            "page": ", ".join(info["listen"]),
            "other machines": ", ".join(info["lan_urls"]) or "cannot connect (roommesh up --lan)",
            "rooms": status["rooms"],
            "events stored": status["storage"]["events"],
            "ready": "yes" if status["ready"] else "no",
        }
    )
    for warning in status["warnings"]:
        terminal.line(f"warning  {one_line(warning, 500)}")
    terminal.line()
    terminal.table(
        ("link to", "install", "state", "address"),
        [
            (row["name"], short_id(row["install_id"]), shown_state(row), row.get("address") or "-")
            for row in status["links"]
        ],
        "No links to other installs.",
    )
    terminal.line()
    terminal.table(
        ("profile", "kind", "state", "rooms"),
        [
            (row["name"], row["backend"], shown_state(row), len(row["rooms"]))
            for row in status["profiles"]
        ],
        "No profiles.",
    )
    if status["sightings"]:
        terminal.line()
        terminal.table(
            ("seen nearby", "install", "address"),
            [
                (row["name"], short_id(row["install_id"]), row["address"])
                for row in status["sightings"]
            ],
            "",
        )


async def _both(node: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return await node.node.info(), await node.node.status()
