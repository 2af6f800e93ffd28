"""What can go wrong between a program and its node.

    ClientError                  carries `reason`, a sentence, and what to do next
    +-- Unreachable              no node answers; nothing was asked
    +-- DeadlinePassed           a read was not answered in time; ask again
    +-- OutcomeUnknown           a change was sent and its reply lost: reconcile, never resend
    +-- RequestRejected          the node refused; nothing was changed
        +-- CapabilityUnavailable    this node does not have that method
        +-- ReceiptNotFound          no such request: it never arrived
        +-- InputMismatch            the id was used before, with other input
        +-- LimitExceeded            more than the node takes at once

A cancelled call raises nothing of this: cancellation is the caller's.
"""

from collections.abc import Mapping
from typing import Any, Final


class ClientError(Exception):
    """Anything that kept a request from being answered."""

    def __init__(self, reason: str, message: str, *, next: str = "") -> None:
        """`reason` is the stable word, `message` a sentence, `next` what helps."""
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.next = next

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class Unreachable(ClientError):
    """No node answers. Nothing was asked of one."""

    def __init__(self, message: str, *, next: str = "Start a node with `roommesh up`.") -> None:
        """`message` says where one was looked for."""
        super().__init__("unreachable", message, next=next)


class DeadlinePassed(ClientError):
    """A read was not answered in time. It changed nothing and may be asked again."""

    def __init__(self, method: str, deadline_s: float) -> None:
        """`deadline_s` is how long was waited."""
        super().__init__(
            "timeout", f"{method} was not answered within {deadline_s:g} s.", next="Ask again."
        )
        self.method = method


class OutcomeUnknown(ClientError):
    """A change was sent and its reply was lost: it may have happened or not.

    Reconcile by `request_id` (for example `invitations.operation`); never send it again. The one
    exception is `groups.send`: the same `event_id` with the same text is safe to send again.
    """

    def __init__(self, method: str, request_id: str) -> None:
        """`request_id` is the caller's own id of the change, or the event's."""
        super().__init__(
            "uncertain",
            f"The reply to {method} was lost.",
            next="Ask for its receipt or read the room's log; do not repeat it.",
        )
        self.method = method
        self.request_id = request_id


class RequestRejected(ClientError):
    """The node refused. `status` is the number an HTTP reader would expect."""

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        next: str = "",
        code: int = -32000,
        status: int = 0,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        """`fields` is what else the refusal carries."""
        super().__init__(reason, message, next=next)
        self.code = code
        self.status = status
        self.fields = dict(fields or {})


class CapabilityUnavailable(RequestRejected):
    """The node that answers now does not have the method, or not on this road."""


class ReceiptNotFound(RequestRejected):
    """No receipt of that id is the caller's: the request never arrived."""


class InputMismatch(RequestRejected):
    """The request id was used before, with other input."""


class LimitExceeded(RequestRejected):
    """A bound of the node was met."""


_BY_REASON: Final[Mapping[str, type[RequestRejected]]] = {
    "method_not_found": CapabilityUnavailable,
    "unsupported": CapabilityUnavailable,
    "too_large": LimitExceeded,
    "rate_limited": LimitExceeded,
}


def rejected(method: str, error: Mapping[str, Any]) -> RequestRejected:
    """The exception for a JSON-RPC error object."""
    data = dict(error.get("data") or {})
    reason = str(data.pop("reason", "internal"))
    made = _BY_REASON.get(reason, RequestRejected)
    if reason == "not_found" and method.endswith(".operation"):
        made = ReceiptNotFound
    elif reason == "conflict" and method in TAKES_REQUEST_ID:
        made = InputMismatch
    return made(
        reason,
        str(error.get("message", "")),
        next=str(data.pop("next", "")),
        code=int(error.get("code", -32000)),
        status=int(data.pop("status", 0)),
        fields=data,
    )


TAKES_REQUEST_ID: Final = frozenset({"invitations.accept"})
"""Changes with a receipt: for them `conflict` means another input under one id."""
