"""`roommesh demo --smoke`: each step of the stories, checked through another install's surface.

What one machine did is believed only when another one shows it, through the SDK, as any program
would see it. The steps build on each other, so the first one that does not hold ends the run.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any, Final

from mesh.cli.demo_burst import Burst
from mesh.cli.demo_model import Model
from mesh.cli.demo_nodes import DemoNode
from mesh.cli.demo_room import LENT, PERMISSIONS, ROOM_NAME, DemoRoom, next_friday
from mesh.cli.demo_screen import Row, Screen
from mesh.cli.demo_watch import NotSeen, answers_to
from mesh.cli.failure import Failed
from mesh.client import ClientError, RequestRejected
from mesh.client.invitations import new_request_id

PIECES_MIN: Final = 5
STEP_S: Final = 25.0
RUN_S: Final = 55.0
"""The whole run, from the command's start; closing down comes after it."""
_EVENT_NAMED: Final = re.compile(r"#(\d+)")

Check = Callable[[], Awaitable[str]]


def holds(is_so: bool, otherwise: str) -> None:
    """Go on if it is so. Raises NotSeen with what is the case otherwise."""
    if not is_so:
        raise NotSeen(otherwise)


class Checks:
    """The steps in their order. Each returns what was seen, or raises."""

    def __init__(self, room: DemoRoom, screen: Screen, model: Model | None) -> None:
        self._room = room
        self._screen = screen
        self._model = model
        self._links: dict[str, str] = {}
        self._burst = Burst(room)
        self._bound: asyncio.Timeout | None = None
        self._lost = ""

    async def run(self, deadline: float) -> list[Row]:
        """Do them all by then; print each as it is known, and return them."""
        loop = asyncio.get_running_loop()
        rows: list[Row] = []
        for node in self._room.nodes:
            self._room.beside(self._mourn(node))
        for number, (what, through, check) in enumerate(self._steps(), 1):
            began_s = loop.time()
            ok: bool | None = None
            detail = "not reached"
            if all(row.ok for row in rows):
                ok, detail = await self._judged(check, min(began_s + STEP_S, deadline))
            row = Row(
                number=number,
                what=what,
                through=through,
                took_ms=round((loop.time() - began_s) * 1_000),
                ok=ok,
                detail=detail,
            )
            rows.append(row)
            self._screen.row(row)
        return rows

    async def _judged(self, check: Check, deadline: float) -> tuple[bool, str]:
        """Whether it holds, and what was seen."""
        try:
            async with asyncio.timeout_at(deadline) as self._bound:
                return True, await check()
        except NotSeen as missed:
            return False, missed.message
        except (ClientError, Failed) as error:
            return False, self._lost or f"{error.message} ({error.reason})"
        except TimeoutError:
            return False, self._lost or "it took too long"
        finally:
            self._bound = None

    async def _mourn(self, node: DemoNode) -> None:
        """A node that ends by itself ends the step at once: nothing will be seen of it."""
        while True:
            await node.went_up.wait()
            await node.ended()
            if node.went_up.is_set():
                self._lost = f"{node.name} has ended by itself"
                node.went_up.clear()
                if self._bound is not None:
                    self._bound.reschedule(0)

    def _steps(self) -> list[tuple[str, tuple[str, ...], Check]]:
        three = tuple(node.name for node in self._room.nodes)
        hosts, guests = ("laptop", "desktop"), ("desktop", "friend")
        model: list[tuple[str, tuple[str, ...], Check]] = [
            ("@model answers from laptop", ("desktop",), self._model_answers)
        ]
        return [
            ("three nodes run, each with a key of its own", three, self._nodes),
            ("an invitation's preview says who, to what", ("desktop",), self._preview),
            ("desktop joins, lends @guide; the link is used", ("laptop",), self._desktop_joins),
            ("a second use is refused: invitation_spent", ("friend",), self._second_use),
            ("friend joins, lends @echo until Friday", hosts, self._friend_joins),
            ("a message from laptop is read", guests, self._laptop_speaks),
            ("a message from friend is read", hosts, self._friend_speaks),
            ("@guide answers from desktop, in pieces", ("laptop", "friend"), self._guide),
            ("@scribe answers the friend from laptop", ("friend",), self._scribe),
            ("@echo answers from friend, once", hosts, self._echo),
            *(model if self._model else []),
            ("friend unplugged: shown offline", hosts, self._unplugged),
            ("a message to @echo waits: peer_offline", hosts, self._waits),
            ("replugged: one answer, nothing said twice", three, self._replugged),
            ("laptop killed amid messages; desktop's wait", guests, self._host_killed),
            ("laptop back: all that was acknowledged, once", guests, self._host_back),
            ("friend withdraws: @echo shown withdrawn", hosts, self._withdrawn),
            ("a new mention of it fails: withdrawn", hosts, self._mention_fails),
            ("three logs are one, hash by hash", three, self._one_log),
        ]

    # --- coming together -----------------------------------------------------------------------

    async def _nodes(self) -> str:
        infos = [await node.sdk.node.info() for node in self._room.nodes]
        installs = {info["install_id"] for info in infos}
        holds(len(installs) == 3, f"only {len(installs)} different installs")
        holds(not any(info["lan"] for info in infos), "a node is open to the network")
        return ", ".join(f"{info['name']} {info['listen'][0]}" for info in infos)

    async def _preview(self) -> str:
        room = self._room
        await room.make()
        for guest in (room.desktop, room.friend):
            self._links[guest.name] = str((await room.invite())["link"])
        found = await room.desktop.sdk.invitations.preview(self._links["desktop"])
        inviter = found["inviter"]
        seen = (found["room_name"], inviter["install_id"], found["already_member"])
        wanted = (ROOM_NAME, room.laptop.install_id, False)
        holds(seen == wanted, f"the preview says {seen}")
        return f"{inviter['display_name']} at {inviter['install_name']}: {found['room_name']}"

    async def _joins(self, guest: DemoNode) -> dict[str, Any]:
        """A guest joins, and the laptop shows its agent online; returns that member."""
        room = self._room
        until_ms = int(next_friday().timestamp() * 1_000)
        receipt = await room.join(guest, self._links[guest.name], until_ms)
        holds(receipt["status"] == "applied", f"the receipt says {receipt['reason']}")
        member = await room.watch(room.laptop).member(LENT[guest.name], "online")
        home = member["install_id"]
        holds(home == guest.install_id, f"the agent lives on {home}, not on {guest.name}")
        lent = member["lent"] or {}
        same = sorted(lent.get("permissions", ())) == sorted(PERMISSIONS)
        holds(same and lent["until"] == until_ms, f"lent is {lent}")
        return member

    async def _desktop_joins(self) -> str:
        room = self._room
        await self._joins(room.desktop)
        shown = await room.laptop.sdk.invitations.list(room.room_id)
        states = sorted(invitation["state"] for invitation in shown)
        holds(states == ["open", "used"], f"invitations are {states}")
        used = next(invitation for invitation in shown if invitation["state"] == "used")
        return f"used by {used['redeemed_by'][0]['display_name']}"

    async def _second_use(self) -> str:
        room = self._room
        before = await room.laptop.sdk.rooms.state(room.room_id)
        link = self._links["desktop"]
        try:
            receipt = await room.friend.sdk.invitations.accept(link, request_id=new_request_id())
        except RequestRejected as refusal:
            reason = refusal.reason
        else:
            reason = str(receipt["reason"])
        holds(reason == "invitation_spent", f"the reason was {reason!r}")
        after = await room.laptop.sdk.rooms.state(room.room_id)
        holds(before["latest_seq"] == after["latest_seq"], "it left something in the log")
        return reason

    async def _friend_joins(self) -> str:
        room = self._room
        member = await self._joins(room.friend)
        await room.watch(room.desktop).member("echo", "online")
        held = await room.laptop.sdk.grants.list(room.room_id)
        mine = [g for g in held if g["member_id"] == member["member_id"]]
        states = {(g["state"], g["direction"]) for g in mine}
        holds(states == {("active", "held")}, f"grants are {states}")
        return f"lent {', '.join(member['lent']['permissions'])}"

    # --- talking -------------------------------------------------------------------------------

    async def _spreads(self, speaker: DemoNode, text: str) -> str:
        room = self._room
        said = await room.say(speaker, text)
        holds(said.accepted, "it was not accepted")
        others = [node for node in room.nodes if node is not speaker]
        return ", ".join([f"{n.name} {await room.heard(said, n)} ms" for n in others])

    async def _laptop_speaks(self) -> str:
        return await self._spreads(self._room.laptop, "Hello from the laptop.")

    async def _friend_speaks(self) -> str:
        return await self._spreads(self._room.friend, "Hello from a friend.")

    async def _guide(self) -> str:
        room = self._room
        said = await room.say(room.laptop, "@guide show us round")
        counts = []
        for node in (room.laptop, room.friend):
            answer = await self._answered(said.event_id, node, home=room.desktop)
            pieces = room.watch(node).pieces(answer["cause"]["turn_id"])
            counts.append(f"{node.name} {len(pieces)} pieces")
            holds(len(pieces) >= PIECES_MIN, f"{node.name} saw {len(pieces)} pieces only")
            whole = "".join(pieces) == answer["payload"]["text"]
            holds(whole, f"the pieces on {node.name} are not the answer")
        named = {int(seq) for seq in _EVENT_NAMED.findall(answer["payload"]["text"])}
        real = {event.seq for event in room.watch(room.friend).events}
        holds(bool(named) and named <= real, f"it names events {sorted(named)}")
        return ", ".join(counts)

    async def _scribe(self) -> str:
        room = self._room
        said = await room.say(room.friend, "@scribe who is here?")
        answer = await self._answered(said.event_id, room.friend, home=room.laptop)
        return f"event {answer['seq']}"

    async def _echo(self) -> str:
        room = self._room
        said = await room.say(room.laptop, "@echo once, please")
        for node in (room.laptop, room.desktop):
            answer = await self._answered(said.event_id, node, home=room.friend)
            text = answer["payload"]["text"]
            holds(text == "once, please", f"{node.name} shows {text!r}")
        return f"event {answer['seq']}"

    async def _model_answers(self) -> str:
        room = self._room
        assert self._model is not None
        await self._model.seat(room)
        await room.watch(room.desktop).member("model", "online")
        said = await room.say(room.desktop, "@model say hello, in one sentence")
        answer = await self._answered(said.event_id, room.desktop, home=room.laptop)
        return f"{len(answer['payload']['text'])} characters"

    async def _answered(self, event_id: str, at: DemoNode, *, home: DemoNode) -> dict[str, Any]:
        """The one answer to a message, as `at` shows it, from the machine it must come from."""
        watch = self._room.watch(at)
        answer = await watch.event(
            f"an answer to {event_id}",
            lambda e: e.kind == "message.member" and e.event["cause"]["root"] == event_id,
        )
        turn_id = answer.payload["turn_id"]
        # What comes after the answer: had it been given twice, that would be known by now.
        await watch.event(
            "the end of its turn",
            lambda e: e.kind == "turn.settled" and e.payload["turn_id"] == turn_id,
        )
        answers = answers_to(event_id, await watch.log())
        holds(len(answers) == 1, f"{at.name} shows {len(answers)} answers")
        origin = answers[0]["actor"]["install_id"]
        holds(origin == home.install_id, f"it came from {origin}, not from {home.name}")
        return answers[0]

    # --- coming and going ----------------------------------------------------------------------

    async def _unplugged(self) -> str:
        room = self._room
        await room.friend.unplug()
        for node in (room.laptop, room.desktop):
            member = await room.watch(node).member("echo", "offline")
            holds(member["reason"] == "peer_offline", f"the reason is {member['reason']}")
        return str(member["reason"])

    async def _waits(self) -> str:
        room = self._room
        self._waiting = await room.say(room.laptop, "@echo when you are back")
        for node in (room.laptop, room.desktop):
            await room.heard(self._waiting, node)
            await room.watch(node).state(
                "the turn waits, peer_offline",
                lambda state: ("offline", "peer_offline")
                in {(turn["state"], turn["reason"]) for turn in state["turns"]},
            )
        answers = answers_to(self._waiting.event_id, await room.watch(room.laptop).log())
        holds(not answers, "something else answered in its place")
        return "peer_offline"

    async def _replugged(self) -> str:
        room = self._room
        took_s = await room.friend.start()
        for node in room.nodes:
            answer = await self._answered(self._waiting.event_id, node, home=room.friend)
            holds(answer["payload"]["text"] == "when you are back", "another answer")
        for node in (room.laptop, room.desktop):
            await room.watch(node).member("echo", "online")
        return f"started in {took_s:.1f} s"

    async def _host_killed(self) -> str:
        room = self._room
        acknowledged = await self._burst.cut_short(room.laptop)
        for node in (room.desktop, room.friend):
            await room.watch(node).state(
                "the host is away", lambda state: state["authority"]["link"] == "down"
            )
        queued = await self._burst.while_away(room.desktop)
        return f"{acknowledged} acknowledged before; then {queued}"

    async def _host_back(self) -> str:
        room = self._room
        took_s = await room.laptop.start()
        for node in (room.desktop, room.friend):
            await room.watch(node).state(
                "the host is there", lambda state: state["authority"]["link"] == "up"
            )
        again = await self._burst.finish(room.laptop)
        for node in (room.desktop, room.friend, room.laptop):
            problem = await self._burst.missing_on(node)
            holds(not problem, problem)
        return f"started in {took_s:.1f} s; {again} sent again"

    async def _withdrawn(self) -> str:
        room = self._room
        revoked = await room.withdraw()
        for node in (room.laptop, room.desktop):
            await room.watch(node).member("echo", "withdrawn")
        held = await room.laptop.sdk.grants.list(room.room_id)
        states = {g["state"] for g in held if g["grant_id"] in revoked}
        holds(states <= {"revoked"}, f"the grant is {states} on laptop")
        return f"{len(revoked)} grants ended"

    async def _mention_fails(self) -> str:
        room = self._room
        said = await room.say(room.laptop, "@echo are you there?")
        for node in (room.laptop, room.desktop):
            watch = room.watch(node)
            await room.heard(said, node)
            failed = await watch.event(
                "its turn fails",
                lambda e: e.kind == "turn.failed" and e.payload["reason"] == "withdrawn",
            )
            holds(not answers_to(said.event_id, await watch.log()), "it was answered")
        return str(failed.payload["reason"])

    async def _one_log(self) -> str:
        room = self._room
        said = await room.say(room.friend, "That is all.")
        logs = []
        for node in room.nodes:
            await room.heard(said, node)
            log = await room.watch(node).log()
            logs.append([{**event, "level": ""} for event in log])
            holds(not room.watch(node).is_torn, f"{node.name} has shown a gap")
        first = logs[0]
        holds(all(log == first for log in logs), "the logs differ")
        holds([e["seq"] for e in first] == [*range(1, len(first) + 1)], "a seq is missing")
        linked = all(b["prev_hash"] == a["hash"] for a, b in pairwise(first))
        holds(linked, "the chain of hashes is broken")
        return f"{len(first)} events, last hash {first[-1]['hash'][:12]}"
