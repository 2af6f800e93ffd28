"""One offer, one full answer: the steps of a peer's descriptions, as a table.

    fresh --offered--> answering --answered--> answered --offered--> answering ...
                          |                       |
                          +--refused--> (as before)
    any --closed--> closed

Between two engines both may be asked to begin; `offers_first` names the one who offers, by id, so
that two offers that cross are no conflict: the other side's is refused and its own one answered.
Towards a browser we never offer.

A further offer of the same peer is one of three things (`Further`): the same transport (directions
may have changed, the answer is new), an ICE restart (same certificate, new secrets: a new
transport under the same participant), or a refusal. A certificate never changes within a session:
that is how an offer of another call, or a stolen one, would look. An old offer is refused as
replayed; the very last one, sent twice, is answered as before.

Pure. It refuses illegal steps by name.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from audio.errors import IllegalStep, OfferRefused
from audio.sdp import DIRECTIONS, Description


class Stage(Enum):
    """Where a peer's negotiation stands."""

    FRESH = "fresh"
    ANSWERING = "answering"
    ANSWERED = "answered"
    CLOSED = "closed"


class NegotiationStep(Enum):
    """What can happen to it."""

    OFFERED = "offered"
    ANSWERED = "answered"
    REFUSED = "refused"
    CLOSED = "closed"


STEPS: Final[dict[tuple[Stage, NegotiationStep], Stage]] = {
    (Stage.FRESH, NegotiationStep.OFFERED): Stage.ANSWERING,
    (Stage.ANSWERING, NegotiationStep.ANSWERED): Stage.ANSWERED,
    (Stage.ANSWERING, NegotiationStep.REFUSED): Stage.FRESH,
    (Stage.ANSWERED, NegotiationStep.OFFERED): Stage.ANSWERING,
    (Stage.FRESH, NegotiationStep.CLOSED): Stage.CLOSED,
    (Stage.ANSWERING, NegotiationStep.CLOSED): Stage.CLOSED,
    (Stage.ANSWERED, NegotiationStep.CLOSED): Stage.CLOSED,
    (Stage.CLOSED, NegotiationStep.CLOSED): Stage.CLOSED,
}


class Further(Enum):
    """What a further offer of the same peer asks for."""

    SAME_TRANSPORT = "same_transport"
    RESTART = "restart"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """The last offer that was answered."""

    offer: Description


def next_stage(stage: Stage, step: NegotiationStep, *, had_answer: bool = False) -> Stage:
    """The stage after a step. Raises IllegalStep.

    A refused renegotiation (`had_answer`) leaves the session as it was.
    """
    following = STEPS.get((stage, step))
    if following is None:
        raise IllegalStep(stage.value, step.value)
    if step is NegotiationStep.REFUSED and had_answer:
        return Stage.ANSWERED
    return following


def further(agreed: Agreed, offer: Description) -> Further:
    """What a further offer asks for. Raises OfferRefused with `replayed` or
    `peer_identity_mismatch`.
    """
    before = agreed.offer
    if offer == before:
        return Further.REPEATED
    if set(offer.fingerprints) != set(before.fingerprints):
        raise OfferRefused(
            "peer_identity_mismatch", "The offer comes from another certificate.",
            next="Leave the call and join anew.",
        )
    if offer.session_id != before.session_id or offer.version < before.version:
        raise OfferRefused("replayed", "The offer is older than the one already answered.")
    if [line.mid for line in offer.media[: len(before.media)]] != [
        line.mid for line in before.media
    ]:
        raise OfferRefused("invalid_params", "The offer reorders the media lines.")
    if (offer.ufrag, offer.password) != (before.ufrag, before.password):
        return Further.RESTART
    return Further.SAME_TRANSPORT


def answered_direction(offered: str, *, may_send: bool = True, may_receive: bool = True) -> str:
    """The direction of the answer: the mirror of the offer's, cut down to what we may do.

    Never a direction that the offer did not leave open.
    """
    assert offered in DIRECTIONS
    sends = may_send and offered in ("sendrecv", "recvonly")
    receives = may_receive and offered in ("sendrecv", "sendonly")
    return {
        (True, True): "sendrecv", (True, False): "sendonly", (False, True): "recvonly",
        (False, False): "inactive",
    }[sends, receives]


def offers_first(ours: str, theirs: str) -> bool:
    """Whether our engine is the one that offers a link: the lower id. Never both, never neither."""
    assert ours != theirs, "a link needs two engines"
    return ours < theirs
