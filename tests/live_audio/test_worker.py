"""The media process: asked, listened to, killed, and ended by the end of its pipe."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from audio import worker_messages as messages
from audio.errors import AudioError, VoiceUnavailable
from audio.events import Closed, Joined, Speaking, Stats
from audio.worker_process import WorkerProcess
from tests.audio.offers import offer
from tests.audio.participant import Participant
from tests.live_audio.rooms import Told

SETTINGS = messages.Settings(engine_id="install:a")


async def join(worker: WorkerProcess, one: Participant) -> None:
    text = await worker.ask(messages.Join(
        call_id="room", participant_id=one.name, member_id=one.name, sdp=await one.offer(),
    ))
    one.accept(text)
    async with asyncio.timeout(10):
        await one.connected.wait()


async def test_a_call_through_the_worker() -> None:
    told = Told()
    async with (
        WorkerProcess(SETTINGS, on_event=told) as worker,
        Participant("anna") as anna, Participant("ben") as ben,
    ):
        assert "opus" in worker.opus_version
        await join(worker, anna)
        await join(worker, ben)
        await told.until(Joined, participant_id="ben")
        anna.say(440)
        await ben.until_hears(440)
        await told.until(Speaking, talkers=("anna",))
        await told.until(Stats, call_id="room")
        await worker.ask(messages.Mute(call_id="room", participant_id="anna", is_muted=True))
        await ben.until_silent()
        await worker.ask(messages.Leave(call_id="room", participant_id="anna", removed=True))
        assert (await told.until(Closed, participant_id="anna")).reason == "removed"


async def test_refusals_come_back_with_their_reason() -> None:
    async with WorkerProcess(SETTINGS, on_event=lambda event: None) as worker:
        for request, reason in (
            (messages.Join(call_id="r", participant_id="a", member_id="a", sdp="x"),
             "invalid_params"),
            (messages.Join(call_id="r", participant_id="a", member_id="a",
                           sdp=offer() + "x" * 100_000), "too_large"),
            (messages.Leave(call_id="r", participant_id="a"), "not_found"),
        ):
            with pytest.raises(AudioError) as caught:
                await worker.ask(request)
            assert caught.value.reason == reason


async def test_the_death_of_a_worker_is_noticed_at_once() -> None:
    async with WorkerProcess(SETTINGS, on_event=lambda event: None) as worker:
        killed_s = time.monotonic()
        os.kill(worker.pid, signal.SIGKILL)
        async with asyncio.timeout(2):
            await worker.lost()
        assert time.monotonic() - killed_s < 1.0
        with pytest.raises(AudioError) as caught:
            await worker.ask(messages.CloseCall(call_id="room"))
        assert caught.value.reason == "voice_lost"


async def test_a_worker_ends_within_a_second_of_its_pipe() -> None:
    async with Participant("anna") as anna:
        async with WorkerProcess(SETTINGS, on_event=lambda event: None) as worker:
            await join(worker, anna)
            pid, ended_s = worker.pid, time.monotonic()
        assert time.monotonic() - ended_s < 1.5
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        async with asyncio.timeout(5):
            await anna.closed.wait()


async def test_a_worker_that_cannot_carry_voice_says_why() -> None:
    with pytest.raises(VoiceUnavailable):
        async with WorkerProcess(
            messages.Settings(engine_id="install:a", networks=("nonsense",)),
            on_event=lambda event: None,
        ):
            pytest.fail("it started")


@pytest.mark.parametrize("sent", [b"\xff\xff\xff\xff", b"\0\0\0\x02{}", b""])
def test_a_broken_owner_ends_the_worker(sent: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "audio.worker", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),), stderr=subprocess.PIPE,
        )
        theirs.close()
        ours.sendall(sent)
        ours.shutdown(socket.SHUT_WR)
        _, said = process.communicate(timeout=15)
        assert process.returncode == (1 if sent else 0)
        assert (b"Traceback" not in said) and (not sent or said.startswith(b"media worker:"))


def test_the_owners_side_imports_no_media_library() -> None:
    script = (
        "import sys, audio.worker_process; "
        "print([m for m in ('aiortc', 'av', 'numpy', 'aioice') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
