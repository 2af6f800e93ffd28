"""Names instead of ids, where exactly one thing has that name. Pure.

An id always wins. Then the whole name counts, without regard to case, then the beginning of a name
or id. Two that fit are never guessed between.
"""

from collections.abc import Sequence
from typing import Any

from mesh.cli.failure import Failed
from mesh.cli.visible import one_line

Row = dict[str, Any]


def room(rows: Sequence[Row], wanted: str) -> Row:
    """The room of that name or id."""
    return _one(rows, wanted, "room", "room_id", ("name",))


def member(rows: Sequence[Row], wanted: str) -> Row:
    """The present member of that handle, name or id; `@` may stand before it."""
    here = [row for row in rows if row.get("presence") != "left"]
    return _one(here, wanted.removeprefix("@"), "member", "member_id", ("handle", "display_name"))


def peer(rows: Sequence[Row], wanted: str) -> Row:
    """The install of that name or id."""
    return _one(rows, wanted, "peer", "install_id", ("name",))


def invitation(rows: Sequence[Row], wanted: str) -> Row:
    """The invitation whose id is or begins so."""
    return _one(rows, wanted, "invitation", "invitation_id", ())


def grant(rows: Sequence[Row], wanted: str) -> Row:
    """The grant whose id is or begins so, or the only active one of that handle."""
    active = [row for row in rows if row["state"] == "active"]
    try:
        return _one(rows, wanted, "grant", "grant_id", ())
    except Failed:
        return _one(active, wanted.removeprefix("@"), "grant", "grant_id", ("handle",))


def _one(
    rows: Sequence[Row], wanted: str, what: str, id_field: str, name_fields: Sequence[str]
) -> Row:
    for row in rows:
        if row[id_field] == wanted:
            return row
    folded = wanted.casefold()

    def names(row: Row) -> list[str]:
        return [str(row.get(field) or "").casefold() for field in name_fields]

    whole: list[Row] = []
    for field in name_fields:  # a handle counts before the name that is shown beside it
        whole = [row for row in rows if str(row.get(field) or "").casefold() == folded]
        if len(whole) == 1:
            return whole[0]
        if whole:
            break
    starts = whole or [
        row
        for row in rows
        if any(name.startswith(folded) for name in [*names(row), *_id_starts(row[id_field])])
    ]
    if wanted and len(starts) == 1:
        return starts[0]
    shown = one_line(wanted, 80)
    if not starts or not wanted:
        raise Failed("not_found", f"There is no {what} {shown!r}.", f"See `roommesh {what} list`.")
    ids = ", ".join(one_line(row[id_field]) for row in starts[:5])
    raise Failed(
        "invalid_params", f"More than one {what} is called {shown!r}.", f"Use an id: {ids}"
    )


def _id_starts(found: str) -> tuple[str, str]:
    """An id is typed with or without its kind."""
    return found, found.replace(":", "_").partition("_")[2]
