"""Every way the engine says no, in one tree.

    AudioError             carries `reason`, a sentence and what to do next
    +-- OfferRefused       a session description that we cannot or will not answer
    +-- PacketMalformed    bytes of a peer that are not what they claim to be; it is dropped
    +-- CallRefused        a step that the call does not allow now
    +-- VoiceUnavailable   this machine cannot carry voice: a library moved, or no address
    +-- IllegalStep        our own misuse of a state table; never a peer's doing

`reason` is one of the stable words below and meant for programs; sentences are for people.
"""

from typing import Final

REASONS: Final = frozenset({
    "invalid_params", "too_large", "unsupported", "not_found", "conflict", "forbidden",
    "replayed", "busy", "peer_identity_mismatch", "voice_unavailable", "voice_lost",
})


class AudioError(Exception):
    """A refusal of the engine: `reason` for programs, `sentence` and `next` for people."""

    def __init__(self, reason: str, sentence: str, *, next: str = "") -> None:
        assert reason in REASONS, reason
        super().__init__(sentence)
        self.reason = reason
        self.sentence = sentence
        self.next = next

    def __str__(self) -> str:
        """The sentence, and the next step where there is one."""
        return f"{self.sentence} {self.next}".strip()


class OfferRefused(AudioError):
    """The offer is too large, damaged, or asks for nothing that we carry."""


class PacketMalformed(AudioError):
    """A packet breaks its format. The reason is always `invalid_params`."""

    def __init__(self, sentence: str) -> None:
        super().__init__("invalid_params", sentence)


class CallRefused(AudioError):
    """The call is full, the participant is unknown, or the step is not allowed."""


class VoiceUnavailable(AudioError):
    """Voice cannot work on this machine. The reason is always `voice_unavailable`."""

    def __init__(self, sentence: str, *, next: str = "") -> None:
        super().__init__("voice_unavailable", sentence, next=next)


class IllegalStep(AudioError):
    """A state table was asked for a step that it does not have."""

    def __init__(self, state: str, step: str) -> None:
        super().__init__("conflict", f"{step} is not possible while {state}.")
        self.state = state
        self.step = step
