"""A chat completion as it streams: frames in, updates out, and at the end one text. PURE.

Why: what counts as a whole answer must not depend on timing. An answer is whole when the model
gave a finish reason or the endpoint said `[DONE]`; a stream that just ends was cut, however
neatly its connection was closed.

It refuses a frame that is not a completion, and it runs no tools: a tool that the endpoint runs
by itself is shown as an activity, one that the model wants from us ends the turn as unsupported.
"""

from contextlib import suppress

import msgspec

from gateway.errors import BackendCut, BackendFailed, NotAModel, ToolsUnsupported
from gateway.exchange import Activity, Delta, Final

DONE = b"[DONE]"

_CUT_SHORT = {
    "length": "The model stopped at its own length limit.",
    "content_filter": "The endpoint's content filter stopped the answer.",
}


class _Function(msgspec.Struct):
    name: str | None = None


class _ToolCall(msgspec.Struct):
    index: int = 0
    function: _Function | None = None


class _Piece(msgspec.Struct):
    content: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct):
    delta: _Piece | None = None
    finish_reason: str | None = None


class _Problem(msgspec.Struct):
    message: str = "no message"


class _Frame(msgspec.Struct):
    choices: list[_Choice] | None = None
    error: _Problem | str | None = None


_frame = msgspec.json.Decoder(_Frame)


class Completion:
    """One answer in the making, from the endpoint called `where` in messages."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._parts: list[str] = []
        self._tools: dict[int, str] = {}
        self._finish: str | None = None
        self.done = False

    @property
    def text(self) -> str:
        """What has come so far."""
        return "".join(self._parts)

    def feed(self, data: bytes) -> list[Delta | Activity]:
        """What a frame adds. Raises NotAModel, BackendFailed."""
        assert not self.done, "nothing is read after [DONE]"
        if data.strip() == DONE:
            self.done = True
            return []
        try:
            frame = _frame.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise NotAModel(self._where, f"a frame is no completion ({error})") from None
        if frame.error is not None:
            detail = frame.error if isinstance(frame.error, str) else frame.error.message
            raise BackendFailed(f"The endpoint reports: {detail}")
        if frame.choices is None:
            raise NotAModel(self._where, "a frame has no choices")
        # An empty list is a frame with figures of usage; more than one choice was not asked for.
        return self._fold(frame.choices[0]) if frame.choices else []

    def close(self) -> tuple[list[Activity], Final]:
        """The end of the stream: last activities and the answer.

        Raises BackendCut when the answer is not whole, ToolsUnsupported when it is only a wish.
        """
        if self._finish is None and not self.done:
            raise BackendCut(self.text)
        wanted = self._finish == "tool_calls"
        if wanted and not self.text.strip():
            raise ToolsUnsupported(next(iter(self._tools.values()), "unnamed"))
        last = [_ended(tool, wanted) for tool in self._tools.values()]
        if (why := _CUT_SHORT.get(self._finish or "")) is not None:
            last.append(Activity(tool="model", text=why, state="failed"))
        return last, Final(text=self.text)

    def _fold(self, choice: _Choice) -> list[Delta | Activity]:
        updates: list[Delta | Activity] = []
        piece = choice.delta or _Piece()
        for call in piece.tool_calls or ():
            name = call.function.name if call.function else None
            if name and call.index not in self._tools:
                self._tools[call.index] = name
                updates.append(Activity(tool=name, text="", state="started"))
        if piece.content:
            self._parts.append(piece.content)
            updates.append(Delta(text=piece.content))
        self._finish = choice.finish_reason or self._finish
        return updates


def _ended(tool: str, wanted: bool) -> Activity:
    """The end of a tool's activity: the endpoint ran it, or wants us to, which nobody does."""
    if wanted:
        return Activity(tool=tool, text="This profile runs no tools.", state="failed")
    return Activity(tool=tool, text="", state="finished")


def problem_of(body: bytes) -> str | None:
    """The message of an error body as OpenAI-compatible endpoints write it, or None."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        error = _frame.decode(body).error
        return error.message if isinstance(error, _Problem) else error
    return None
