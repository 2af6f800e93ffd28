"""Notes on invitations: kept and replaced."""

from dataclasses import replace

from mesh import stores
from mesh.storage.database import Database
from mesh.storage.invitation_notes import DiskInvitationNotes
from mesh.stores import NoteRow
from tests.storage.logs import ROOM


async def test_a_note_is_kept_and_replaced(database: Database) -> None:
    notes: stores.InvitationNotes = DiskInvitationNotes(database)
    first = NoteRow(
        invitation_id="i_" + "1" * 32, room_id=ROOM, created_at_ms=1, previewed_at_ms=None
    )
    second = replace(first, invitation_id="i_" + "0" * 32, created_at_ms=2)
    await notes.put(second)
    await notes.put(first)
    assert await notes.all() == (first, second)
    seen = replace(first, previewed_at_ms=9)
    await notes.put(seen)
    assert await notes.all() == (seen, second)
