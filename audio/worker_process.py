"""The owner's side of a media worker: one process started, asked, listened to, and ended.

    async with WorkerProcess(settings, on_event=told) as worker:
        answer = await worker.ask(Join(...))
        await worker.lost()                 # the process died: the calls it carried are over

The process is exec'd with one end of a socketpair and nothing else inherited. Whoever owns this
starts another one when it is lost, with its own back-off; the block always ends with the process
gone. Importing this file imports neither aiortc nor numpy.

It refuses to wait: a request has five seconds, and one that a dead worker will never answer ends
with `voice_lost` at once.
"""

import asyncio
import socket
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Final, Self

import msgspec

from audio import worker_messages as messages
from audio.errors import AudioError, VoiceUnavailable
from audio.events import Event
from audio.limits import REQUEST_MAX_S

_START_MAX_S: Final = 15.0
# The worker ends within a second by itself; then it is ended.
_END_MAX_S: Final = 2.0


class WorkerProcess:
    """One media worker. An asynchronous context manager."""

    def __init__(
        self, settings: messages.Settings, *, on_event: Callable[[Event], None]
    ) -> None:
        self._settings, self._on_event = settings, on_event
        self._asked: dict[int, asyncio.Future[str]] = {}
        self._next_id = 0
        self._gone = asyncio.Event()
        self._stack = AsyncExitStack()
        self._process: asyncio.subprocess.Process

    async def __aenter__(self) -> Self:
        """Raises VoiceUnavailable when the worker cannot carry voice, or does not start."""
        ours, theirs = socket.socketpair()
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "audio.worker", str(theirs.fileno()),
                pass_fds=(theirs.fileno(),), stdin=asyncio.subprocess.DEVNULL,
            )
        finally:
            theirs.close()
        ours.setblocking(False)
        self._reader, self._writer = await asyncio.open_unix_connection(sock=ours)
        self._stack.push_async_callback(self._end)
        try:
            self._writer.write(messages.framed(self._settings))
            async with asyncio.timeout(_START_MAX_S):
                first = await self._read()
            if isinstance(first, messages.Unavailable):
                raise VoiceUnavailable(first.sentence, next=first.next)
            if not isinstance(first, messages.Ready):
                raise VoiceUnavailable("The media worker did not start.", next="See the log.")
        except TimeoutError:
            await self._stack.aclose()
            raise VoiceUnavailable("The media worker did not start in time.") from None
        except VoiceUnavailable:
            await self._stack.aclose()
            raise
        self.opus_version = first.opus
        tasks = await self._stack.enter_async_context(asyncio.TaskGroup())
        self._listening = tasks.create_task(self._listen())
        self._stack.callback(self._listening.cancel)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    async def ask(self, request: messages.Request) -> str:
        """The result of a request. Raises AudioError with the worker's reason, or `voice_lost`."""
        if self._gone.is_set():
            raise AudioError("voice_lost", "The media worker has ended.",
                             next="Join the call again.")
        self._next_id += 1
        number = self._next_id
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            async with asyncio.timeout(REQUEST_MAX_S):
                self._writer.write(messages.framed(messages.Ask(id=number, request=request)))
                await self._writer.drain()
                return await answer
        except TimeoutError:
            raise AudioError("busy", "The media worker did not answer in time.",
                             next="Try again in a moment.") from None
        except ConnectionError:
            raise AudioError("voice_lost", "The media worker has ended.",
                             next="Join the call again.") from None
        finally:
            self._asked.pop(number, None)

    async def lost(self) -> None:
        """Wait until the worker has ended by itself."""
        await self._gone.wait()

    async def _read(self) -> messages.FromWorker | None:
        """The next message; None at the end, and for what no worker of ours would write."""
        try:
            head = await self._reader.readexactly(messages.LENGTH_BYTES)
            return messages.read_by_owner(
                await self._reader.readexactly(messages.length_of(head))
            )
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, msgspec.MsgspecError):
            return None

    async def _listen(self) -> None:
        try:
            while (message := await self._read()) is not None:
                match message:
                    case messages.Told():
                        self._on_event(messages.event_of(message))
                    case messages.Done() | messages.Refused():
                        self._settle(message)
                    case _:
                        break
        finally:
            self._gone.set()
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(AudioError(
                        "voice_lost", "The media worker has ended.", next="Join the call again.",
                    ))

    def _settle(self, message: messages.Done | messages.Refused) -> None:
        answer = self._asked.get(message.id)
        if answer is None or answer.done():
            # Asked by somebody who did not wait.
            return
        if isinstance(message, messages.Done):
            answer.set_result(message.result)
        else:
            answer.set_exception(message.error())

    async def _end(self) -> None:
        """Close the pipe, which ends the worker; kill it if it does not."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()
        try:
            async with asyncio.timeout(_END_MAX_S):
                await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
