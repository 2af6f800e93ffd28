"""`roommesh demo`: three nodes on this machine, one room, and stories 1 and 2 as they happen.

    demo_folder   one temporary folder, gone at the end however the demo ends
    demo_nodes    three real nodes in it, each a process (demo_child), to unplug and replug
    demo_room     what their people do with each other; demo_watch: what each of them shows of it
    demo_story    told once; then demo_play: keys, addresses, and demo_feed, what goes on
    demo_checks   with --smoke: each step checked through another install, in a table

It touches nothing of the user's: neither home nor settings nor network; the nodes listen on
loopback and look for nobody.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import click

from mesh.cli import exit_codes
from mesh.cli.demo_checks import RUN_S, Checks
from mesh.cli.demo_folder import DemoFolder
from mesh.cli.demo_model import find_model
from mesh.cli.demo_nodes import DemoNode, free_ports
from mesh.cli.demo_play import Play
from mesh.cli.demo_room import PEOPLE, open_room
from mesh.cli.demo_screen import Screen
from mesh.cli.demo_story import Story
from mesh.cli.demo_watch import NotSeen
from mesh.cli.failure import Failed
from mesh.cli.terminal import Terminal

PORT: Final = 7420
MODEL_HELP: Final = (
    "Seat @model: an endpoint that speaks OpenAI's protocol, as URL or URL#NAME; its key, if it "
    "needs one, in ROOMMESH_MODEL_KEY. A model server on this machine is found without it."
)
LOG_LINES: Final = 5
_ENDINGS: Final = (signal.SIGTERM, signal.SIGHUP)


@click.command(help="Three nodes on this machine, to play with.")
@click.option("--smoke", is_flag=True, help="Check each step, print a table, exit 0 or 1.")
@click.option("--model", metavar="URL", help=MODEL_HELP)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    metavar="N",
    help="The first of three ports (7420); 0 takes any free ones.",
)
@click.pass_obj
def command(terminal: Terminal, smoke: bool, model: str | None, port: int | None) -> int:
    """Run it; returns the exit status."""
    first = port if port is not None else 0 if smoke else PORT
    screen = Screen(terminal)
    try:
        if smoke:
            return asyncio.run(_until_told(_smoke(screen, model, first)))
        return asyncio.run(_until_told(_play(screen, model, first)))
    except asyncio.CancelledError:
        return exit_codes.INTERRUPTED


async def _until_told(demo: Coroutine[Any, Any, int]) -> int:
    """Run it; SIGTERM and a closed terminal end it as Ctrl-C does, with all its processes."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for name in _ENDINGS:
        loop.add_signal_handler(name, task.cancel)
    return await demo


async def _play(screen: Screen, model_url: str | None, first_port: int) -> int:
    screen.title("roommesh demo: three nodes on this machine; Ctrl-C ends it and leaves nothing")
    model = await find_model(model_url)
    async with _nodes(screen, first_port) as nodes:
        await _start(screen, nodes)
        screen.note(f"homes in {nodes[0].home.parent}, removed at the end", "dim")
        async with open_room(nodes) as room:
            try:
                await Story(room, screen, model).tell()
            except NotSeen as missed:
                raise Failed("timeout", missed.message, "Try `roommesh demo --smoke`.") from None
            await Play(room, screen).run()
        screen.title("The three nodes are gone, and all they wrote.")
    return exit_codes.OK


async def _smoke(screen: Screen, model_url: str | None, first_port: int) -> int:
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    screen.title("roommesh demo --smoke: each step is checked through another install")
    model = await find_model(model_url) if model_url else None
    async with _nodes(screen, first_port) as nodes:
        await _start(screen, nodes)
        async with open_room(nodes) as room:
            screen.head()
            rows = await Checks(room, screen, model).run(began_s + RUN_S)
        ok = all(row.ok for row in rows)
        took_ms = round((loop.time() - began_s) * 1_000)
        screen.verdict(rows, took_ms, [] if ok else _what_to_do(nodes))
    return exit_codes.OK if ok else exit_codes.ERROR


@asynccontextmanager
async def _nodes(screen: Screen, first_port: int) -> AsyncIterator[list[DemoNode]]:
    """Three nodes that are not started yet; none of them is left after the block."""
    ports = free_ports(first_port, len(PEOPLE))
    if first_port and ports != [*range(first_port, first_port + len(PEOPLE))]:
        shown = ", ".join(map(str, ports))
        screen.note(f"Not all ports from {first_port} on are free; the demo takes {shown}.")
    async with DemoFolder() as folder:
        nodes = [
            DemoNode(name, person, folder=folder, port=port)
            for (name, person), port in zip(PEOPLE.items(), ports, strict=True)
        ]
        try:
            yield nodes
        finally:
            for node in nodes:
                await node.unplug()


async def _start(screen: Screen, nodes: Sequence[DemoNode]) -> None:
    """Start them at the same time, and tell of each as soon as it answers. Raises Failed."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()

    async def launch(node: DemoNode) -> None:
        screen.happened("starting", node.name, "starts")
        await node.launch()
        text = f"answers at {node.url} after {loop.time() - began_s:.1f} s"
        screen.happened("started", node.name, text, url=node.url, home=str(node.home))

    try:
        async with asyncio.TaskGroup() as launches:
            for node in nodes:
                launches.create_task(launch(node))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    for node in nodes:
        await node.meet()


def _what_to_do(nodes: Sequence[DemoNode]) -> list[str]:
    """What helps when a step does not hold: the last warnings of each node, and where to go."""
    said = [
        f"{node.name}: {line}" for node in nodes for line in _warnings(node.home)[-LOG_LINES:]
    ]
    return [
        *said,
        "What to do: run it once more; a busy machine can be too slow for the bounds above.",
        "If it fails again, report the row, what it says, and the lines above.",
    ]


def _warnings(home: Path) -> list[str]:
    try:
        lines = (home / "logs" / "node.log").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ["it has written no log"]
    return [line for line in lines if '"level": "info"' not in line and "debug" not in line]
