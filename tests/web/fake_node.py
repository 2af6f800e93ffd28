"""A fake node that speaks docs/surface.md to a browser, with a scripted room behind it.

Used only for looking at the pages while they are made: it checks no cookie beyond "was there a
login", stores nothing, and signs nothing. What the real node does is tested with real nodes.

Run it with `python -m tests.web.fake_pages --port 7499`, then open the printed address. Words in
a message make things happen: see script.py.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from tests.web.invitations import created
from tests.web.script import Script, now_ms
from tests.web.story import DAY_MS, DESKTOP, FRIEND, HERE, HOUR_MS, Room, tell

Answer = dict[str, Any]


class Refusal(Exception):
    """An error of JSON-RPC."""

    def __init__(self, reason: str, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.reason, self.next_step = reason, next_step


class FakeNode:
    """The methods of the surface, over the rooms of the story."""

    def __init__(self) -> None:
        self.rooms: dict[str, Room] = {room.room_id: room for room in tell(now_ms())}
        self.sockets: dict[web.WebSocketResponse, set[str]] = {}
        self.invitations: dict[str, Answer] = {}
        self.lan = False
        self.sent: dict[str, Answer] = {}
        self.script = Script(self)

    # ---- node ----------------------------------------------------------------------------

    async def node_info(self, params: Answer) -> Answer:
        """Who this is."""
        return {
            "install_id": HERE,
            "boot_id": "boot",
            "version": "0.1.0",
            "name": "laptop",
            "operator": {"member_name": "Ada"},
            "listen": ["http://127.0.0.1:7420"],
            "lan": self.lan,
            "lan_urls": ["https://192.0.2.7:7420", "https://laptop.local:7420"] if self.lan else [],
            "fingerprint": "3F:9A:11:C0:7E:52:D4:88:" * 3 + "3F:9A:11:C0:7E:52:D4:88",
            "started_at_ms": now_ms() - 5 * HOUR_MS,
            "home": "~/.local/share/roommesh",
        }

    async def node_status(self, params: Answer) -> Answer:
        """Links and profiles."""
        links = [
            (DESKTOP, "desktop", "down", "https://192.0.2.9:7420", "peer_offline"),
            (FRIEND, "ben-tower", "up", "https://198.51.100.4:7420", None),
        ]
        keys = ("install_id", "name", "state", "address", "reason")
        return {
            "install_id": HERE,
            "name": "laptop",
            "ready": True,
            "rooms": len(self.rooms),
            "links": [
                dict(zip(keys, link, strict=True)) | {"since_ms": now_ms() - 14 * 60_000}
                for link in links
            ],
            "profiles": (await self.profiles_list({}))["profiles"],
            "sightings": [
                {"install_id": "install:77" + "0" * 30, "name": "nas", "address": "192.0.2.20"}
            ],
            "storage": {"events": 1234, "queue": 0},
            "warnings": [],
        }

    async def node_set_lan(self, params: Answer) -> Answer:
        """Opens or closes the node."""
        self.lan = params["enabled"]
        return {key: (await self.node_info({}))[key] for key in ("lan", "lan_urls", "fingerprint")}

    async def node_subscribe(self, params: Answer) -> Answer:
        """Nothing to keep: every socket hears of changes."""
        return {}

    async def node_sessions(self, params: Answer) -> Answer:
        """Two browsers."""
        agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"
        phone = "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0"
        rows = [("b1", agent, True, 0), ("b2", phone, False, 2 * DAY_MS)]
        return {
            "sessions": [
                {
                    "session_id": session_id,
                    "created_at": now_ms() - 9 * DAY_MS,
                    "last_seen_at": now_ms() - ago,
                    "user_agent": text,
                    "current": current,
                }
                for session_id, text, current, ago in rows
            ]
        }

    async def profiles_list(self, params: Answer) -> Answer:
        """Three profiles, one of which failed."""
        rows = [
            ("scribe", "Scribe", "Summaries, minutes, who is here", "builtin", "ready", None),
            ("echo", "Echo", "Says what it was told", "builtin", "ready", None),
            ("qwen", "Qwen", "A model on this machine", "openai", "failed", "peer_offline"),
        ]
        keys = ("name", "display_name", "description", "backend", "state", "reason")
        return {"profiles": [dict(zip(keys, row, strict=True)) | {"rooms": 1} for row in rows]}

    async def profiles_add(self, params: Answer) -> Answer:
        """Accepts anything."""
        return {"name": params["config"]["name"], "state": "starting"}

    async def profiles_test(self, params: Answer) -> Answer:
        """The failed one stays failed."""
        ok = params["profile"] != "qwen"
        message = "" if ok else "Nothing listens at http://127.0.0.1:11434."
        return {"ok": ok, "reason": "", "message": message, "next": "", "latency_ms": 41}

    async def grants_list(self, params: Answer) -> Answer:
        """One loan of ours."""
        return {
            "grants": [
                {
                    "grant_id": "g_" + "1" * 32,
                    "direction": "issued",
                    "room_id": "r_" + "2" * 32,
                    "room_name": "Garden & kitchen",
                    "member_id": "m_" + "9" * 32,
                    "handle": "echo",
                    "profile": "echo",
                    "permissions": ["dispatch", "stop"],
                    "state": "active",
                    "until": now_ms() + DAY_MS,
                    "last_used_at": now_ms() - 3 * HOUR_MS,
                }
            ]
        }

    async def grants_revoke(self, params: Answer) -> Answer:
        """Withdraws, and says so in the room."""
        room = self.room(params if "room_id" in params else {"room_id": "r_" + "2" * 32})
        member_id = params.get("member_id", "m_" + "9" * 32)
        room.members[member_id] |= {"presence": "withdrawn", "presence_since": now_ms()}
        payload = {"member_id": member_id, "reason": "withdrawn"}
        await self.publish(room, room.add("grant.revoked", member_id, payload, now_ms()))
        return {"revoked": ["g_" + "1" * 32]}

    # ---- groups --------------------------------------------------------------------------

    def room(self, params: Answer) -> Room:
        """The room that is meant."""
        found = self.rooms.get(params.get("room_id", ""))
        if found is None:
            raise Refusal("not_found", "There is no such room.")
        return found

    async def groups_list(self, params: Answer) -> Answer:
        """All rooms."""
        return {"rooms": [room.row() for room in self.rooms.values()]}

    async def groups_state(self, params: Answer) -> Answer:
        """One room."""
        return self.room(params).state()

    async def groups_log(self, params: Answer) -> Answer:
        """A page of the log."""
        room = self.room(params)
        since, limit = params["since_seq"], params["limit"]
        events = room.events[since : since + limit]
        latest = len(room.events)
        return {
            "events": events,
            "cursor": since + len(events),
            "latest_seq": latest,
            "protected_seq": latest,
            "has_more": since + len(events) < latest,
            "authority": room.authority(),
        }

    async def groups_create(self, params: Answer) -> Answer:
        """A new room with its founder."""
        room = Room(params["name"], f"{len(self.rooms) + 1}", now_ms())
        founder = dict(next(iter(self.rooms.values())).members["m_" + "a" * 32])
        room.members[founder["member_id"]] = founder
        payload = {"name": room.name, "founder": founder}
        room.add("room.created", founder["member_id"], payload, now_ms())
        room.seat(founder, now_ms())
        self.rooms[room.room_id] = room
        return {"room": room.row()}

    async def groups_send(self, params: Answer) -> Answer:
        """Idempotent by event_id; a host that is away makes it wait."""
        room, event_id = self.room(params), params["event_id"]
        if event_id in self.sent:
            return {"event": self.sent[event_id], "accepted": True, "idempotent": True}
        text = params["payload"]["text"]
        if "refuse" in text:
            raise Refusal("forbidden", "The owner does not let you write.", "Ask the owner.")
        if room.link == "down":
            held = [one for one in room.outbox if one["event_id"] == event_id]
            if held:
                return {"accepted": False, "queued": True, "state": "waiting"}
            queued = {"event_id": event_id, "kind": "message.user", "text": text}
            room.outbox.append(queued | {"queued_at": now_ms(), "state": "waiting", "reason": None})
            return {"accepted": False, "queued": True, "state": "waiting"}
        await asyncio.sleep(0.05)
        event = room.add("message.user", room.me, params["payload"], now_ms(), event_id=event_id)
        self.sent[event_id] = event
        await self.publish(room, event)
        self.script.heard(room, event, text)
        return {"event": event, "accepted": True, "protected": True, "level": "local"}

    async def groups_discard(self, params: Answer) -> Answer:
        """Takes a queued message back."""
        room = self.room(params)
        room.outbox = [one for one in room.outbox if one["event_id"] != params["event_id"]]
        return {"discarded": True}

    async def groups_stop(self, params: Answer) -> Answer:
        """Cancels the answer that is being written."""
        return {"stopping": self.script.stop(params.get("turn_id"))}

    async def groups_rename(self, params: Answer) -> Answer:
        """A control call like the others."""
        room = self.room(params)
        room.name = params["name"]
        return await self._control(room, "room.renamed", {"name": room.name})

    async def groups_member_mute(self, params: Answer) -> Answer:
        """Mutes a member."""
        room = self.room(params)
        payload = {key: params[key] for key in ("member_id", "muted")}
        room.members[params["member_id"]]["muted"] = params["muted"]
        return await self._control(room, "member.muted", payload)

    async def groups_member_remove(self, params: Answer) -> Answer:
        """Removes a member."""
        room = self.room(params)
        room.members[params["member_id"]]["presence"] = "left"
        payload = {"member_id": params["member_id"], "reason": "removed"}
        return await self._control(room, "member.left", payload)

    async def _control(self, room: Room, kind: str, payload: Answer) -> Answer:
        event = room.add(kind, room.me, payload, now_ms())
        await self.publish(room, event)
        return {"event": event, "accepted": True}

    # ---- invitations ---------------------------------------------------------------------

    async def invitations_create(self, params: Answer) -> Answer:
        """A link, its picture and its life."""
        return await created(self, params)

    async def invitations_list(self, params: Answer) -> Answer:
        """Those of one room."""
        wanted = [
            one for one in self.invitations.values() if one["room_id"] == params.get("room_id")
        ]
        return {"invitations": wanted}

    async def invitations_revoke(self, params: Answer) -> Answer:
        """Takes one back."""
        self.invitations[params["invitation_id"]]["state"] = "revoked"
        await self.changed("invitations")
        return {"accepted": True}

    async def invitations_preview(self, params: Answer) -> Answer:
        """Who invites to what."""
        if "damaged" in params["link"]:
            raise Refusal("invitation_damaged", "This link is damaged.", "Ask for it again.")
        inviter = {"display_name": "Ben", "install_id": FRIEND, "install_name": "ben-tower"}
        return {
            "room_name": "Garden & kitchen",
            "room_id": "r_" + "2" * 32,
            "inviter": inviter,
            "role": "member",
            "uses_left": 1,
            "expires_at": now_ms() + 20 * HOUR_MS,
            "members": 3,
            "already_member": False,
            "server_time": now_ms(),
        }

    async def invitations_accept(self, params: Answer) -> Answer:
        """Joins at once."""
        result = {"room_id": "r_" + "2" * 32, "member_id": "m_" + "a" * 32, "lent": []}
        return {"request_id": params["request_id"], "status": "applied", "result": result}

    # ---- the wire ------------------------------------------------------------------------

    async def call(self, frame: Answer, socket: web.WebSocketResponse | None) -> Answer:
        """Answer one request."""
        method, params = frame.get("method", ""), frame.get("params", {})
        if method == "groups.subscribe" and socket is not None:
            return await self._subscribe(frame, socket)
        handler: Callable[[Answer], Awaitable[Answer]] | None = getattr(
            self, method.replace(".", "_"), None
        )
        reply = {"jsonrpc": "2.0", "id": frame.get("id")}
        try:
            if handler is None:
                raise Refusal("unsupported", f"The fake node has no {method}.")
            return reply | {"result": await handler(params)}
        except Refusal as refusal:
            data = {"reason": refusal.reason, "status": 403, "next": refusal.next_step}
            return reply | {"error": {"code": -32000, "message": str(refusal), "data": data}}

    async def _subscribe(self, frame: Answer, socket: web.WebSocketResponse) -> Answer:
        room = self.room(frame["params"])
        self.sockets[socket].add(room.room_id)
        latest = len(room.events)
        for event in room.events[frame["params"]["since_seq"] :]:
            await socket.send_json(notification(room, "group.event", event))
        result = {"latest_seq": latest, "protected_seq": latest, "authority": room.authority()}
        return {"jsonrpc": "2.0", "id": frame["id"], "result": result}

    async def publish(self, room: Room, payload: Answer, kind: str = "group.event") -> None:
        """Tell every page that listens to this room."""
        for socket, rooms in list(self.sockets.items()):
            if room.room_id in rooms and not socket.closed:
                await socket.send_json(notification(room, kind, payload))

    async def changed(self, what: str) -> None:
        """Tell every page that the node has changed."""
        for socket in list(self.sockets):
            params = {"type": "node.changed", "what": what}
            await socket.send_json({"jsonrpc": "2.0", "method": "event", "params": params})


def notification(room: Room, kind: str, payload: Answer) -> Answer:
    """One frame of a subscription."""
    params: Answer = {"type": kind, "room_id": room.room_id, "payload": payload}
    if kind == "group.event":
        params["seq"] = payload["seq"]
    return {"jsonrpc": "2.0", "method": "event", "params": params}
