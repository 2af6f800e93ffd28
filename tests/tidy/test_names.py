"""Names say which concept they mean, in the words of docs/vocabulary.md.

Only names that the product defines are looked at: classes, functions, arguments, fields and
variables. Words that an ecosystem froze on the wire are allowed, and only those.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from tests.tidy.tree import File, assert_clean, files, sources

BANNED_FILE: Final = re.compile(
    r"^(?:.*_)?(?:utils?|helpers?|managers?|common|misc|base|stuff|more|new|old)$|\w2$"
)
BANNED_SUFFIX: Final = (
    "Manager", "Handler", "Helper", "Service", "Util", "Utils", "Data", "Info", "Context", "Base",
    "Impl",
)
# word of a name -> what to say instead
BANNED_WORD: Final = {
    "master": "authority", "slave": "custodian", "primary": "authority",
    "follower": "custodian or replica", "secondary": "custodian", "mirror": "replica",
    "fencing": "epoch",
    "invites": "invitations",
    "ack": "acknowledgment, of a named kind", "acks": "acknowledgment, of a named kind",
    "sync": "replicate, catch up or subscribe",
    "plugin": "profile, gateway or mount",
    "timestamp": "`sent_at_ms` or a `deadline`", "timestamps": "`sent_at_ms` or a `deadline`",
    "user": "member, operator or owner", "users": "members",
    "topic": "room", "channel": "room",
}
# whole name -> what to say instead
BANNED_NAME: Final = {
    "Message": "Event, Proposal, Signal or LinkMessage", "Session": "BrowserSession, Link or Call",
    "invite_id": "invitation_id", "invite_link": "invitation_link",
    "invite_secret": "invitation_secret",
    "event_index": "seq", "event_offset": "seq", "event_position": "seq", "log_index": "seq",
    "log_offset": "seq", "log_position": "seq", "term": "epoch", "generation": "epoch",
    "server_list": "catalog", "leader": "authority", "backup_install": "custodian",
}
# A quantity without its unit, as the last word of a name. A deadline is an instant, and fine.
UNITLESS: Final = frozenset({
    "timeout", "interval", "delay", "duration", "elapsed", "ttl", "age", "latency",
})
# Frozen on the wire, or another library's own word, which a definition must repeat.
ALLOWED: Final = frozenset({
    "message_user", "message_member", "user_agent", "user_agent_chars_max", "user_data_dir",
    "user_data_path",
})
# The gateway speaks of sessions and of a model's users; a call has channels of sound; a table
# has a primary key; and in http/ there is one kind of session, the browser's.
SESSIONS: Final = ("gateway/", "mesh/client/", "mesh/http/", "mesh/rpc/", "audio/")
AT_HOME: Final = {
    "primary": ("mesh/storage/",),
    # To bring to the disk (fsync), and folders that a program copies between machines.
    "sync": ("mesh/storage/", "gateway/profile_files.py"),
    "user": ("gateway/backends/", "gateway/sessions/", "mesh/client/"),
    "channel": ("audio/",),
    "channels": ("audio/",),
    "session": SESSIONS,
    "sessions": SESSIONS,
    "participant": ("audio/", "mesh/service/calls", "mesh/service/signalling"),
}
ONLY_AT_HOME: Final = {
    "session": "browser session, link or call", "sessions": "browser sessions, links or calls",
    "participant": "member; a participant is inside a call",
}


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case: `sentAtMs`, `SENT_AT_MS` and `SentAtMs` have three."""
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return [word for word in spread.lower().split("_") if word]


def defined(file: File) -> Iterator[tuple[int, str]]:
    """Line and name of everything the file defines."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr


def off_vocabulary(file: File) -> Iterator[str]:
    """Names that use a word which the vocabulary replaces."""
    for line, name in sorted(set(defined(file))):
        bare = name.strip("_")
        if bare.lower() in ALLOWED:
            continue
        for word in words_of(bare):
            if word in BANNED_WORD and not file.path.startswith(AT_HOME.get(word, ("/",))):
                yield f"{line}: {name}: say {BANNED_WORD[word]}"
        if bare in BANNED_NAME:
            yield f"{line}: {name}: say {BANNED_NAME[bare]}"
        if bare in ONLY_AT_HOME and not file.path.startswith(AT_HOME[bare]):
            yield f"{line}: {name}: say which: {ONLY_AT_HOME[bare]}"


def without_unit(file: File) -> Iterator[str]:
    """Quantities whose name does not end in a unit."""
    for line, name in sorted(set(defined(file))):
        words = words_of(name)
        if words and words[-1] in UNITLESS and not name[0].isupper():
            yield f"{line}: {name}: end it in its unit, like {name}_s or {name}_ms"


def vague_classes(file: File) -> Iterator[str]:
    """Classes whose last word says nothing."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ClassDef) and node.name.endswith(BANNED_SUFFIX):
            yield f"{node.lineno}: class {node.name}: use the noun, like OpenRooms or LinkTable"


def vague_file(file: File) -> Iterator[str]:
    """A file name that names no concept."""
    if BANNED_FILE.search(PurePosixPath(file.path).stem):
        yield "1: name the file after the one concept in it"


def test_names_use_the_vocabulary() -> None:
    assert_clean(off_vocabulary, sources())


def test_quantities_carry_units() -> None:
    assert_clean(without_unit, sources())


def test_classes_are_nouns_that_say_something() -> None:
    assert_clean(vague_classes, sources())


def test_files_are_named_after_a_concept() -> None:
    assert_clean(vague_file, files("mesh", "gateway", "audio", "tests", suffixes=(".py", ".js")))


def test_planted_names_are_found() -> None:
    planted = File(
        path="mesh/core/planted.py",
        text="class PeerManager: ...\ndef ack(userName, timeout, session): ...\n"
        "self.masterNode = 1\nmessage_user = sent_at_ms = deadline = 2\n",
    )
    assert len(list(off_vocabulary(planted))) == 4
    assert [words.split(":")[1] for words in without_unit(planted)] == [" timeout"]
    assert [words.split(":")[0] for words in vague_classes(planted)] == ["1"]
    for path in ("mesh/core/utils.py", "mesh/room_helpers.py", "mesh/room2.py", "mesh/base.py"):
        assert list(vague_file(File(path=path, text=""))), path
    assert not list(vague_file(File(path="mesh/core/database.py", text="")))
