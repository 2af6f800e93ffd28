"""The exceptions of the SDK, and which refusal becomes which."""

import inspect

import pytest

from mesh.client import errors
from mesh.client.errors import (
    CapabilityUnavailable,
    ClientError,
    InputMismatch,
    LimitExceeded,
    OutcomeUnknown,
    ReceiptNotFound,
    RequestRejected,
    rejected,
)


@pytest.mark.parametrize(
    ("method", "reason", "kind"),
    [
        ("toy.x", "method_not_found", CapabilityUnavailable),
        ("groups.subscribe", "unsupported", CapabilityUnavailable),
        ("invitations.operation", "not_found", ReceiptNotFound),
        ("groups.state", "not_found", RequestRejected),
        ("invitations.accept", "conflict", InputMismatch),
        ("groups.send", "conflict", RequestRejected),
        ("groups.send", "too_large", LimitExceeded),
        ("groups.send", "rate_limited", LimitExceeded),
    ],
)
def test_a_refusal_becomes_its_exception(
    method: str, reason: str, kind: type[RequestRejected]
) -> None:
    data = {"reason": reason, "status": 409, "next": "Do this.", "seq": 3}
    error = rejected(method, {"code": -32000, "message": "A sentence.", "data": data})
    assert type(error) is kind
    assert (error.reason, error.message, error.next) == (reason, "A sentence.", "Do this.")
    assert (error.code, error.status, error.fields) == (-32000, 409, {"seq": 3})
    assert str(error) == f"{reason}: A sentence."


def test_a_bare_error_is_still_one() -> None:
    error = rejected("toy.x", {})
    assert (error.reason, error.code) == ("internal", -32000)


def test_an_unknown_outcome_says_what_to_look_up() -> None:
    error = OutcomeUnknown("invitations.accept", "q_1")
    assert error.request_id == "q_1"
    assert error.reason == "uncertain"


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = errors.__doc__ or ""
    classes = [found for _, found in inspect.getmembers(errors, inspect.isclass)]
    for found in classes:
        if issubclass(found, ClientError):
            assert found.__name__ in drawn
