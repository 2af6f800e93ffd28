"""One run: a turn request on its way through a backend, with exactly one ending.

Why it exists: backends differ, the promise to a room does not. Whatever a backend does (finishes,
breaks, falls silent, talks without end), the room sees some deltas and then one `Final` or
`Failed`; and the backend is closed before that ending is told.

The deadline is put around each wait for the backend, never around the reader: a timer that fired
while the reader is at work would cancel the reader's code instead of the agent's.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from gateway.backend import Backend
from gateway.barrier import FaultBarrier
from gateway.errors import BackendError, BackendFailed, BackendStopped, ReplyTooLarge, TurnTimedOut
from gateway.exchange import Activity, Delta, Ending, Failed, Final, TurnRequest, Update
from gateway.limits import ACTIVITIES_PER_RUN_MAX, ACTIVITY_CHARS_MAX, REPLY_BYTES_MAX


class Run:
    """One turn under way. `updates` is read once; `stop` ends it from any other task."""

    def __init__(self, request: TurnRequest) -> None:
        self._request = request
        self._deadline = asyncio.get_running_loop().time() + request.deadline_s
        self._stopped: BackendStopped | None = None
        self._limit: asyncio.Timeout | None = None
        self._reply_bytes = 0
        self._activities = 0

    def stop(self, why: BackendStopped) -> None:
        """End the run now with `why`; the first reason given stands."""
        self._stopped = self._stopped or why
        if self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time())

    async def updates(self, backend: Backend) -> AsyncGenerator[Update, None]:
        """Deltas and activities, then exactly one ending. Closing it stops the backend."""
        ending: Ending | None = None
        barrier = FaultBarrier(self._request.profile)
        with barrier:
            async with aclosing(backend.run(self._request)) as source:
                while ending is None:
                    update = self._admit(await self._next(source))
                    if isinstance(update, Final | Failed):
                        ending = update
                    else:
                        yield update
        # A backend that answered and then broke while closing has still answered.
        ending = ending or barrier.failed
        assert ending is not None, "the loop above ends with an ending or with an exception"
        yield ending

    async def _next(self, source: AsyncGenerator[Update, None]) -> Update:
        """The backend's next update. Raises BackendError when there is none in time."""
        if self._stopped is not None:
            raise self._stopped
        limit = self._limit = asyncio.timeout_at(self._deadline)
        try:
            async with limit:
                return await anext(source)
        except StopAsyncIteration:
            raise BackendFailed("The agent ended without an answer.") from None
        except TimeoutError:
            if not limit.expired():
                raise  # The backend's own time-out, not ours.
            raise self._why_ended() from None
        finally:
            self._limit = None

    def _why_ended(self) -> BackendError:
        return self._stopped or TurnTimedOut(self._request.deadline_s)

    def _admit(self, update: Update) -> Update:
        """The update if it is within the limits. Raises ReplyTooLarge."""
        match update:
            case Delta(text=text):
                assert text, "a delta says something"
                self._reply_bytes += len(text.encode())
            case Activity(tool=tool, text=text, state=state):
                self._activities += 1
                update = Activity(
                    tool=tool[:ACTIVITY_CHARS_MAX], text=text[:ACTIVITY_CHARS_MAX], state=state
                )
            case Final(text=text):
                self._reply_bytes = max(self._reply_bytes, len(text.encode()))
            case Failed():
                pass
        if self._reply_bytes > REPLY_BYTES_MAX:
            raise ReplyTooLarge("bytes", REPLY_BYTES_MAX)
        if self._activities > ACTIVITIES_PER_RUN_MAX:
            raise ReplyTooLarge("activities", ACTIVITIES_PER_RUN_MAX)
        return update
