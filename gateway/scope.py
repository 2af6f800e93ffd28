"""Scopes: the permissions of a loan, and which methods of a profile each of them opens.

Why: a grant names permissions, a call names a method, and exactly one table says whether the one
covers the other. It refuses to know about grants: who holds which scope is the room's business.
"""

from collections.abc import Collection
from enum import StrEnum


class Scope(StrEnum):
    """A named permission to call a set of profile methods."""

    DISPATCH = "dispatch"
    STATUS = "status"
    STOP = "stop"
    HEAR = "hear"
    SPEAK = "speak"


METHODS: dict[Scope, tuple[str, ...]] = {
    Scope.DISPATCH: ("turn.dispatch",),
    Scope.STATUS: ("turn.status",),
    Scope.STOP: ("turn.stop",),
    Scope.HEAR: ("voice.hear",),
    Scope.SPEAK: ("voice.speak",),
}

TEXT_SCOPES = (Scope.DISPATCH, Scope.STATUS, Scope.STOP)
"""What a profile without a voice can be lent with."""


def methods_of(scopes: Collection[Scope]) -> tuple[str, ...]:
    """The methods that `scopes` open, sorted, each once."""
    return tuple(sorted({method for scope in scopes for method in METHODS[scope]}))


def may_call(scopes: Collection[Scope], method: str) -> bool:
    """Whether one of `scopes` opens `method`; an unknown method is opened by none."""
    return method in methods_of(scopes)
