"""Small logs to store: signed events of one room, and what a room's row says about them."""

from mesh.core.event import GENESIS, Event, Proposal, admit, propose
from mesh.core.identity import SigningKey
from mesh.stores import OutboxRow, RoomChange, RoomRow

KEY = SigningKey.from_seed(b"k" * 32)
ROOM = "r_" + "0" * 32
OTHER_ROOM = "r_" + "1" * 32
MEMBER = "m_" + "2" * 32
INSTALL = "install:" + "3" * 32


def proposal(number: int, room_id: str = ROOM, text: str = "hello") -> Proposal:
    """Proposal `number` of the member."""
    return propose(
        KEY,
        room_id=room_id,
        event_id=f"e{number}",
        kind="message.user",
        member_id=MEMBER,
        payload={"text": text},
        cause=None,
        created_at_ms=number,
    )


def follow(last: Event | None, made: Proposal, epoch: int = 1) -> Event:
    """The event that puts `made` after `last`."""
    return admit(
        KEY,
        made,
        epoch=epoch,
        seq=last.seq + 1 if last else 1,
        prev_hash=last.hash if last else GENESIS,
        admitted_at_ms=10_000,
    )


def log(
    count: int,
    *,
    after: Event | None = None,
    room_id: str = ROOM,
    epoch: int = 1,
    text: str = "hello",
) -> tuple[Event, ...]:
    """`count` events in a chain, after `after`."""
    made: list[Event] = []
    for _ in range(count):
        number = after.seq + 1 if after else 1
        after = follow(after, proposal(number, room_id, text), epoch)
        made.append(after)
    return tuple(made)


def room(events: tuple[Event, ...] = (), room_id: str = ROOM, epoch: int = 1) -> RoomRow:
    """The row of a room whose log is `events`."""
    return RoomRow(
        room_id=room_id,
        authority_install_id=INSTALL,
        promised_epoch=epoch,
        head_seq=len(events),
        head_hash=events[-1].hash if events else GENESIS,
        joined_at_ms=5,
    )


def change(*events: Event, room_id: str = ROOM) -> RoomChange:
    """A change that only appends."""
    return RoomChange(room_id=room_id, events=events)


def waiting(number: int, room_id: str = ROOM) -> OutboxRow:
    """Row `number` of an outbox."""
    return OutboxRow(
        n=number,
        proposal=proposal(number, room_id),
        state="waiting",
        reason="",
        queued_at_ms=number,
    )
