"""The steps of a negotiation, walked over every pair."""

from itertools import product

import pytest

from audio import sdp
from audio.errors import IllegalStep, OfferRefused
from audio.negotiation import (
    STEPS,
    Agreed,
    Further,
    NegotiationStep,
    Stage,
    answered_direction,
    further,
    next_stage,
    offers_first,
)
from audio.sdp import DIRECTIONS
from tests.audio.offers import audio_line, offer, video_line


@pytest.mark.parametrize(("stage", "step"), list(product(Stage, NegotiationStep)))
def test_every_pair_is_in_the_table_or_illegal(stage: Stage, step: NegotiationStep) -> None:
    if (stage, step) in STEPS:
        assert next_stage(stage, step) is STEPS[stage, step]
        return
    with pytest.raises(IllegalStep) as caught:
        next_stage(stage, step)
    assert (caught.value.state, caught.value.step) == (stage.value, step.value)


def test_a_refused_renegotiation_leaves_the_session_as_it_was() -> None:
    assert next_stage(
        Stage.ANSWERING, NegotiationStep.REFUSED, had_answer=True
    ) is Stage.ANSWERED


AGREED = Agreed(offer=sdp.read(offer()))


def asks(text: str) -> Further:
    return further(AGREED, sdp.read(text))


def test_what_a_further_offer_asks_for() -> None:
    assert asks(offer()) is Further.REPEATED
    assert asks(offer(audio_line(direction="inactive"), version=3)) is Further.SAME_TRANSPORT
    more = offer(audio_line(), video_line(), bundle="0 1", version=3)
    assert asks(more) is Further.SAME_TRANSPORT
    assert asks(offer(version=3).replace("ufrag:abcd", "ufrag:efgh")) is Further.RESTART


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (offer(version=3).replace("AB:AB", "AB:CD"), "peer_identity_mismatch"),
        (offer(audio_line(direction="inactive"), version=1), "replayed"),
        (offer(session=78, version=3), "replayed"),
        (offer(audio_line(mid="5"), bundle="5", version=3), "invalid_params"),
    ],
    ids=["other certificate", "older", "other session", "reordered"],
)
def test_offers_of_another_call_are_refused(text: str, reason: str) -> None:
    with pytest.raises(OfferRefused) as caught:
        asks(text)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("offered", "may_send", "may_receive"), list(product(DIRECTIONS, (True, False), (True, False)))
)
def test_no_answer_goes_beyond_its_offer(
    offered: str, may_send: bool, may_receive: bool
) -> None:
    answered = answered_direction(offered, may_send=may_send, may_receive=may_receive)
    sends, receives = answered in ("sendrecv", "sendonly"), answered in ("sendrecv", "recvonly")
    assert sends <= (may_send and offered in ("sendrecv", "recvonly"))
    assert receives <= (may_receive and offered in ("sendrecv", "sendonly"))


def test_of_two_engines_exactly_one_offers() -> None:
    assert offers_first("install:a", "install:b") != offers_first("install:b", "install:a")
