r"""Receipts: what became of an operation, and the few steps its status may take.

The caller mints `request_id`; the receipt is durable before anything is touched. A crash in
between leaves it `pending`; whoever finds it then proves the outcome or says `uncertain`.

         open
           |
           v          learned
        pending ------------------> applied, rejected
           |                              ^
           | lost                         |
           v          proved              |
       uncertain -------------------------+

    learned: we saw the end.  lost: we cannot know it.  proved: we hold evidence of the end, and
    did not do it again to get it.

`applied` and `rejected` never change. A status never goes back. One id names one operation with
one input for ever: asked again it answers the stored receipt, asked for something else it is a
conflict, and for another owner it does not exist.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from mesh.core import canonical
from mesh.core.errors import Refused


class Status(StrEnum):
    """Where an operation stands."""

    PENDING = "pending"
    APPLIED = "applied"
    REJECTED = "rejected"
    UNCERTAIN = "uncertain"


class Ground(StrEnum):
    """Why a status may change: we saw the end, we lost sight of it, or we hold a proof."""

    LEARNED = "learned"
    LOST = "lost"
    PROVED = "proved"


STEPS: Final[Mapping[tuple[Status, Status], frozenset[Ground]]] = MappingProxyType(
    {
        (Status.PENDING, Status.APPLIED): frozenset({Ground.LEARNED, Ground.PROVED}),
        (Status.PENDING, Status.REJECTED): frozenset({Ground.LEARNED, Ground.PROVED}),
        (Status.PENDING, Status.UNCERTAIN): frozenset({Ground.LOST}),
        (Status.UNCERTAIN, Status.APPLIED): frozenset({Ground.PROVED}),
        (Status.UNCERTAIN, Status.REJECTED): frozenset({Ground.PROVED}),
    }
)

FINAL: Final = frozenset({Status.APPLIED, Status.REJECTED})


def step(now: Status, to: Status, *, proved: bool = False) -> Status:
    """The status after a step; `to` itself, if that step exists.

    A pending receipt may be noted as pending again (its progress changed, not its status).

    Raises:
        AssertionError: there is no such step; the caller is wrong about what it knows.
    """
    if now is to is Status.PENDING and not proved:
        return to
    if proved:
        ground = Ground.PROVED
    else:
        ground = Ground.LOST if to is Status.UNCERTAIN else Ground.LEARNED
    if ground not in STEPS.get((now, to), frozenset()):
        # Raised by name, not asserted: this holds under `python -O` too.
        raise AssertionError(f"a receipt does not go from {now} to {to} ({ground})")
    return to


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an id was used for. Two uses of one id are the same if their claims are equal."""

    operation: str
    owner: str
    input_sha256: str


def input_sha256(value: canonical.Json) -> str:
    """The digest of an operation's input, in hex.

    Raises:
        Malformed: the input is not strict JSON.
    """
    return hashlib.sha256(canonical.encode(value)).hexdigest()


def same_or_refuse(stored: Claim, asked: Claim) -> None:
    """Return if `asked` may be answered with the stored receipt.

    Raises:
        Refused: `not_found` for another owner (who must not learn that the id exists);
            `conflict` for another operation or input.
    """
    if stored.owner != asked.owner:
        raise Refused("not_found", "There is no receipt with this request_id.")
    if stored.operation != asked.operation or stored.input_sha256 != asked.input_sha256:
        raise Refused("conflict", "This request_id was used for something else.")
