"""The gate for tests: a link message becomes inputs of the room's machine, as in the service.

The product's gate stands in `service/open_rooms`, next to its event loop. This one is for tests
that have none.
"""

from collections.abc import Callable
from typing import Any

from mesh.core import inputs
from mesh.core.canonical import decode_object
from mesh.core.event import parse_event, parse_proposal
from mesh.core.link_messages import (
    Append,
    CatchUp,
    LinkMessage,
    NotHere,
    Presence,
    Propose,
    Redeem,
    Signal,
    Stored,
    TurnReport,
    Verdict,
)


def inputs_of(install_id: str, message: LinkMessage) -> list[inputs.Input]:
    """What a message of that install means to the room.

    Raises:
        Malformed: the bytes in it are not what they claim to be.
    """
    return _GATES[type(message)](install_id, message)


def _propose(install_id: str, message: Propose) -> list[inputs.Input]:
    return [
        inputs.Proposed(install_id=install_id, proposal=parse_proposal(w.raw, w.signature))
        for w in message.proposals
    ]


def _append(install_id: str, message: Append) -> list[inputs.Input]:
    return [
        inputs.Appended(
            install_id=install_id,
            event=parse_event(w.raw, w.author_sig, w.header, w.authority_sig),
            latest_seq=message.latest_seq,
        )
        for w in message.events
    ]


def _redeem(install_id: str, message: Redeem) -> list[inputs.Input]:
    return [
        inputs.Redeemed(
            install_id=install_id,
            request_id=message.request_id,
            invitation_id=message.invitation_id,
            secret=message.secret,
            proposals=tuple(parse_proposal(w.raw, w.signature) for w in message.proposals),
            relayed_for=message.relayed_for,
        )
    ]


def _verdict(install_id: str, message: Verdict) -> list[inputs.Input]:
    return [
        inputs.Judged(
            install_id=install_id,
            key=message.key,
            state=message.state,
            seq=message.seq,
            reason=message.reason,
            message=message.message,
        )
    ]


def _report(install_id: str, message: TurnReport) -> list[inputs.Input]:
    return [
        inputs.TurnReported(
            install_id=install_id,
            turn_id=message.turn_id,
            member_id=message.member_id,
            state=message.state,
            reason=message.reason,
            message=message.message,
        )
    ]


_GATES: dict[type, Callable[[str, Any], list[inputs.Input]]] = {
    Propose: _propose,
    Append: _append,
    Redeem: _redeem,
    Verdict: _verdict,
    TurnReport: _report,
    CatchUp: lambda i, m: [inputs.CaughtUp(install_id=i, have_seq=m.have_seq)],
    Stored: lambda i, m: [inputs.Acknowledged(install_id=i, seq=m.seq)],
    NotHere: lambda i, m: [inputs.Declined(install_id=i, reason=m.reason)],
    Presence: lambda i, m: [inputs.PresenceTold(install_id=i, online=m.online)],
    Signal: lambda i, m: [inputs.SignalTold(install_id=i, body=decode_object(m.body))],
}
