"""The one place that touches aiortc's private parts: one ICE and DTLS transport, opened up.

aiortc (1.16) does ICE, the DTLS handshake and SRTP, and does them well. Its media path is not
ours, so this file takes every datagram at the socket: STUN goes to aioice within a budget, DTLS to
aiortc, and SRTP is decrypted here and handed on without a task, a queue or a decoder. Nothing else
of aiortc is used: no peer connection, no transceivers, no tracks.

The seam is pinned by `verify`, which builds a transport and looks at each private part used below.
When one has moved, voice is `voice_unavailable` and says so; the stock path is never taken.

What is touched: `RTCIceTransport._connection`; of it `_protocols`, `_nominated`, `_queue`,
`ice_controlling`, `remote_password`, `build_request`; of its protocols `datagram_received`,
`send_stun`, `request`; `RTCDtlsTransport._rx_srtp`, `._tx_srtp`, `._set_role`.
"""

import asyncio
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import aiortc
import aiortc.rtcicetransport
import pylibsrtp
from aioice import ice as aioice_ice
from aioice import stun
from aiortc import (
    RTCCertificate,
    RTCDtlsFingerprint,
    RTCDtlsParameters,
    RTCDtlsTransport,
    RTCIceCandidate,
    RTCIceGatherer,
    RTCIceParameters,
    RTCIceServer,
    RTCIceTransport,
)

from audio import ice
from audio.errors import VoiceUnavailable
from audio.limits import (
    GATHER_MAX_S,
    HANDSHAKE_DATAGRAMS_MAX,
    PACKET_BYTES_MAX,
    STREAMS_MAX,
    STUN_BURST_MAX,
    STUN_PER_S_MAX,
)
from audio.rtp import HEADER_BYTES, is_rtcp
from audio.sdp import Fingerprint

_VERSION: Final = "1.16."
_WANTED: Final = "Install aiortc 1.16, the version this release was made for."


@dataclass(frozen=True, slots=True, kw_only=True)
class IceServer:
    """A STUN or TURN server of the caller's choice. None is used by default."""

    url: str
    username: str | None = None
    credential: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalParameters:
    """What our description says about the transport."""

    ufrag: str
    password: str
    fingerprints: tuple[Fingerprint, ...]
    candidates: tuple[ice.Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteParameters:
    """What the peer's description says; `is_active` is whether it begins the handshake."""

    ufrag: str
    password: str
    fingerprints: tuple[Fingerprint, ...]
    is_active: bool
    is_ice_lite: bool
    candidates: tuple[ice.Candidate, ...]


def make_certificate() -> RTCCertificate:
    """A certificate for the DTLS handshakes of one process; its key never leaves it."""
    return RTCCertificate.generateCertificate()


def verify() -> None:
    """Look at every private part this file uses. Raises VoiceUnavailable if one has moved."""
    if not aiortc.__version__.startswith(_VERSION):
        raise VoiceUnavailable(
            f"aiortc {aiortc.__version__} is installed, and its inner parts are not known.",
            next=_WANTED,
        )
    transport = RTCIceTransport(RTCIceGatherer(iceServers=[]))
    dtls = RTCDtlsTransport(transport, [make_certificate()])
    connection = getattr(transport, "_connection", None)
    parts: list[tuple[object, tuple[str, ...]]] = [
        (connection, ("_protocols", "_nominated", "_queue", "ice_controlling", "remote_password",
                      "build_request")),
        (dtls, ("_rx_srtp", "_tx_srtp", "_set_role")),
        (aioice_ice.StunProtocol, ("datagram_received", "send_stun", "request")),
    ]
    moved = [name for owner, names in parts for name in names if not hasattr(owner, name)]
    for function, arguments in (
        (aioice_ice.StunProtocol.request, {"request", "addr", "integrity_key", "retransmissions"}),
        (aioice_ice.Connection.build_request, {"pair", "nominate"}),
    ):
        moved += sorted(arguments - set(inspect.signature(function).parameters))
    if moved:
        raise VoiceUnavailable(f"aiortc's inner parts have moved: {', '.join(moved)}.",
                               next=_WANTED)


class Transport:
    """One ICE and DTLS transport. Made, gathered, connected, closed; by one owner, once each.

    `on_rtp` and `on_rtcp` get decrypted packets at the moment they arrive; `on_closed` is told
    once when the peer or the network ended the transport.
    """

    def __init__(
        self,
        certificate: RTCCertificate,
        *,
        is_offering: bool,
        ice_servers: tuple[IceServer, ...] = (),
        on_rtp: Callable[[bytes, float], None],
        on_rtcp: Callable[[bytes, float], None],
        on_closed: Callable[[], None],
    ) -> None:
        servers = [
            RTCIceServer(urls=one.url, username=one.username, credential=one.credential)
            for one in ice_servers
        ]
        self._ice: Any = RTCIceTransport(RTCIceGatherer(iceServers=servers))
        self._dtls: Any = RTCDtlsTransport(self._ice, [certificate])
        self._connection: Any = self._ice._connection
        self._connection.ice_controlling = is_offering
        self._on_rtp, self._on_rtcp, self._on_closed = on_rtp, on_rtcp, on_closed
        self._streams: set[bytes] = set()
        self._stun_in = ice.CheckBudget(per_s=STUN_PER_S_MAX, burst=STUN_BURST_MAX)
        self._stun_out = ice.CheckBudget()
        self._was_connected = False
        self._is_closing = False
        self.heard_s = time.monotonic()
        self.dropped = 0
        self._dtls.on("statechange", self._note_state)

    @property
    def is_connected(self) -> bool:
        """Whether media can be sent now."""
        return bool(self._dtls.state == "connected" and self._connection._nominated)

    async def gather(self) -> LocalParameters:
        """Open the sockets and name them. Raises VoiceUnavailable when there is no address."""
        try:
            async with asyncio.timeout(GATHER_MAX_S):
                await self._ice.iceGatherer.gather()
        except TimeoutError:
            # A dead STUN or TURN server; the machine's own addresses are there already.
            self._connection._local_candidates_end = True
        for protocol in self._connection._protocols:
            self._take_over(protocol)
        named = self._ice.iceGatherer.getLocalParameters()
        candidates = tuple(
            _candidate_of(one) for one in self._ice.iceGatherer.getLocalCandidates()
        )
        if not candidates:
            raise VoiceUnavailable(
                "This machine has no network address that voice can use.",
                next="Connect it to a network; 127.0.0.1 alone does not carry voice.",
            )
        assert named.usernameFragment is not None and named.password is not None
        return LocalParameters(
            ufrag=named.usernameFragment,
            password=named.password,
            fingerprints=tuple(
                Fingerprint(algorithm=one.algorithm.lower(), value=one.value)
                for one in self._dtls.getLocalParameters().fingerprints
                if one.algorithm.lower() == "sha-256"
            ),
            candidates=candidates,
        )

    async def connect(self, remote: RemoteParameters) -> bool:
        """Check the addresses and shake hands; whether media can flow. The owner sets the deadline.

        The peer's certificate must be the one of its description: a stranger who answers at its
        address, or on its name, fails here.
        """
        for candidate in remote.candidates:
            await self.add_candidate(candidate)
        # The end of candidates is never said: a browser that hides its address is known only by
        # its first packet.
        self._dtls._set_role("server" if remote.is_active else "client")
        await self._ice.start(RTCIceParameters(
            usernameFragment=remote.ufrag, password=remote.password, iceLite=remote.is_ice_lite,
        ))
        if self._ice.state != "completed":
            return False
        await self._dtls.start(RTCDtlsParameters(fingerprints=[
            RTCDtlsFingerprint(algorithm=one.algorithm, value=one.value)
            for one in remote.fingerprints
        ]))
        return self.is_connected

    async def add_candidate(self, candidate: ice.Candidate) -> None:
        """Try one more address; it has passed the policy."""
        await self._ice.addRemoteCandidate(RTCIceCandidate(
            component=candidate.component, foundation=candidate.foundation, ip=candidate.host,
            port=candidate.port, priority=candidate.priority, protocol=candidate.transport,
            type=candidate.kind,
        ))

    def send_rtp(self, packet: bytes) -> bool:
        """Encrypt and send a packet of sound; whether there was somebody to send it to."""
        pair = self._connection._nominated.get(1)
        srtp = self._dtls._tx_srtp
        if pair is None or srtp is None or self._is_closing:
            return False
        pair.protocol.transport.sendto(srtp.protect(packet), pair.remote_addr)
        return True

    def send_rtcp(self, packet: bytes) -> bool:
        """Encrypt and send reports; whether there was somebody to send them to."""
        pair = self._connection._nominated.get(1)
        srtp = self._dtls._tx_srtp
        if pair is None or srtp is None or self._is_closing:
            return False
        pair.protocol.transport.sendto(srtp.protect_rtcp(packet), pair.remote_addr)
        return True

    async def probe(self) -> None:
        """Ask the peer whether it lives (RFC 7675); an answer counts as hearing from it."""
        pair = self._connection._nominated.get(1)
        if pair is None or self._is_closing:
            return
        try:
            await pair.protocol.request(
                self._connection.build_request(pair, nominate=False), pair.remote_addr,
                integrity_key=self._connection.remote_password.encode(), retransmissions=0,
            )
        except stun.TransactionError:
            return
        self.heard_s = time.monotonic()

    async def close(self) -> None:
        """Say goodbye and close the sockets. Twice is once."""
        self._is_closing = True
        self._on_closed = _nothing
        await self._dtls.stop()
        await self._ice.stop()

    def _take_over(self, protocol: Any) -> None:
        """Stand between a socket and aioice."""
        stock_received, stock_send_stun = protocol.datagram_received, protocol.send_stun

        def received(data: bytes, address: tuple[Any, ...]) -> None:
            now_s = time.monotonic()
            if not 0 < len(data) <= PACKET_BYTES_MAX:
                self.dropped += 1
            elif 128 <= data[0] <= 191:
                self._media(data, now_s)
            elif data[0] <= 3 and self._stun_in.spend(now_s):
                stock_received(data, address)
            elif 20 <= data[0] <= 63 and (
                self._connection._queue.qsize() < HANDSHAKE_DATAGRAMS_MAX
            ):
                stock_received(data, address)
            else:
                self.dropped += 1

        def send_stun(message: stun.Message, address: tuple[str, int]) -> None:
            # Requests go where a stranger's candidates point; answers go back where one came from.
            is_request = message.message_class == stun.Class.REQUEST
            if is_request and not self._stun_out.spend(time.monotonic()):
                return
            stock_send_stun(message, address)

        protocol.datagram_received = received
        protocol.send_stun = send_stun

    def _media(self, data: bytes, now_s: float) -> None:
        srtp = self._dtls._rx_srtp
        if srtp is None or self._is_closing or len(data) < 8:
            self.dropped += 1
            return
        try:
            if is_rtcp(data):
                plain = srtp.unprotect_rtcp(data)
                self.heard_s = now_s
                self._on_rtcp(plain, now_s)
                return
            # Each stream is remembered for its replay window: an unknown one is a cost.
            ssrc = data[8:HEADER_BYTES]
            if ssrc not in self._streams and len(self._streams) >= STREAMS_MAX:
                self.dropped += 1
                return
            plain = srtp.unprotect(data)
        except pylibsrtp.Error:
            # Forged, replayed, duplicated or damaged on the way: all the same to us.
            self.dropped += 1
            return
        self._streams.add(ssrc)
        self.heard_s = now_s
        self._on_rtp(plain, now_s)

    def _note_state(self) -> None:
        if self._dtls.state == "connected":
            self._was_connected = True
        elif self._dtls.state in ("closed", "failed") and self._was_connected:
            self._on_closed()
            self._on_closed = _nothing


def _nothing() -> None:
    """Nobody is told any more."""


def _candidate_of(one: RTCIceCandidate) -> ice.Candidate:
    return ice.Candidate(
        foundation=one.foundation, component=one.component, transport=one.protocol,
        priority=one.priority, host=one.ip, port=one.port, kind=one.type,
    )
