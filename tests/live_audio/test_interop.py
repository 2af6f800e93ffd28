"""The engine with aiortc's own peer connection at the other end: what we did not write hears us."""

import asyncio
import fractions

import av
import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription

from audio.limits import SAMPLE_RATE, TICK_S, TICK_SAMPLES
from tests.audio.sounds import main_hz, strength, tone
from tests.live_audio.rooms import room


class ToneTrack(MediaStreamTrack):
    """A microphone that whistles."""

    kind = "audio"

    def __init__(self, hz: float) -> None:
        super().__init__()
        self._hz, self._tick = hz, 0
        self._begun_s: float | None = None

    async def recv(self) -> av.AudioFrame:
        loop = asyncio.get_running_loop()
        if self._begun_s is None:
            self._begun_s = loop.time()
        await asyncio.sleep(max(0.0, self._begun_s + self._tick * TICK_S - loop.time()))
        frame = av.AudioFrame.from_ndarray(
            tone(self._hz, self._tick).reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        frame.pts = self._tick * TICK_SAMPLES
        frame.time_base = fractions.Fraction(1, SAMPLE_RATE)
        self._tick += 1
        return frame


async def test_a_stock_peer_connection_is_heard_and_hears() -> None:
    """SITUATIONS 113 as well: 440 Hz stays 440 Hz through somebody else's codec and clock."""
    async with room() as here:
        ben = await here.join("ben")
        stock = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        try:
            stock.addTrack(ToneTrack(440))
            heard: asyncio.Future[MediaStreamTrack] = asyncio.get_running_loop().create_future()
            stock.on("track", heard.set_result)
            await stock.setLocalDescription(await stock.createOffer())
            answer = await here.engine.join("room", "stock", "stock", stock.localDescription.sdp)
            await stock.setRemoteDescription(RTCSessionDescription(sdp=answer, type="answer"))
            await ben.until_hears(440, deadline_s=15)
            assert abs(main_hz(ben.recent()) / 440 - 1) < 0.01
            ben.say(700)
            track = await heard
            sound = np.zeros(0, dtype=np.int16)
            async with asyncio.timeout(15):
                while strength(sound[-SAMPLE_RATE // 2 :], 700) < 2_000:
                    frame = await track.recv()
                    assert isinstance(frame, av.AudioFrame)
                    sound = np.concatenate([sound, frame.to_ndarray().reshape(-1, 2)[:, 0]])
        finally:
            await stock.close()
