"""The seam to aiortc: it is where it was, and two transports meet through it."""

import asyncio

import aiortc
import pytest
from aioice import ice as aioice_ice

from audio import rtc_seam
from audio.errors import VoiceUnavailable
from audio.rtc_seam import LocalParameters, RemoteParameters, Transport, make_certificate
from audio.rtp import RtpPacket, serialize
from audio.sdp import Fingerprint


async def test_every_private_part_is_where_it_was() -> None:
    rtc_seam.verify()


async def test_another_version_is_refused_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiortc, "__version__", "1.17.0")
    with pytest.raises(VoiceUnavailable, match=r"1\.17\.0"):
        rtc_seam.verify()


async def test_a_moved_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(aioice_ice.StunProtocol, "send_stun")
    with pytest.raises(VoiceUnavailable, match="send_stun"):
        rtc_seam.verify()


class Ear:
    """A transport and what it heard."""

    def __init__(self, *, is_offering: bool) -> None:
        self.rtp: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed = asyncio.Event()
        self.transport = Transport(
            make_certificate(), is_offering=is_offering,
            on_rtp=lambda data, now_s: self.rtp.put_nowait(data),
            on_rtcp=lambda data, now_s: None,
            on_closed=self.closed.set,
        )


def seen_by_the_other(local: LocalParameters, *, is_active: bool) -> RemoteParameters:
    return RemoteParameters(
        ufrag=local.ufrag, password=local.password, fingerprints=local.fingerprints,
        is_active=is_active, is_ice_lite=False, candidates=local.candidates,
    )


async def meet(ours: Ear, theirs: Ear, *, wrong_certificate: bool = False) -> tuple[bool, bool]:
    """Connect two transports; whether each says it is connected."""
    mine, other = await ours.transport.gather(), await theirs.transport.gather()
    seen = seen_by_the_other(other, is_active=True)
    if wrong_certificate:
        fake = Fingerprint(algorithm="sha-256", value=":".join(["00"] * 32))
        seen = RemoteParameters(
            ufrag=seen.ufrag, password=seen.password, fingerprints=(fake,), is_active=True,
            is_ice_lite=False, candidates=seen.candidates,
        )
    async with asyncio.timeout(15), asyncio.TaskGroup() as tasks:
        one = tasks.create_task(ours.transport.connect(seen))
        two = tasks.create_task(
            theirs.transport.connect(seen_by_the_other(mine, is_active=False))
        )
    return one.result(), two.result()


PACKET = RtpPacket(payload_type=111, seq=1, at_samples=0, ssrc=5, payload=b"sound")


async def test_two_transports_meet_and_carry_packets_both_ways() -> None:
    ours, theirs = Ear(is_offering=True), Ear(is_offering=False)
    try:
        assert await meet(ours, theirs) == (True, True)
        assert ours.transport.send_rtp(serialize(PACKET))
        assert theirs.transport.send_rtp(serialize(PACKET))
        async with asyncio.timeout(5):
            assert await theirs.rtp.get() == serialize(PACKET)
            assert await ours.rtp.get() == serialize(PACKET)
            before_s = ours.transport.heard_s
            await ours.transport.probe()
            assert ours.transport.heard_s > before_s
            await theirs.transport.close()
            await ours.closed.wait()
    finally:
        await ours.transport.close()
        await theirs.transport.close()


async def test_a_peer_with_another_certificate_is_not_connected() -> None:
    """ATTACKS 46: whoever answers, the fingerprint of the description decides."""
    ours, theirs = Ear(is_offering=True), Ear(is_offering=False)
    try:
        connected, _ = await meet(ours, theirs, wrong_certificate=True)
        assert not connected
        assert not ours.transport.send_rtp(serialize(PACKET))
    finally:
        await ours.transport.close()
        await theirs.transport.close()


async def test_new_streams_and_unknown_datagrams_are_bounded() -> None:
    """ATTACKS 48: SSRC collisions and floods cost no memory."""
    ours, theirs = Ear(is_offering=True), Ear(is_offering=False)
    try:
        assert await meet(ours, theirs) == (True, True)
        for ssrc in range(100):
            theirs.transport.send_rtp(serialize(RtpPacket(
                payload_type=111, seq=1, at_samples=0, ssrc=ssrc, payload=b"sound",
            )))
        async with asyncio.timeout(5):
            for _ in range(8):
                await ours.rtp.get()
            # A known stream after the flood: when it is heard, all of the flood was seen.
            theirs.transport.send_rtp(serialize(RtpPacket(
                payload_type=111, seq=2, at_samples=0, ssrc=0, payload=b"last",
            )))
            assert (await ours.rtp.get()).endswith(b"last")
        assert ours.transport.dropped == 92
    finally:
        await ours.transport.close()
        await theirs.transport.close()
