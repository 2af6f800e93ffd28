"""Two ends in a loop, and everybody who tries to stand between them."""

import dataclasses
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Malformed, MeshError, PeerFault, Refused
from mesh.core.identity import KeyChain, SigningKey
from mesh.core.limits import HANDSHAKE_AGE_S, HANDSHAKE_BYTES_MAX
from mesh.wire.handshake import AcceptorHandshake, DialerHandshake, OurEnd, PeerHello
from mesh.wire.transcript import PLAIN_LOOPBACK, Card, Hello, Proof, signed_bytes

VECTORS = Path(__file__).parent.parent / "vectors" / "handshake.json"
NOW_MS = 1_790_000_000_000
CERT = "cert:" + "ab" * 32
OTHER_CERT = "cert:" + "cd" * 32


def an_end(seed: int, *, boot: int | None = None, name: str | None = None) -> OurEnd:
    """An install made of one byte."""
    key = SigningKey.from_seed(bytes([seed]) * 32)
    return OurEnd(
        key=key,
        chain=KeyChain(keys=(key.public,)),
        boot_id=bytes([seed if boot is None else boot]) * 16,
        name=name or f"node {seed}",
        addresses=(f"https://192.168.1.{seed}:7420",),
    )


ACCEPTING, DIALING = an_end(1), an_end(2)
ACCEPTING_ID = ACCEPTING.chain.install_id


def a_pair(
    accepting: OurEnd = ACCEPTING,
    dialing: OurEnd = DIALING,
    *,
    shown: str = CERT,
    seen: tuple[str, ...] = (CERT,),
    expected: str | None = None,
) -> tuple[AcceptorHandshake, DialerHandshake]:
    return (
        AcceptorHandshake(accepting, b"\xa1" * 32, (shown,)),
        DialerHandshake(dialing, b"\xd1" * 32, seen, expected),
    )


def talk(
    accept: AcceptorHandshake, dial: DialerHandshake, now_ms: int = NOW_MS
) -> tuple[PeerHello, PeerHello, list[bytes]]:
    """Carry the four messages; return whom each side met, and the messages."""
    first = accept.hello(now_ms)
    second = dial.receive(first, now_ms).send
    assert second is not None
    third = accept.receive(second, now_ms).send
    assert third is not None
    last = dial.receive(third, now_ms)
    assert last.send is not None and last.peer is not None
    end = accept.receive(last.send, now_ms)
    assert end.peer is not None and end.send is None
    return last.peer, end.peer, [first, second, third, last.send]


def fails(accept: AcceptorHandshake, dial: DialerHandshake, now_ms: int = NOW_MS) -> MeshError:
    with pytest.raises(MeshError) as caught:
        talk(accept, dial, now_ms)
    return caught.value


def test_both_sides_learn_who_the_other_is() -> None:
    met_by_dialer, met_by_acceptor, _ = talk(*a_pair(expected=ACCEPTING_ID))
    assert met_by_dialer == PeerHello(
        install_id=ACCEPTING_ID,
        chain=ACCEPTING.chain,
        boot_id=ACCEPTING.boot_id,
        name="node 1",
        addresses=("https://192.168.1.1:7420",),
        version=1,
        binding=CERT,
        clock_ahead_ms=0,
    )
    assert met_by_acceptor.install_id == DIALING.chain.install_id
    assert met_by_acceptor.name == "node 2"


def test_the_bytes_are_frozen() -> None:
    vector = json.loads(VECTORS.read_text())
    _, _, messages = talk(*a_pair())
    assert [message.hex() for message in messages] == vector["messages"]
    proofs = [msgspec.msgpack.decode(message, type=Proof) for message in messages[2:]]
    for role, proof in zip(("accept", "dial"), proofs, strict=True):
        signed = signed_bytes(
            role=role,
            version=1,
            binding=CERT,
            accept_hello=messages[0],
            dial_hello=messages[1],
            card=proof.card,
        )
        assert signed.hex() == vector["transcripts"][role]
        assert proof.signature.hex() == vector["signatures"][role]


def test_another_install_is_refused_before_anything_is_said() -> None:
    accept, dial = a_pair(expected=an_end(3).chain.install_id)
    with pytest.raises(PeerFault) as caught:
        dial.receive(accept.hello(NOW_MS), NOW_MS)
    assert caught.value.reason == "peer_identity_mismatch"
    assert caught.value.fields["found"] == ACCEPTING_ID


def test_dialing_oneself_is_refused_by_both_sides() -> None:
    accept, dial = a_pair(ACCEPTING, ACCEPTING)
    with pytest.raises(PeerFault, match="this node itself"):
        dial.receive(accept.hello(NOW_MS), NOW_MS)
    accept, dial = a_pair(dialing=an_end(2))
    echoed = accept.hello(NOW_MS)
    with pytest.raises(PeerFault, match="this node itself"):
        accept.receive(echoed, NOW_MS)


def test_a_copy_of_ones_home_is_met_and_proved() -> None:
    met, _, _ = talk(*a_pair(ACCEPTING, an_end(1, boot=9)))
    assert met.install_id == ACCEPTING_ID
    assert met.boot_id == ACCEPTING.boot_id


def test_somebody_in_between_is_found_by_the_certificate() -> None:
    error = fails(*a_pair(shown=CERT, seen=(OTHER_CERT,)))
    assert error.reason == "peer_identity_mismatch"


def test_a_name_counts_only_where_it_was_configured() -> None:
    host = "host:mesh.example.org"
    accept = AcceptorHandshake(ACCEPTING, bytes(32), (CERT, host))
    _, dial = a_pair(seen=(OTHER_CERT, host))
    met, _, _ = talk(accept, dial)
    assert met.binding == host
    assert fails(*a_pair(seen=(OTHER_CERT, host))).reason == "peer_identity_mismatch"
    # Where both would do, the certificate is preferred: no proxy is in between.
    accept = AcceptorHandshake(ACCEPTING, bytes(32), (CERT, host))
    _, dial = a_pair(seen=(CERT, host))
    assert talk(accept, dial)[0].binding == CERT


def test_the_answering_side_cannot_choose_a_binding_that_was_not_seen() -> None:
    accept, dial = a_pair()
    second = dial.receive(accept.hello(NOW_MS), NOW_MS).send
    assert second is not None
    third = accept.receive(second, NOW_MS).send
    assert third is not None
    proof = msgspec.msgpack.decode(third, type=Proof)
    forged = msgspec.structs.replace(proof, binding=PLAIN_LOOPBACK)
    with pytest.raises(PeerFault, match="another connection"):
        dial.receive(msgspec.msgpack.encode(forged), NOW_MS)


def test_versions_that_do_not_meet_are_unsupported_on_either_side() -> None:
    newer = dataclasses.replace(ACCEPTING, version_min=2, version_max=3)
    assert fails(*a_pair(newer)).reason == "unsupported"
    newer = dataclasses.replace(DIALING, version_min=2, version_max=3)
    accept, dial = a_pair(dialing=newer)
    with pytest.raises(Refused) as caught:
        dial.receive(accept.hello(NOW_MS), NOW_MS)
    assert caught.value.reason == "unsupported"


def test_the_highest_common_version_is_taken() -> None:
    wide = dataclasses.replace(ACCEPTING, version_max=5)
    other = dataclasses.replace(DIALING, version_max=3)
    assert talk(*a_pair(wide, other))[0].version == 3


def test_a_recorded_proof_does_not_open_another_link() -> None:
    _, _, recorded = talk(*a_pair())
    accept = AcceptorHandshake(ACCEPTING, b"\xa2" * 32, (CERT,))
    accept.hello(NOW_MS)
    assert accept.receive(recorded[1], NOW_MS).send is not None
    with pytest.raises(PeerFault, match="did not prove"):
        accept.receive(recorded[3], NOW_MS)


def test_a_proof_cannot_be_reflected_to_its_maker() -> None:
    accept, dial = a_pair()
    second = dial.receive(accept.hello(NOW_MS), NOW_MS).send
    assert second is not None
    third = accept.receive(second, NOW_MS).send
    assert third is not None
    with pytest.raises(PeerFault, match="did not prove"):
        accept.receive(third, NOW_MS)


@pytest.mark.parametrize("late_ms", [HANDSHAKE_AGE_S * 1000 + 1, -5_001])
def test_a_proof_of_another_time_is_skew(late_ms: int) -> None:
    accept, dial = a_pair()
    second = dial.receive(accept.hello(NOW_MS), NOW_MS).send
    assert second is not None
    third = accept.receive(second, NOW_MS).send
    assert third is not None
    last = dial.receive(third, NOW_MS).send
    assert last is not None
    with pytest.raises(Refused) as caught:
        accept.receive(last, NOW_MS + late_ms)
    assert caught.value.reason == "skew"
    assert caught.value.fields["time_ms"] == NOW_MS + late_ms


def test_a_wrong_clock_is_told_and_does_not_keep_an_honest_node_out() -> None:
    accept, dial = a_pair()
    behind_ms = NOW_MS - 86_400_000
    second = dial.receive(accept.hello(NOW_MS), behind_ms).send
    assert second is not None
    third = accept.receive(second, NOW_MS).send
    assert third is not None
    last = dial.receive(third, behind_ms)
    assert last.peer is not None and last.send is not None
    assert last.peer.clock_ahead_ms == 86_400_000
    met = accept.receive(last.send, NOW_MS).peer
    assert met is not None
    assert met.clock_ahead_ms == -86_400_000


@pytest.mark.parametrize("which", range(4))
def test_one_changed_byte_anywhere_is_noticed(which: int) -> None:
    _, _, messages = talk(*a_pair())
    for place in range(len(messages[which])):
        accept, dial = a_pair(expected=ACCEPTING_ID)
        with pytest.raises(MeshError):
            _talk_changed(accept, dial, which, place)


def _talk_changed(
    accept: AcceptorHandshake, dial: DialerHandshake, which: int, place: int
) -> None:
    """Carry the messages, with one bit of one of them flipped."""
    data = _flipped(accept.hello(NOW_MS), place if which == 0 else None)
    sides: tuple[DialerHandshake | AcceptorHandshake, ...] = (dial, accept, dial, accept)
    for number, side in enumerate(sides):
        step = side.receive(data, NOW_MS)
        if step.send is None:
            break
        data = _flipped(step.send, place if which == number + 1 else None)


def _flipped(data: bytes, place: int | None) -> bytes:
    if place is None:
        return data
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_a_rotated_key_speaks_for_the_install() -> None:
    first, second = (SigningKey.from_seed(bytes([n]) * 32) for n in (7, 8))
    chain = KeyChain(
        keys=(first.public, second.public), signatures=(first.sign("rotation", second.public),)
    )
    rotated = dataclasses.replace(ACCEPTING, key=second, chain=chain)
    assert talk(*a_pair(rotated))[0].install_id == KeyChain(keys=(first.public,)).install_id


def test_a_chain_that_does_not_hold_is_refused() -> None:
    first, second = (SigningKey.from_seed(bytes([n]) * 32) for n in (7, 8))
    chain = KeyChain(keys=(first.public, second.public), signatures=(bytes(64),))
    thief = dataclasses.replace(ACCEPTING, key=second, chain=chain)
    assert fails(*a_pair(thief)).reason == "bad_signature"


def test_messages_out_of_order_are_malformed() -> None:
    accept, dial = a_pair()
    _, _, messages = talk(*a_pair())
    with pytest.raises(Malformed):
        dial.receive(messages[2], NOW_MS)
    accept.hello(NOW_MS)
    with pytest.raises(Malformed):
        accept.receive(messages[3], NOW_MS)
    with pytest.raises(Malformed):
        AcceptorHandshake(ACCEPTING, bytes(32), (CERT,)).receive(messages[1], NOW_MS)


def test_nothing_is_read_above_the_size() -> None:
    _, dial = a_pair()
    with pytest.raises(Malformed) as caught:
        dial.receive(bytes(HANDSHAKE_BYTES_MAX + 1), NOW_MS)
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize(
    "change",
    [
        {"keys": ()},
        {"keys": (b"short",)},
        {"nonce": b"short"},
        {"boot_id": bytes(17)},
        {"time_ms": -1},
        {"time_ms": 2**60},
        {"bindings": (CERT,) * 3},
        {"bindings": ("cert:xyz",)},
        {"bindings": ("host:UPPER",)},
        {"keys": (bytes(32),) * 20, "signatures": (bytes(64),) * 19},
    ],
)
def test_fields_out_of_shape_are_refused_by_both_sides(change: dict[str, object]) -> None:
    _, _, messages = talk(*a_pair())
    for data, side in ((messages[0], a_pair()[1]), (messages[1], a_pair()[0])):
        if isinstance(side, AcceptorHandshake):
            side.hello(NOW_MS)
        hello = msgspec.structs.replace(msgspec.msgpack.decode(data, type=Hello), **change)
        with pytest.raises(MeshError):
            side.receive(msgspec.msgpack.encode(hello), NOW_MS)


@pytest.mark.parametrize(
    "card",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode(Card(name="\u200b", addresses=())),
        msgspec.msgpack.encode(Card(name="x" * 400, addresses=())),
        msgspec.msgpack.encode(Card(name="x", addresses=("https://a",) * 9)),
        msgspec.msgpack.encode(Card(name="x", addresses=("https://" + "a" * 300,))),
        msgspec.msgpack.encode(Card(name="x", addresses=("https://a\r\nb",))),
    ],
)
def test_a_signed_card_that_deceives_is_refused(card: bytes) -> None:
    accept, dial = a_pair()
    first = accept.hello(NOW_MS)
    second = dial.receive(first, NOW_MS).send
    assert second is not None
    accept.receive(second, NOW_MS)
    signed = signed_bytes(
        role="dial", version=1, binding=CERT, accept_hello=first, dial_hello=second, card=card
    )
    proof = Proof(
        version=1, binding=CERT, card=card, signature=DIALING.key.sign("link", signed)
    )
    with pytest.raises(Malformed):
        accept.receive(msgspec.msgpack.encode(proof), NOW_MS)


def test_names_are_cleaned() -> None:
    tricky = dataclasses.replace(ACCEPTING, name="lap\u202etop\n")
    assert talk(*a_pair(tricky))[0].name == "laptop"


@given(st.binary(max_size=400))
def test_any_bytes_are_refused_with_a_reason(data: bytes) -> None:
    accept, dial = a_pair()
    accept.hello(NOW_MS)
    for side in (accept, dial):
        with pytest.raises(MeshError):
            side.receive(data, NOW_MS)
