"""One connection to a node: requests with deadlines, notifications, and coming back after a drop.

A task keeps the WebSocket open and re-reads `control.json` on every try, so that it finds a node
that was started again elsewhere. While it is down requests wait, within their deadline. What was
under way when it dropped: reads are asked again, changes raise `OutcomeUnknown` (rule X6).
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import aiohttp
import msgspec

from mesh.client.address import OPEN_S, Address, Socket
from mesh.client.errors import (
    ClientError,
    DeadlinePassed,
    OutcomeUnknown,
    RequestRejected,
    Unreachable,
    rejected,
)
from mesh.client.grants import Grants
from mesh.client.invitations import Invitations
from mesh.client.node import Node
from mesh.client.peers import Peers
from mesh.client.profiles import Profiles
from mesh.client.request import READS, REQUEST_S
from mesh.client.rooms import Rooms
from mesh.client.subscription import RoomItem, Subscription

RETRY_FIRST_S: Final = 0.1
RETRY_MAX_S: Final = 5.0

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class _Lost(Exception):
    """The socket ended before the answer came."""


def connect(
    home: str | Path | None = None,
    *,
    url: str | None = None,
    token: str | None = None,
    fingerprint: str | None = None,
) -> "Connection":
    """A connection, to be entered with `async with`.

    By default to the running node of `home` (or of the user). With `url` and `token` to any node;
    for an https address with a self-signed certificate `fingerprint` is the SHA-256 that the node
    prints, in hex with or without colons, and nothing else is then accepted.

    Raises:
        ValueError: only one of `url` and `token`, or a fingerprint that is none.
    """
    return Connection(Address(home, url=url, token=token, fingerprint=fingerprint))


class Connection:
    """See `connect`. `rooms`, `invitations`, `peers`, `grants`, `profiles`, `node`: the areas."""

    def __init__(self, address: Address) -> None:
        """Use `connect`."""
        self._address = address
        self._session: aiohttp.ClientSession | None = None
        self._socket: Socket | None = None
        self._tasks = asyncio.TaskGroup()
        self._keeper: asyncio.Task[None] | None = None
        self._up = asyncio.Event()
        self._ids = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._node_listeners: set[Callable[[str | None], None]] = set()
        self._ended: ClientError | None = None
        self.rooms = Rooms(self.request)
        self.invitations = Invitations(self.request)
        self.peers = Peers(self.request)
        self.grants = Grants(self.request)
        self.profiles = Profiles(self.request)
        self.node = Node(self.request)

    async def __aenter__(self) -> "Connection":
        """Open it.

        Raises:
            Unreachable: no node answers.
            RequestRejected: it does, and does not let us in.
        """
        session = self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        socket: Socket | None = None
        try:
            socket = await self._address.open(session)
        finally:
            if socket is None:
                await session.close()
        # Entered by hand, so that what the caller's block raises stays what it is.
        await self._tasks.__aenter__()
        self._risen(socket)
        self._keeper = self._tasks.create_task(self._keep(session, socket))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it. Requests under way end with their error for a lost reply."""
        assert self._keeper is not None and self._session is not None
        self._keeper.cancel()
        try:
            await self._tasks.__aexit__(None, None, None)
        finally:
            if self._socket is not None:  # the keeper was cancelled before it began
                await self._socket.close()
            self._dropped()
            self._end(Unreachable("The connection was closed.", next="Open another."))
            await self._session.close()

    @property
    def is_up(self) -> bool:
        """True while the socket is open."""
        return self._socket is not None

    async def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        deadline_s: float = REQUEST_S,
    ) -> dict[str, Any]:
        """Ask one method and return its result.

        Raises:
            RequestRejected: the node refused; the reason says why.
            OutcomeUnknown: a change was sent and its reply lost.
            DeadlinePassed: a read was not answered in time.
            Unreachable: the node was not there within the deadline, and nothing was sent.
        """
        params = params or {}
        sent = False
        try:
            async with asyncio.timeout(deadline_s):
                while True:
                    socket = await self._open_socket()
                    sent = True
                    try:
                        return await self._ask(socket, method, params)
                    except _Lost:
                        if method not in READS:
                            raise _outcome_unknown(method, params) from None
        except TimeoutError:
            if not sent:
                raise Unreachable(f"No node answered within {deadline_s:g} s.") from None
            if method in READS:
                raise DeadlinePassed(method, deadline_s) from None
            raise _outcome_unknown(method, params) from None

    async def subscribe(self, room_id: str, since_seq: int = 0) -> AsyncGenerator[RoomItem, None]:
        """Every event of a room after `since_seq`, once and in order, and the signals beside.

        Goes on over drops by itself; leave it early through `contextlib.aclosing`. A connection
        has one subscription of a room: a second one takes its place, and the first ends with
        reason `conflict`.

        Raises:
            RequestRejected: the room is not there, or the place was taken.
            Unreachable: the connection was closed.
        """
        place = Subscription(room_id, since_seq)
        if (before := self._subscriptions.get(room_id)) is not None:
            place.is_live = before.is_live
            before.fail(RequestRejected("conflict", "Another reader of this room took over."))
        self._subscriptions[room_id] = place
        try:
            while True:
                item = place.next_item()
                if item is not None:
                    yield item
                elif place.failed is not None:
                    raise place.failed
                elif place.behind:
                    await self._catch_up(place)
                else:
                    await place.wait()
        finally:
            if self._subscriptions.get(room_id) is place:
                del self._subscriptions[room_id]
                await self._unsubscribe(room_id)

    async def changes(self) -> AsyncGenerator[str | None, None]:
        """What changed at the node: `rooms`, `links`, `profiles`, `invitations`.

        None comes first and after every drop: anything may have changed, look at all of it.
        """
        told = asyncio.Event()
        words: dict[str | None, None] = {None: None}

        def hear(word: str | None) -> None:
            words[word] = None
            told.set()

        self._node_listeners.add(hear)
        try:
            while True:
                if None in words:
                    await self._insist("node.subscribe", {})
                for word in tuple(words):
                    del words[word]
                    yield word
                if not words:
                    told.clear()
                    await told.wait()
        finally:
            self._node_listeners.discard(hear)

    async def _open_socket(self) -> Socket:
        """The socket, as soon as it is open. Raises what ended the connection for good."""
        while self._socket is None or self._ended is not None:
            await self._up.wait()
            if self._ended is not None:
                raise self._ended
        return self._socket

    async def _ask(self, socket: Socket, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One try on that socket. Raises _Lost, or what the node answered."""
        self._ids += 1
        request_id = self._ids
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        try:
            await socket.send_frame(_encode(body), aiohttp.WSMsgType.TEXT)
            message = await answer
        except ConnectionError:
            # It is closing, and its reader, who will say so, had no turn yet. Whoever asks again
            # must wait for the next socket: trying this one would never let the reader run.
            if self._socket is socket:
                self._socket = None
                self._up.clear()
            raise _Lost from None
        finally:
            self._waiting.pop(request_id, None)
        if "error" in message:
            raise rejected(method, message["error"])
        result: dict[str, Any] = message["result"]
        return result

    async def _catch_up(self, place: Subscription) -> None:
        """Subscribe (again) from the cursor; what came in between is dropped and comes again."""
        if place.is_live:
            await self._insist("groups.unsubscribe", {"room_id": place.room_id})
        params = {"room_id": place.room_id, "since_seq": place.subscribing()}
        await self._insist("groups.subscribe", params)

    async def _insist(self, method: str, params: dict[str, Any]) -> None:
        """Ask a read until it is answered or refused, however long the node is away."""
        while True:
            try:
                await self.request(method, params)
            except (Unreachable, DeadlinePassed):
                if self._ended is not None:
                    raise
            else:
                return

    async def _unsubscribe(self, room_id: str) -> None:
        if not self.is_up:
            return
        try:
            await self.request("groups.unsubscribe", {"room_id": room_id}, deadline_s=OPEN_S)
        except ClientError:
            return  # the drop has done it

    async def _keep(self, session: aiohttp.ClientSession, socket: Socket | None) -> None:
        """Read the socket, and open it again whenever it has ended."""
        retry_s = RETRY_FIRST_S
        while True:
            if socket is not None:
                retry_s = RETRY_FIRST_S
                await self._serve(socket)
                await asyncio.sleep(_jittered_s(retry_s))
            try:
                socket = await self._address.open(session)
            except (Unreachable, RequestRejected) as error:
                # A node that starts again writes a new token: the old file counts a moment more.
                if isinstance(error, RequestRejected) and self._address.is_fixed:
                    self._end(error)
                    return
                socket = None
                await asyncio.sleep(_jittered_s(retry_s))
                retry_s = min(retry_s * 2, RETRY_MAX_S)

    async def _serve(self, socket: Socket) -> None:
        self._risen(socket)
        try:
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    self._arrived(_decode(message.data))
        except msgspec.DecodeError:
            return  # not what a node says: as good as a drop
        finally:
            self._dropped()
            await socket.close()

    def _risen(self, socket: Socket) -> None:
        self._socket = socket
        self._up.set()

    def _arrived(self, message: dict[str, Any]) -> None:
        if "id" in message:
            answer = self._waiting.get(message["id"])
            if answer is not None and not answer.done():
                answer.set_result(message)
            return
        params = message.get("params", {})
        if params.get("type") == "node.changed":
            for hear in tuple(self._node_listeners):
                hear(str(params.get("what")))
        elif params.get("room_id") in self._subscriptions:
            self._subscriptions[params["room_id"]].take(params)

    def _end(self, error: ClientError) -> None:
        """There will be no socket any more: whoever waits gets `error`."""
        self._ended = error
        self._up.set()
        for place in self._subscriptions.values():
            place.fail(error)

    def _dropped(self) -> None:
        """The socket is gone: nothing that waits on it will be answered."""
        self._up.clear()
        self._socket = None
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(_Lost())
        self._waiting.clear()
        for place in self._subscriptions.values():
            place.dropped()
        for hear in tuple(self._node_listeners):
            hear(None)


def _jittered_s(retry_s: float) -> float:
    """Half to all of that, so that many clients do not come back at once."""
    return retry_s * (0.5 + secrets.randbelow(1000) / 2000)


def _outcome_unknown(method: str, params: dict[str, Any]) -> OutcomeUnknown:
    return OutcomeUnknown(method, str(params.get("request_id") or params.get("event_id") or ""))
