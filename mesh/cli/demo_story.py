"""The demo tells stories 1 and 2: my machines, and a friend's agent, as they happen.

Every line says at which machine something was done, and what another one saw of it. Nothing is
told that was not seen: a line comes when it has happened, with the time that it took.
"""

from typing import Any, Final

from mesh.cli.demo_model import Model
from mesh.cli.demo_nodes import DemoNode
from mesh.cli.demo_room import PERMISSIONS, ROOM_NAME, DemoRoom, next_friday
from mesh.cli.demo_screen import Screen
from mesh.cli.failure import Failed

TOUR: Final = "@guide show us round, please"
HELLO: Final = "The lamp in the hall is broken. We will buy a new one on Monday."
ECHO: Final = "@echo can you hear us over there?"
PRESENT: Final = "@scribe who is here?"


class Story:
    """Tells it once, from an empty room to a full one."""

    def __init__(self, room: DemoRoom, screen: Screen, model: Model | None) -> None:
        self._room = room
        self._screen = screen
        self._model = model

    async def tell(self) -> None:
        """All of it.

        Raises:
            Failed, ClientError, NotSeen: something did not happen.
        """
        self._screen.title("Story 1: my machines")
        await self._make()
        await self._bring(self._room.desktop, "brings @guide along")
        await self._talk()
        self._screen.title("Story 2: a friend's agent")
        until = next_friday()
        words = f"lends @echo: {', '.join(PERMISSIONS)}; until {until:%A %d %B, %H:%M}"
        await self._bring(self._room.friend, words)
        await self._borrow()
        if self._model is not None:
            await self._seat_model(self._model)

    # --- story 1 -------------------------------------------------------------------------------

    async def _make(self) -> None:
        await self._room.make()
        self._told("room_made", self._room.laptop, f'makes the room "{ROOM_NAME}", seats @scribe')

    async def _bring(self, guest: DemoNode, words: str) -> None:
        """Invite, preview, join and lend; until the room's host shows the agent ready."""
        laptop, room = self._room.laptop, self._room
        invitation = await room.invite()
        reach = str(invitation["reach"]).replace("_", " ")
        self._told(
            "invitation_made", laptop, f"makes an invitation: one use, one hour, reach {reach}"
        )
        found = await guest.sdk.invitations.preview(str(invitation["link"]))
        inviter = found["inviter"]
        self._told(
            "invitation_previewed",
            guest,
            f"looks at it: {inviter['display_name']} at {inviter['install_name']} invites to "
            f'"{found["room_name"]}"; nothing is spent',
        )
        until_ms = int(next_friday().timestamp() * 1_000)
        receipt = await room.join(guest, str(invitation["link"]), until_ms)
        if receipt["status"] != "applied":
            raise Failed(str(receipt["reason"]), str(receipt["message"]), "Run the demo again.")
        self._told("invitation_accepted", guest, f"joins as {guest.person}, {words}")
        await self._routed(guest)

    async def _routed(self, guest: DemoNode) -> None:
        """The grant arrives at the room's host, which shows the agent as ready."""
        room = self._room
        handle = "guide" if guest is room.desktop else "echo"
        member = await room.watch(room.laptop).member(handle, "online")
        shown = await room.laptop.sdk.invitations.list(room.room_id)
        used = sum(invitation["state"] == "used" for invitation in shown)
        self._told(
            "routed",
            room.laptop,
            f"holds the grant for @{handle}, which is {member['presence']}; "
            f"{_counted(used, 'invitation')} used",
        )

    async def _talk(self) -> None:
        room = self._room
        said = await room.say(room.laptop, HELLO)
        took_ms = await room.heard(said, room.desktop)
        self._told("message", room.laptop, f'says: "{HELLO}"')
        self._told("message_seen", room.desktop, f"reads it after {took_ms} ms")
        await self._ask(room.laptop, TOUR, "guide", room.desktop)

    # --- story 2 -------------------------------------------------------------------------------

    async def _borrow(self) -> None:
        room = self._room
        await self._ask(room.laptop, ECHO, "echo", room.friend)
        await self._ask(room.friend, PRESENT, "scribe", room.laptop)

    async def _seat_model(self, model: Model) -> None:
        room = self._room
        await model.seat(room)
        await room.watch(room.laptop).member("model", "online")
        self._told("model_seated", room.laptop, f"seats @model: {model.name} at {model.place}")
        if not model.is_local:
            self._screen.note(f"What is said to @model goes to {model.place}.")

    async def _ask(self, asker: DemoNode, text: str, handle: str, home: DemoNode) -> None:
        """A question to an agent on another machine, its answer streamed to the asker."""
        room = self._room
        said = await room.say(asker, text)
        self._told("asked", asker, f'asks: "{text}"')
        answer = await room.answer(said, asker)
        took_ms = room.since_ms(said)
        pieces = len(room.watch(asker).pieces(answer["cause"]["turn_id"]))
        self._told(
            "answered",
            home,
            f"answers as @{handle}, event {answer['seq']}: {len(answer['payload']['text'])} "
            f"characters; {asker.name} saw {_counted(pieces, 'piece')} come in {took_ms} ms",
        )

    def _told(self, act: str, node: DemoNode, text: str, **more: Any) -> None:
        self._screen.happened(act, node.name, text, **more)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
