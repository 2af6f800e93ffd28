"""What crosses the pipe between a node and its media worker: settings, requests, answers, events.

Each message is four bytes of length and a msgspec MessagePack body of at most 256 KiB. The owner
sends `Settings` first and gets `Ready` or `Unavailable`; then it asks, each question with its own
id, and is told events between the answers. No media crosses here and no key.

Importing this file imports neither aiortc nor numpy: the node speaks it, the worker carries it.
"""

from typing import Final

import msgspec

from audio.errors import AudioError
from audio.events import Event
from audio.limits import MESSAGE_BYTES_MAX

LENGTH_BYTES: Final = 4


class Server(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A STUN or TURN server."""

    url: str
    username: str | None = None
    credential: str | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True, tag="settings"):
    """What a worker needs to know: its engine's id, where peers may be, servers (none: none)."""

    engine_id: str
    networks: tuple[str, ...] = ()
    ice_servers: tuple[Server, ...] = ()


class Join(msgspec.Struct, frozen=True, kw_only=True, tag="join"):
    """Seat a participant; the result is the answer to his offer."""

    call_id: str
    participant_id: str
    member_id: str
    sdp: str
    may_speak: bool = True


class Renegotiate(msgspec.Struct, frozen=True, kw_only=True, tag="renegotiate"):
    """Answer a further offer."""

    call_id: str
    participant_id: str
    sdp: str


class AddCandidate(msgspec.Struct, frozen=True, kw_only=True, tag="candidate"):
    """Try one more address of a participant; the result is the verdict's word."""

    call_id: str
    participant_id: str
    line: str


class Leave(msgspec.Struct, frozen=True, kw_only=True, tag="leave"):
    """End a participant's connection or a link."""

    call_id: str
    participant_id: str
    removed: bool = False


class Mute(msgspec.Struct, frozen=True, kw_only=True, tag="mute"):
    """Let a participant be unheard, or heard again."""

    call_id: str
    participant_id: str
    is_muted: bool


class CloseCall(msgspec.Struct, frozen=True, kw_only=True, tag="close_call"):
    """End a call for everybody."""

    call_id: str


class OfferLink(msgspec.Struct, frozen=True, kw_only=True, tag="offer_link"):
    """Make the offer of a link; the result is its text."""

    call_id: str
    link_id: str
    relays: bool = False


class AcceptLink(msgspec.Struct, frozen=True, kw_only=True, tag="accept_link"):
    """Take the answer to a link's offer."""

    call_id: str
    link_id: str
    sdp: str


class AnswerLink(msgspec.Struct, frozen=True, kw_only=True, tag="answer_link"):
    """Answer the offer of a link; the result is the answer's text."""

    call_id: str
    link_id: str
    sdp: str
    relays: bool = False


Request = (
    Join | Renegotiate | AddCandidate | Leave | Mute | CloseCall | OfferLink | AcceptLink
    | AnswerLink
)


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag="ask"):
    """A request with the number that its answer will quote."""

    id: int
    request: Request


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag="ready"):
    """The worker can carry voice."""

    opus: str


class Unavailable(msgspec.Struct, frozen=True, kw_only=True, tag="unavailable"):
    """The worker cannot carry voice, and ends."""

    sentence: str
    next: str


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """A request's result; "" where there is nothing to say."""

    id: int
    result: str


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag="refused"):
    """A request's refusal."""

    id: int
    reason: str
    sentence: str
    next: str

    def error(self) -> AudioError:
        """The refusal as the exception that the worker caught."""
        return AudioError(self.reason, self.sentence, next=self.next)


class Told(msgspec.Struct, frozen=True, kw_only=True, tag="told"):
    """An event, by its class's name; msgspec cannot tell dataclasses apart by themselves."""

    kind: str
    event: msgspec.Raw


ToWorker = Settings | Ask
FromWorker = Ready | Unavailable | Done | Refused | Told

_KINDS: Final[dict[str, type[Event]]] = {
    kind.__name__: kind for kind in Event.__args__
}
_to_worker: Final = msgspec.msgpack.Decoder(ToWorker)
_from_worker: Final = msgspec.msgpack.Decoder(FromWorker)


def framed(message: ToWorker | FromWorker) -> bytes:
    """A message with its length before it."""
    body = msgspec.msgpack.encode(message)
    assert len(body) <= MESSAGE_BYTES_MAX, "what is put in was bounded before"
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def length_of(head: bytes) -> int:
    """The length that a message's first bytes say. Raises ValueError if it is too long."""
    size = int.from_bytes(head, "big")
    if size > MESSAGE_BYTES_MAX:
        raise ValueError(f"a message of {size} bytes is longer than {MESSAGE_BYTES_MAX}")
    return size


def read_by_worker(body: bytes) -> ToWorker:
    """A message to the worker. Raises msgspec.DecodeError."""
    return _to_worker.decode(body)


def read_by_owner(body: bytes) -> FromWorker:
    """A message from the worker. Raises msgspec.DecodeError."""
    return _from_worker.decode(body)


def told(event: Event) -> Told:
    """An event as a message."""
    return Told(kind=type(event).__name__, event=msgspec.Raw(msgspec.msgpack.encode(event)))


def event_of(message: Told) -> Event:
    """The event in a message. Raises msgspec.DecodeError, KeyError for one of another version."""
    event: Event = msgspec.msgpack.decode(message.event, type=_KINDS[message.kind])
    return event
