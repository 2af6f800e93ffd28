"""Machines: installs whose nodes are processes, spoken to as any program does, through the SDK.

A machine keeps its home and its port over its life, so that a page that is open finds it again.
Each question opens a connection of its own: it does not matter which task asks, nor whether the
node was killed since the last one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from mesh.client import connect
from mesh.client.control_file import read_control
from mesh.client.invitations import new_request_id
from mesh.client.request import REQUEST_S
from mesh.client.rooms import new_event_id
from tests.processes.node_process import START_S, NodeProcess

WAIT_S: Final = 15.0
_LOOK_EVERY_S: Final = 0.05
ALL_PERMISSIONS: Final = ("dispatch", "stop", "status")


class Machine(NodeProcess):
    """One install: its process, and what its owner does with it outside the browser."""

    @property
    def url(self) -> str:
        """The address of its page on this machine."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        """The secret in its control.json."""
        return read_control(self.home).token

    @property
    def cookie_name(self) -> str:
        """The cookie that a browser of this install has."""
        return f"roommesh_{self.install_id.removeprefix('install:')[:8]}"

    @property
    def log_text(self) -> str:
        """Everything it has written into its log."""
        files = sorted((self.home / "logs").iterdir())
        return "".join(file.read_text("utf-8") for file in files)

    # --- what a program asks -------------------------------------------------------------------

    async def ask(
        self, method: str, *, deadline_s: float = REQUEST_S, **params: Any
    ) -> dict[str, Any]:
        """One request, as a program with the home's token."""
        async with connect(self.home) as node:
            return await node.request(method, params, deadline_s=deadline_s)

    async def login_link(self) -> str:
        """A one-time link to its page."""
        return str((await self.ask("node.login_link"))["link"])

    async def founds(self, name: str, *profiles: str, **more: Any) -> str:
        """Found a room with these profiles of its own; returns the room's id."""
        seats = [{"profile": profile} for profile in profiles]
        answer = await self.ask("groups.create", name=name, members=seats, **more)
        return str(answer["room"]["room_id"])

    async def joins(
        self, host: "Machine", room_id: str, *profiles: str, display_name: str = ""
    ) -> dict[str, str]:
        """Join the host's room, lending these profiles; returns member ids by profile."""
        made = await host.ask("invitations.create", room_id=room_id)
        permissions = list(ALL_PERMISSIONS)
        receipt = await self.ask(
            "invitations.accept",
            deadline_s=START_S,
            link=made["link"],
            request_id=new_request_id(),
            display_name=display_name or self.person,
            lend=[{"profile": profile, "permissions": permissions} for profile in profiles],
        )
        assert receipt["status"] == "applied", receipt
        lent: list[str] = receipt["result"]["lent"]
        for member_id in lent:
            await host.sees(room_id, member_id, "online")
        return dict(zip(profiles, lent, strict=True))

    async def says(self, room_id: str, text: str) -> dict[str, Any]:
        """Say something here; returns the answer of `groups.send`."""
        return await self.ask(
            "groups.send", room_id=room_id, event_id=new_event_id(), payload={"text": text}
        )

    async def log(self, room_id: str) -> list[dict[str, Any]]:
        """The room's whole log, as this install has it."""
        events: list[dict[str, Any]] = []
        async with connect(self.home) as node:
            while True:
                page = await node.rooms.log(room_id, since_seq=len(events), limit=1_000)
                events += page["events"]
                if not page["has_more"]:
                    return events

    async def sees(self, room_id: str, member_id: str, presence: str) -> None:
        """Wait until that member stands so here."""

        async def holds() -> bool:
            members = (await self.ask("groups.state", room_id=room_id))["members"]
            found = {member["member_id"]: member["presence"] for member in members}
            return found.get(member_id) == presence

        await until(holds, f"{self.name} sees {member_id} {presence}")


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    """Ask until it is so, where nothing announces it. Raises AssertionError."""
    is_so = await holds()
    try:
        async with asyncio.timeout(WAIT_S):
            while not is_so:
                await asyncio.sleep(_LOOK_EVERY_S)
                is_so = await holds()
    except TimeoutError:
        raise AssertionError(f"never: {what}") from None
