"""The media process: `python -m audio.worker FD`, one inherited socket to its owner.

    owner --- Settings, Ask... ---> worker
          <--- Ready, Done | Refused, Told... ---

Media lives in a process of its own, because a loop that is blocked for 20 ms is audible. The
worker ends when the owner's end of the pipe closes, within a second, whatever it is doing: an
owner that died must not leave people talking in a room that nobody answers for. Its own death is
the owner's to notice and to mend (`worker_process`).

It refuses messages that are too long or not of the protocol: that is a broken owner, and it ends.
"""

import asyncio
import gc
import ipaddress
import os
import signal
import socket
import sys
from collections import deque
from contextlib import suppress

import msgspec

from audio import ice
from audio import opus as opus_library
from audio import worker_messages as messages
from audio.engine import Engine
from audio.errors import AudioError, VoiceUnavailable
from audio.events import Event, Speaking, Stats
from audio.limits import EVENTS_QUEUED_MAX, REQUEST_MAX_S, REQUESTS_MAX
from audio.rtc_seam import IceServer

EXIT_UNAVAILABLE = 3
_EXIT_MAX_S = 0.8


class Pipe:
    """The worker's end of the socket: messages in, messages out, bounded."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._waiting: deque[messages.FromWorker] = deque()
        self._news = asyncio.Event()
        self.broken = ""

    async def read(self) -> messages.ToWorker | None:
        """The next message; None at the end, and for what is none: then `broken` says why."""
        try:
            head = await self._reader.readexactly(messages.LENGTH_BYTES)
            body = await self._reader.readexactly(messages.length_of(head))
            return messages.read_by_worker(body)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except msgspec.MsgspecError:
            self.broken = "a message is not of the protocol"
        except ValueError as too_long:
            self.broken = str(too_long)
        return None

    def put(self, message: messages.FromWorker) -> None:
        """Send soon. When the owner does not read, the oldest counters go first."""
        if len(self._waiting) >= EVENTS_QUEUED_MAX:
            passing = next(
                (one for one in self._waiting if isinstance(one, messages.Told)
                 and one.kind in (Stats.__name__, Speaking.__name__)),
                None,
            )
            if passing is None:
                # An owner who reads nothing of a thousand answers is gone.
                self._writer.transport.abort()
                return
            self._waiting.remove(passing)
        self._waiting.append(message)
        self._news.set()

    async def pump(self) -> None:
        """Write what waits, until cancelled or the owner is gone."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                self._writer.write(messages.framed(self._waiting.popleft()))
                await self._writer.drain()


async def serve(connection: socket.socket) -> int:
    """Carry voice for the owner of the other end until it closes; the exit status."""
    reader, writer = await asyncio.open_unix_connection(sock=connection)
    pipe = Pipe(reader, writer)
    settings = await pipe.read()
    if not isinstance(settings, messages.Settings):
        writer.close()
        return _status(pipe)
    try:
        policy = ice.Policy(networks=tuple(map(ipaddress.ip_network, settings.networks)))
    except ValueError as wrong:
        pipe.broken = str(wrong)
        writer.close()
        return _status(pipe)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # The owner decides: it closes the pipe. A key pressed in its terminal reaches us as well.
        loop.add_signal_handler(number, writer.transport.abort if number == signal.SIGTERM
                                else _nothing)
    try:
        async with (
            Engine(
                settings.engine_id,
                on_event=lambda event: _tell(pipe, event),
                policy=policy,
                ice_servers=tuple(
                    IceServer(url=one.url, username=one.username, credential=one.credential)
                    for one in settings.ice_servers
                ),
            ) as engine,
            asyncio.TaskGroup() as tasks,
        ):
            pipe.put(messages.Ready(opus=opus_library.version()))
            gc.freeze()
            pumping = tasks.create_task(_until_gone(pipe))
            await _answer(pipe, engine)
            # From here the farewell is bounded, whoever hangs in it.
            loop.call_later(_EXIT_MAX_S, os._exit, 0)
            pumping.cancel()
    except VoiceUnavailable as unavailable:
        said = messages.Unavailable(sentence=unavailable.sentence, next=unavailable.next)
        with suppress(ConnectionError):
            writer.write(messages.framed(said))
            await writer.drain()
        return EXIT_UNAVAILABLE
    finally:
        writer.close()
    return _status(pipe)


def _status(pipe: Pipe) -> int:
    """The exit status at the end of the pipe: 1 if the owner broke the protocol."""
    if pipe.broken:
        sys.stderr.write(f"media worker: {pipe.broken}\n")
    return int(bool(pipe.broken))


async def _answer(pipe: Pipe, engine: Engine) -> None:
    """Read and answer until the owner is gone; what is unanswered then is dropped."""
    running: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as tasks:
        while (message := await pipe.read()) is not None:
            if not isinstance(message, messages.Ask):
                pipe.broken = "settings come once"
                break
            if len(running) >= REQUESTS_MAX:
                pipe.put(messages.Refused(
                    id=message.id, reason="busy", sentence="Too many requests at once.",
                    next="Try again in a moment.",
                ))
                continue
            task = tasks.create_task(_answer_one(pipe, engine, message))
            running.add(task)
            task.add_done_callback(running.discard)
        for task in running:
            task.cancel()


async def _answer_one(pipe: Pipe, engine: Engine, ask: messages.Ask) -> None:
    try:
        async with asyncio.timeout(REQUEST_MAX_S):
            result = await _performed(engine, ask.request)
    except AudioError as refused:
        pipe.put(messages.Refused(
            id=ask.id, reason=refused.reason, sentence=refused.sentence, next=refused.next,
        ))
    except TimeoutError:
        pipe.put(messages.Refused(
            id=ask.id, reason="busy", sentence="The media engine did not answer in time.",
            next="Try again in a moment.",
        ))
    else:
        pipe.put(messages.Done(id=ask.id, result=result))


async def _performed(engine: Engine, request: messages.Request) -> str:
    """The result of a request; "" where there is nothing to say. Raises AudioError."""
    match request:
        case messages.Join():
            return await engine.join(
                request.call_id, request.participant_id, request.member_id, request.sdp,
                may_speak=request.may_speak,
            )
        case messages.Renegotiate():
            return await engine.renegotiate(
                request.call_id, request.participant_id, request.sdp
            )
        case messages.AddCandidate():
            return await engine.add_candidate(
                request.call_id, request.participant_id, request.line
            )
        case messages.Leave():
            engine.leave(request.call_id, request.participant_id, removed=request.removed)
        case messages.Mute():
            engine.mute(request.call_id, request.participant_id, is_muted=request.is_muted)
        case messages.CloseCall():
            engine.close_call(request.call_id)
        case messages.OfferLink():
            return await engine.offer_link(
                request.call_id, request.link_id, relays=request.relays
            )
        case messages.AcceptLink():
            engine.accept_link(request.call_id, request.link_id, request.sdp)
        case messages.AnswerLink():
            return await engine.answer_link(
                request.call_id, request.link_id, request.sdp, relays=request.relays
            )
    return ""


async def _until_gone(pipe: Pipe) -> None:
    with suppress(ConnectionError):
        await pipe.pump()


def _tell(pipe: Pipe, event: Event) -> None:
    pipe.put(messages.told(event))


def _nothing() -> None:
    """A signal that is somebody else's to act on."""


def main(arguments: list[str]) -> int:
    """Take the socket of the number given and serve it. Returns the exit status."""
    if len(arguments) != 1 or not arguments[0].isdigit():
        sys.stderr.write("usage: python -m audio.worker FD (it is started by its owner)\n")
        return 2
    connection = socket.socket(fileno=int(arguments[0]))
    connection.setblocking(False)
    return asyncio.run(serve(connection))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
