"""Who is in a call, what each may do, and what became of him: the rules, without any media.

    joining --connected--> live --unheard--> stale --heard--> live
       |                    |                  |
       +---- left, removed, replaced, failed, silent ----> gone (told once, with its reason)

One rule for joining twice, and it is this: the same participant id again **replaces** the old
connection (a page that lost its network comes back as itself); another id of the same member (a
second tab) joins **muted**, because two open microphones beside one loudspeaker howl.

Pure. It refuses more participants than a call seats, and steps that the table does not have.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from audio.errors import CallRefused, IllegalStep
from audio.limits import ID_CHARS_MAX, PARTICIPANTS_MAX


class Presence(Enum):
    """How a participant's connection stands."""

    JOINING = "joining"
    LIVE = "live"
    STALE = "stale"
    GONE = "gone"


class CallStep(Enum):
    """What happens to a participant's connection."""

    CONNECTED = "connected"
    HEARD = "heard"
    UNHEARD = "unheard"
    LEFT = "left"
    REMOVED = "removed"
    REPLACED = "replaced"
    FAILED = "failed"
    SILENT = "silent"


ENDS: Final = (
    CallStep.LEFT, CallStep.REMOVED, CallStep.REPLACED, CallStep.FAILED, CallStep.SILENT,
)
STEPS: Final[dict[tuple[Presence, CallStep], Presence]] = {
    (Presence.JOINING, CallStep.CONNECTED): Presence.LIVE,
    (Presence.LIVE, CallStep.UNHEARD): Presence.STALE,
    (Presence.LIVE, CallStep.HEARD): Presence.LIVE,
    (Presence.STALE, CallStep.HEARD): Presence.LIVE,
    **{
        (presence, step): Presence.GONE
        for presence in (Presence.JOINING, Presence.LIVE, Presence.STALE)
        for step in ENDS
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """One connection in a call. `may_speak` is the role's, `is_muted` the present wish."""

    participant_id: str
    member_id: str
    may_speak: bool = True
    is_muted: bool = False
    presence: Presence = Presence.JOINING
    hops: int = 0

    @property
    def is_audible(self) -> bool:
        """Whether anything of him may reach the others."""
        return self.may_speak and not self.is_muted and self.presence is not Presence.GONE


def next_presence(presence: Presence, step: CallStep) -> Presence:
    """The presence after a step. Raises IllegalStep."""
    following = STEPS.get((presence, step))
    if following is None:
        raise IllegalStep(presence.value, step.value)
    return following


class Call:
    """The participants of one call. Every change goes through here before media follows."""

    def __init__(self, call_id: str, *, participants_max: int = PARTICIPANTS_MAX) -> None:
        _check_id(call_id)
        self.call_id = call_id
        self._max = participants_max
        self._participants: dict[str, Participant] = {}

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Everybody who is not gone, in the order of joining."""
        return tuple(self._participants.values())

    def get(self, participant_id: str) -> Participant | None:
        """The participant, or None if he is not in the call."""
        return self._participants.get(participant_id)

    def join(
        self, participant_id: str, member_id: str, *, may_speak: bool = True
    ) -> tuple[Participant, Participant | None]:
        """Seat a participant. Returns him, and the one whom he replaces, now gone.

        Raises CallRefused: `busy` (full), `conflict` (the id is another member's).
        """
        _check_id(participant_id)
        _check_id(member_id)
        before = self._participants.get(participant_id)
        if before is not None and before.member_id != member_id:
            raise CallRefused("conflict", "This place in the call belongs to somebody else.")
        if before is None and len(self._participants) >= self._max:
            raise CallRefused(
                "busy", f"The call is full ({self._max}).", next="Try again when somebody left.",
            )
        is_second = before is None and any(
            other.member_id == member_id for other in self._participants.values()
        )
        joined = Participant(
            participant_id=participant_id,
            member_id=member_id,
            may_speak=may_speak,
            is_muted=is_second if before is None else before.is_muted,
        )
        self._participants.pop(participant_id, None)
        self._participants[participant_id] = joined
        gone = None
        if before is not None:
            gone = replace(before, presence=next_presence(before.presence, CallStep.REPLACED))
        return joined, gone

    def mute(self, participant_id: str, *, is_muted: bool) -> Participant:
        """Set the wish to be unheard. Raises CallRefused (`not_found`, `forbidden`)."""
        participant = self._known(participant_id)
        if not is_muted and not participant.may_speak:
            raise CallRefused("forbidden", "A listener cannot speak in this call.")
        return self._put(replace(participant, is_muted=is_muted))

    def step(self, participant_id: str, step: CallStep) -> Participant:
        """Apply a step to a connection; who is gone is no participant any more.

        Raises CallRefused (`not_found`), IllegalStep.
        """
        participant = self._known(participant_id)
        changed = replace(participant, presence=next_presence(participant.presence, step))
        if changed.presence is Presence.GONE:
            del self._participants[participant_id]
            return changed
        return self._put(changed)

    def _known(self, participant_id: str) -> Participant:
        participant = self._participants.get(participant_id)
        if participant is None:
            raise CallRefused("not_found", "This participant is not in the call.")
        return participant

    def _put(self, participant: Participant) -> Participant:
        self._participants[participant.participant_id] = participant
        return participant


def _check_id(text: str) -> None:
    if not 0 < len(text) <= ID_CHARS_MAX or not text.isprintable():
        raise CallRefused("invalid_params", "An id of the call is empty, too long or unprintable.")
