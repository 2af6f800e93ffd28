"""The feed tells each event once, whoever shows it, and presence as the first machine sees it."""

import asyncio
import json
from typing import Any, cast

import pytest

from mesh.cli.demo_feed import MOMENT_S, Feed
from mesh.cli.demo_room import DemoRoom
from mesh.cli.demo_screen import Screen
from mesh.cli.demo_watch import Watch
from mesh.cli.terminal import Terminal
from tests.cli.demo_fakes import ROOM, FakeMachine, event, signal

YOU = {"member_id": "m1", "handle": "you", "display_name": "You", "kind": "person"}
ECHO = {"member_id": "m2", "handle": "echo", "display_name": "E", "kind": "agent"}
BY_YOU = {"id": "m1", "display_name": "You", "handle": "you"}


class TwoMachines:
    """Stands for the room: laptop and desktop, and a feed that listens to both."""

    def __init__(self) -> None:
        self.laptop, self.desktop = FakeMachine("laptop"), FakeMachine("desktop")
        self.nodes = (self.laptop, self.desktop)
        self.watches = {m.name: Watch(m.node, ROOM) for m in self.nodes}
        self.watch(self.laptop).events += [
            event(1, "room.created", founder=YOU),
            event(2, "member.joined", member={**ECHO, "install_name": "friend"}),
        ]
        Feed(cast("DemoRoom", self), Screen(Terminal(home=None, json=True))).begin()

    def watch(self, machine: FakeMachine) -> Watch:
        """As the room's."""
        return self.watches[machine.name]

    def show(self, machine: FakeMachine, item: Any) -> None:
        """One machine shows something."""
        for listener in self.watch(machine).listeners:
            listener(self.watch(machine), item)


@pytest.fixture
async def two() -> TwoMachines:
    """Inside of a loop."""
    return TwoMachines()


def told(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    """Machine and text of all that was told."""
    values = map(json.loads, capsys.readouterr().out.splitlines())
    return [(value["node"], value["text"]) for value in values]


async def test_an_event_is_told_once(
    two: TwoMachines, capsys: pytest.CaptureFixture[str]
) -> None:
    hello = event(3, "message.user", BY_YOU, text="hello\x1b[2J")
    for machine in two.nodes:
        two.show(machine, hello)
    assert told(capsys) == [("laptop", 'You: "hello\x1b[2J"')]


async def test_answers_withdrawals_and_failures_have_their_words(
    two: TwoMachines, capsys: pytest.CaptureFixture[str]
) -> None:
    by_echo = {"id": "m2", "display_name": "E", "handle": "echo"}
    two.show(two.laptop, event(3, "message.member", by_echo, text="x" * 30, turn_id="t"))
    two.show(two.laptop, event(4, "turn.failed", member_id="m2", reason="backend_cut"))
    two.show(two.laptop, event(5, "grant.revoked", member_id="m2"))
    two.show(two.laptop, event(6, "member.left", member_id="m2"))
    two.show(two.laptop, event(7, "turn.admitted", member_id="m2"))
    two.show(two.laptop, signal("turn.state", turn={
        "member_id": "m2", "state": "offline", "reason": "peer_offline"
    }))
    assert [text for _, text in told(capsys)] == [
        "@echo answers from friend: 30 characters",
        "@echo does not answer: backend_cut",
        "@echo is withdrawn",
        "@echo has left",
        "@echo will answer later: peer_offline",
    ]


async def test_presence_of_one_moment_is_one_line_of_the_first_machine(
    two: TwoMachines, capsys: pytest.CaptureFixture[str]
) -> None:
    gone: dict[str, Any] = {"presence": "offline", "reason": "peer_offline"}
    for machine in two.nodes:
        two.show(machine, signal("presence", member_id="m1", **gone))
        two.show(machine, signal("presence", member_id="m2", **gone))
    await asyncio.sleep(MOMENT_S)  # over: nothing but time ends a moment
    assert told(capsys) == [("laptop", "shows You, @echo: offline (peer_offline)")]
    two.laptop.unplug()
    two.show(two.desktop, signal("presence", member_id="m2", presence="online", reason=""))
    await asyncio.sleep(MOMENT_S)
    assert told(capsys) == [("desktop", "shows @echo: online")]
