"""What can go wrong in the gateway: one tree, each with a stable reason and a next step.

    GatewayError
    +-- ProfileError             the operator's file or call is at fault
    |   +-- ProfileInvalid       invalid_params
    |   +-- ProfileMissing       not_found
    |   +-- ProfileTaken         conflict
    |   +-- ProfilesFull         too_large
    |   +-- ProfileUnwritable    storage_failed
    +-- BackendError             the agent, or what stands behind it, is at fault
        +-- BackendUnreachable   backend_unreachable
        +-- BackendUnauthorized  backend_unauthorized
        +-- BackendRefused       backend_refused
        +-- BackendFailed        backend_failed
        +-- BackendCut           backend_cut
        +-- BackendStopped       backend_stopped
        +-- NotAModel            not_a_model
        +-- RateLimited          rate_limited
        +-- TurnTimedOut         timeout
        +-- ReplyTooLarge        too_large
        +-- ToolsUnsupported     unsupported
        +-- MountBusy            busy
        +-- MemoryUnwritable     storage_failed

Each class takes fields and computes its sentence, so that the words stay the same wherever it is
raised. No sentence ever holds an API key: keys are not among the fields.
"""

from typing import ClassVar

from gateway.limits import MESSAGE_CHARS_MAX


def quoted(text: str) -> str:
    """`text` from outside made fit for a sentence: printable, in one line, cut to the limit."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= MESSAGE_CHARS_MAX else line[: MESSAGE_CHARS_MAX - 1] + "…"


class GatewayError(Exception):
    """Root of the tree: `reason` is the stable word, `message` a sentence, `next` what to do."""

    reason: ClassVar[str]

    def __init__(self, message: str, *, next: str) -> None:
        assert message, "an error without a sentence helps nobody"
        assert next, "an error says what to do next"
        super().__init__(message)
        self.message = message
        self.next = next


class ProfileError(GatewayError):
    """The operator's file or call is at fault."""


class ProfileInvalid(ProfileError):
    """A profile's text breaks a rule; `where` is the key or the file, `rule` what it breaks."""

    reason = "invalid_params"

    def __init__(self, where: str, rule: str) -> None:
        super().__init__(f"{quoted(where)}: {rule}.", next="Correct the profile, then reload it.")
        self.where = where
        self.rule = rule


class ProfileMissing(ProfileError):
    """No profile of that name is mounted here."""

    reason = "not_found"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no profile {quoted(name)!r} on this node.",
            next="List the profiles, or add one of this name.",
        )
        self.name = name


class ProfileTaken(ProfileError):
    """A profile of that name exists already."""

    reason = "conflict"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A profile {quoted(name)!r} exists already.",
            next="Choose another name, or remove the old one first.",
        )
        self.name = name


class ProfilesFull(ProfileError):
    """The node holds as many profiles as it may."""

    reason = "too_large"

    def __init__(self, profiles_max: int) -> None:
        super().__init__(
            f"This node holds at most {profiles_max} profiles.", next="Remove one first."
        )
        self.profiles_max = profiles_max


class ProfileUnwritable(ProfileError):
    """The disk refused a profile's file."""

    reason = "storage_failed"

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(
            f"The file of profile {quoted(name)!r} could not be written: {quoted(detail)}.",
            next="Check the free space and the owner of the profiles directory.",
        )
        self.name = name


class BackendError(GatewayError):
    """The agent, or what stands behind it, is at fault."""


class BackendUnreachable(BackendError):
    """Nobody answers at the configured address."""

    reason = "backend_unreachable"

    def __init__(self, where: str, detail: str) -> None:
        super().__init__(
            f"Nothing answers at {where}: {quoted(detail)}.",
            next="Start the model server, or correct base_url in the profile.",
        )
        self.where = where


class BackendUnauthorized(BackendError):
    """The endpoint wants another key, or the configured key cannot be read."""

    reason = "backend_unauthorized"

    def __init__(self, detail: str) -> None:
        super().__init__(
            quoted(detail), next="Set the key that api_key_env or api_key_file names; test again."
        )


class BackendRefused(BackendError):
    """The endpoint understood the request and refuses it (an unknown model, for example)."""

    reason = "backend_refused"

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(
            f"The endpoint refuses the request (HTTP {status}): {quoted(detail)}",
            next="Check the profile's model and options against what the endpoint offers.",
        )
        self.status = status


class BackendFailed(BackendError):
    """The agent broke down by itself."""

    reason = "backend_failed"

    def __init__(self, detail: str) -> None:
        super().__init__(quoted(detail), next="Look into the agent's own log, then ask again.")


class BackendCut(BackendError):
    """The answer stopped in the middle; `partial` is what had come until then."""

    reason = "backend_cut"

    def __init__(self, partial: str) -> None:
        after = f"after: {quoted(partial)}" if partial else "before its first word."
        super().__init__(
            f"The connection to the agent was cut {after}",
            next="Ask again; if it happens often, look into the model server's log.",
        )
        self.partial = partial


class BackendStopped(BackendError):
    """The turn was ended from this side: the profile was removed or changed, or the node ends."""

    reason = "backend_stopped"

    def __init__(self, why: str) -> None:
        super().__init__(f"The turn was stopped: {why}.", next="Ask again when it is back.")


class NotAModel(BackendError):
    """Something answers, and it is not an OpenAI-compatible endpoint."""

    reason = "not_a_model"

    def __init__(self, where: str, detail: str) -> None:
        super().__init__(
            f"{where} does not answer like an OpenAI-compatible endpoint: {quoted(detail)}.",
            next="Check base_url; for most model servers it ends in /v1.",
        )
        self.where = where


class RateLimited(BackendError):
    """The endpoint asks to wait `retry_after_s` seconds."""

    reason = "rate_limited"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(
            f"The endpoint is over its rate limit and asks to wait {retry_after_s} s.",
            next="Ask again later, or use an endpoint with a higher limit.",
        )
        self.retry_after_s = retry_after_s


class TurnTimedOut(BackendError):
    """The turn's deadline, or the longest silence allowed, went by."""

    reason = "timeout"

    def __init__(self, waited_s: float, partial: str = "") -> None:
        after = f" It had said: {quoted(partial)}" if partial else ""
        super().__init__(
            f"The agent did not finish within {waited_s:g} s.{after}",
            next="Ask again, allow more time, or use a faster model.",
        )
        self.waited_s = waited_s


class ReplyTooLarge(BackendError):
    """An answer beyond the limit; nothing of it becomes an event."""

    reason = "too_large"

    def __init__(self, what: str, size_max: int) -> None:
        super().__init__(
            f"The agent's answer went beyond {size_max} {what}.", next="Ask for a shorter answer."
        )
        self.size_max = size_max


class ToolsUnsupported(BackendError):
    """The model answered with nothing but a call of a tool that nobody here runs."""

    reason = "unsupported"

    def __init__(self, tool: str) -> None:
        super().__init__(
            f"The model asks for the tool {quoted(tool)!r}, and this profile runs no tools.",
            next="Mount an agent that runs its own tools, or use another model.",
        )
        self.tool = tool


class MountBusy(BackendError):
    """The profile already runs as many turns as it may."""

    reason = "busy"

    def __init__(self, runs_max: int) -> None:
        super().__init__(
            f"The agent is busy with {runs_max} turns.", next="Wait for one to end, or stop one."
        )
        self.runs_max = runs_max


class MemoryUnwritable(BackendError):
    """The disk refused to give or to take the agent's memory of a room."""

    reason = "storage_failed"

    def __init__(self, detail: str) -> None:
        super().__init__(
            f"The agent's memory of this room could not be kept: {quoted(detail)}.",
            next="Check the free space and the owner of the profiles directory.",
        )
