"""The tree of refusals."""

import inspect

import audio.errors
from audio.errors import AudioError, IllegalStep, PacketMalformed, VoiceUnavailable


def test_the_drawing_shows_every_class() -> None:
    drawn = inspect.getdoc(audio.errors)
    assert drawn is not None
    for name, thing in vars(audio.errors).items():
        if inspect.isclass(thing) and issubclass(thing, AudioError):
            assert f"{name} " in drawn, name


def test_each_carries_a_reason_and_a_sentence() -> None:
    assert PacketMalformed("Cut short.").reason == "invalid_params"
    assert IllegalStep("gone", "heard").reason == "conflict"
    gone = VoiceUnavailable("No address.", next="Connect to a network.")
    assert (gone.reason, str(gone)) == ("voice_unavailable", "No address. Connect to a network.")
