"""Who is at the other end: both sides sign one transcript before anything else is said.

    accepting side                                   dialing side
    1. Hello {key chain, nonce, boot, versions, time}  ->
                          checks the install it meant to reach; sends nothing to another
    2.   <- Hello {key chain, nonce, boot, versions, time, bindings it saw}
    3. Proof {version, binding, name and addresses, signature}  ->
                          checks the signature; from here it knows who answers
    4.   <- Proof {version, binding, name and addresses, signature}
    both: the link is open, and everything said on it is said by that install

The accepting side speaks and proves first, so that who dials a wrong address has said nothing
about itself. The signature is of kind "link" over the transcript, each part preceded by its
length as four bytes:

    role of the signer ("accept" or "dial")   a proof cannot be reflected to its maker
    version, in decimal                       no downgrade: the offers are below, as received
    binding                                   which connection this is, see below
    bytes of message 1, bytes of message 2    both identities, nonces, boots and times, verbatim
    card of the signer                        its name and addresses

Bindings tie the proof to the connection, so that nobody in between can pass it on (attacks 7-9):

    cert:<sha256 hex>   the certificate the dialing side was shown; the accepting side compares
                        it with its own
    host:<name>         offered only when the operating system's trust verified that name; taken
                        only when the name is in our public_url (that proxy can read the link)
    plain:loopback      plain HTTP inside one machine

The time in the transcript that is judged is the accepting side's own, so an honest node with a
wrong clock still connects; a proof for a greeting older than HANDSHAKE_AGE_S is `skew`.

States of each side; anything else that arrives is Malformed:

    dialing:    AWAITS_HELLO --Hello--> AWAITS_PROOF --Proof--> DONE
    accepting:  NEW --hello()--> AWAITS_HELLO --Hello--> AWAITS_PROOF --Proof--> DONE
"""

import enum
from dataclasses import dataclass
from typing import Final

from mesh.core.errors import Malformed, PeerFault, Refused
from mesh.core.identity import KeyChain, SigningKey, verify
from mesh.core.limits import (
    ADDRESSES_PER_PEER_MAX,
    CLOCK_SKEW_S,
    HANDSHAKE_AGE_S,
    HANDSHAKE_BYTES_MAX,
)
from mesh.wire import transcript
from mesh.wire.transcript import BINDINGS_MAX, BOOT_ID_BYTES, NONCE_BYTES, Card, Hello, Proof

VERSION_MIN: Final = 1
VERSION_MAX: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class OurEnd:
    """What this node says of itself. `chain.current` is the public half of `key`."""

    key: SigningKey
    chain: KeyChain
    boot_id: bytes
    name: str
    addresses: tuple[str, ...] = ()
    version_min: int = VERSION_MIN
    version_max: int = VERSION_MAX

    def __post_init__(self) -> None:
        assert self.chain.current == self.key.public, "the chain ends with another key"
        assert len(self.boot_id) == BOOT_ID_BYTES, len(self.boot_id)
        assert len(self.addresses) <= ADDRESSES_PER_PEER_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerHello:
    """A proved peer. `clock_ahead_ms` is its wall clock minus ours when its hello arrived."""

    install_id: str
    chain: KeyChain
    boot_id: bytes
    name: str
    addresses: tuple[str, ...]
    version: int
    binding: str
    clock_ahead_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one received message leads to: bytes to send, and at the end the peer."""

    send: bytes | None = None
    peer: PeerHello | None = None


class State(enum.Enum):
    """Where one side stands."""

    NEW = "new"
    AWAITS_HELLO = "awaits hello"
    AWAITS_PROOF = "awaits proof"
    DONE = "done"


_NEXT: Final = {
    (State.NEW, None): State.AWAITS_HELLO,
    (State.AWAITS_HELLO, Hello): State.AWAITS_PROOF,
    (State.AWAITS_PROOF, Proof): State.DONE,
}


class _Handshake:
    """What both sides share: the table's one function, the messages, the final check."""

    role: str
    peer_role: str

    def __init__(self, us: OurEnd, nonce: bytes, state: State) -> None:
        assert len(nonce) == NONCE_BYTES, len(nonce)
        self._us = us
        self._nonce = nonce
        self._card = transcript.encode(Card(name=us.name, addresses=us.addresses))
        self._state = state
        self._hellos: dict[str, bytes] = {}
        self._their_hello: Hello | None = None
        self._clock_ahead_ms = 0
        self._version = 0
        self._binding = ""

    def _advance(self, message: Hello | Proof | None) -> None:
        following = _NEXT.get((self._state, None if message is None else type(message)))
        if following is None:
            raise Malformed("invalid_params", f"A {type(message).__name__} was not expected now.")
        self._state = following

    def _our_hello(self, now_ms: int, bindings: tuple[str, ...]) -> bytes:
        data = transcript.encode(
            Hello(
                keys=self._us.chain.keys,
                signatures=self._us.chain.signatures,
                nonce=self._nonce,
                boot_id=self._us.boot_id,
                version_min=self._us.version_min,
                version_max=self._us.version_max,
                time_ms=now_ms,
                bindings=bindings,
            )
        )
        assert len(data) <= HANDSHAKE_BYTES_MAX
        self._hellos[self.role] = data
        return data

    def _greeted(self, data: bytes, hello: Hello, now_ms: int) -> None:
        """Check and keep the other side's hello. Raises as `receive` does."""
        chain = KeyChain(keys=hello.keys, signatures=hello.signatures)
        chain.check()
        if chain.install_id == self._us.chain.install_id and hello.boot_id == self._us.boot_id:
            # Only we know our boot: this is our own listener, or somebody echoing us.
            raise PeerFault("peer_identity_mismatch", "That address is this node itself.")
        version = min(hello.version_max, self._us.version_max)
        if version < max(hello.version_min, self._us.version_min):
            raise Refused(
                "unsupported",
                f"The other node speaks link versions {hello.version_min} to "
                f"{hello.version_max}, this one {self._us.version_min} to {self._us.version_max}.",
                next="Update the older of the two nodes.",
            )
        self._version = version
        self._hellos[self.peer_role] = data
        self._their_hello = hello
        self._clock_ahead_ms = hello.time_ms - now_ms

    def _our_proof(self) -> bytes:
        signed = self._signed_bytes(self.role, self._card)
        return transcript.encode(
            Proof(
                version=self._version,
                binding=self._binding,
                card=self._card,
                signature=self._us.key.sign("link", signed),
            )
        )

    def _proved(self, proof: Proof) -> PeerHello:
        """Check the other side's proof. Raises as `receive` does."""
        hello = self._their_hello
        assert hello is not None
        chain = KeyChain(keys=hello.keys, signatures=hello.signatures)
        # Version and binding are ours to know; that they are repeated only helps debugging.
        if (proof.version, proof.binding) != (self._version, self._binding):
            raise PeerFault("bad_signature", "The other side signed another connection.")
        signed = self._signed_bytes(self.peer_role, proof.card)
        if not verify(chain.current, "link", signed, proof.signature):
            raise PeerFault("bad_signature", "The other side did not prove its key.")
        card = transcript.read_card(proof.card)
        return PeerHello(
            install_id=chain.install_id,
            chain=chain,
            boot_id=hello.boot_id,
            name=card.name,
            addresses=card.addresses,
            version=self._version,
            binding=self._binding,
            clock_ahead_ms=self._clock_ahead_ms,
        )

    def _signed_bytes(self, role: str, card: bytes) -> bytes:
        return transcript.signed_bytes(
            role=role,
            version=self._version,
            binding=self._binding,
            accept_hello=self._hellos["accept"],
            dial_hello=self._hellos["dial"],
            card=card,
        )


class DialerHandshake(_Handshake):
    """The side that dialed. `bindings` is what it saw of the connection, in order of trust."""

    role = "dial"
    peer_role = "accept"

    def __init__(
        self,
        us: OurEnd,
        nonce: bytes,
        bindings: tuple[str, ...],
        expected_install_id: str | None = None,
    ) -> None:
        assert 1 <= len(bindings) <= BINDINGS_MAX, bindings
        super().__init__(us, nonce, State.AWAITS_HELLO)
        self._offered = bindings
        self._expected = expected_install_id

    def receive(self, data: bytes, now_ms: int) -> Step:
        """Take the next message; send what the answer says. Done when `peer` is there.

        Raises:
            Malformed: not the message that was due, too large, or fields out of shape.
            PeerFault: `peer_identity_mismatch` (another install, or ourselves), `bad_signature`.
            Refused: `unsupported` (no common version), `bad_signature` (a broken key chain).
        """
        message = transcript.read(data)
        self._advance(message)
        if isinstance(message, Hello):
            chain = KeyChain(keys=message.keys, signatures=message.signatures)
            self._check_expected(chain)
            self._greeted(data, message, now_ms)
            return Step(send=self._our_hello(now_ms, self._offered))
        if message.binding not in self._offered:
            raise PeerFault("bad_signature", "The other side signed another connection.")
        self._binding = message.binding
        peer = self._proved(message)
        return Step(send=self._our_proof(), peer=peer)

    def _check_expected(self, chain: KeyChain) -> None:
        if not chain.keys or len(chain.keys[0]) != 32:
            raise Malformed("invalid_params", "The key chain is empty or not of 32-byte keys.")
        if self._expected is not None and chain.install_id != self._expected:
            # Refused before our own hello: a stranger learns nothing about us (situation 75).
            raise PeerFault(
                "peer_identity_mismatch",
                f"Another install answers there: {chain.install_id}, not {self._expected}.",
                found=chain.install_id,
                expected=self._expected,
            )


class AcceptorHandshake(_Handshake):
    """The side that accepted. `bindings` is what it takes for this connection, best first."""

    role = "accept"
    peer_role = "dial"

    def __init__(self, us: OurEnd, nonce: bytes, bindings: tuple[str, ...]) -> None:
        assert bindings, "a connection that can be bound to nothing is not accepted"
        super().__init__(us, nonce, State.NEW)
        self._accepted = bindings
        self._greeted_at_ms = 0

    def hello(self, now_ms: int) -> bytes:
        """Message 1, to be sent first."""
        self._advance(None)
        self._greeted_at_ms = now_ms
        return self._our_hello(now_ms, ())

    def receive(self, data: bytes, now_ms: int) -> Step:
        """Take the next message; send what the answer says. Done when `peer` is there.

        Raises:
            Malformed: not the message that was due, too large, or fields out of shape.
            PeerFault: `peer_identity_mismatch` (ourselves, or somebody in between),
                `bad_signature`.
            Refused: `unsupported`, `bad_signature` (a broken key chain), `skew`.
        """
        message = transcript.read(data)
        self._advance(message)
        if isinstance(message, Hello):
            self._greeted(data, message, now_ms)
            self._binding = self._choose(message.bindings)
            return Step(send=self._our_proof())
        age_ms = now_ms - self._greeted_at_ms
        if not -CLOCK_SKEW_S * 1000 <= age_ms <= HANDSHAKE_AGE_S * 1000:
            raise Refused("skew", "The proof is for a greeting of another time.", time_ms=now_ms)
        return Step(peer=self._proved(message))

    def _choose(self, offered: tuple[str, ...]) -> str:
        for binding in self._accepted:
            if binding in offered:
                return binding
        # The certificate that was seen is not ours: somebody stands in between, or a proxy whose
        # name is not configured. Either way our proof must not go to that connection.
        raise PeerFault(
            "peer_identity_mismatch",
            "The dialing side saw a certificate or name that is not this node's.",
            next="Behind a proxy, set public_url to the name that is dialed.",
        )
