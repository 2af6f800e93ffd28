"""Files that hold secrets: made whole or not at all, read only if nobody else could have.

A key that others can read is not a secret, and one that others could have written is not ours
(attacks 55 and 62). So: 0600, our own, a regular file that is not reached by a symbolic link, in
a directory that is 0700 and our own. Anything else is `key_unsafe` with a sentence that
says what to do; nothing is mended silently, for the harm may be done already.

A file is written under another name, synced, and given its name in one step: a process that is
killed in between leaves no empty key behind.
"""

import contextlib
import errno
import os
import stat
from pathlib import Path

from mesh.core.errors import MeshError


def create(path: Path, data: bytes) -> None:
    """Make a new file with that content, durable when this returns.

    Raises:
        FileExistsError: there is something of that name; it is left alone.
    """
    fresh = _write_aside(path, data)
    try:
        os.link(fresh, path, follow_symlinks=False)
    finally:
        os.unlink(fresh)
    sync_directory(path.parent)


def replace(path: Path, data: bytes) -> None:
    """Make or replace a file, durable when this returns. A link in its place is replaced too."""
    os.replace(_write_aside(path, data), path)
    sync_directory(path.parent)


def read(path: Path, size_bytes_max: int) -> bytes:
    """The content of a private file.

    Raises:
        FileNotFoundError: there is none.
        MeshError: reason `key_unsafe`.
    """
    assert size_bytes_max > 0
    # O_NONBLOCK: a pipe in its place must not hang the start.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise unsafe(f"{path} is a symbolic link; put the file itself there.") from None
        raise unsafe(f"{path} cannot be opened ({error.strerror}).") from None
    with os.fdopen(fd, "rb") as file:
        _check(path, os.fstat(fd))
        data = file.read(size_bytes_max + 1)
    if not data:
        raise unsafe(f"{path} is empty; restore it from a backup.")
    if len(data) > size_bytes_max:
        raise unsafe(f"{path} is larger than such a file can be; restore it from a backup.")
    return data


def check_directory(path: Path) -> None:
    """Refuse a directory that somebody else can read or write.

    Raises:
        MeshError: reason `key_unsafe`.
    """
    found = os.stat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise unsafe(f"{path} is not a directory; choose another --home.")
    if found.st_uid != os.geteuid():
        raise unsafe(
            f"{path} belongs to user {found.st_uid}, and this process runs as "
            f"{os.geteuid()}; run as its owner, or choose another --home."
        )
    if found.st_mode & 0o077:
        raise unsafe(
            f"{path} is open to other users ({found.st_mode & 0o777:o}); run: chmod 700 {path}"
        )


def sync_directory(path: Path) -> None:
    """Make names in a directory durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def unsafe(sentence: str) -> MeshError:
    """A refusal of a file. The sentence says what is wrong and what to do."""
    return MeshError("key_unsafe", sentence)


def _write_aside(path: Path, data: bytes) -> Path:
    fresh = path.with_name(f".{path.name}.new")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(fresh)  # of a start that was killed; the directory is ours alone
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(fresh, flags, 0o600)
    with os.fdopen(fd, "wb") as file:
        os.fchmod(fd, 0o600)  # whatever the umask was
        file.write(data)
        file.flush()
        os.fsync(fd)
    return fresh


def _check(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise unsafe(f"{path} is not a regular file.")
    if found.st_uid != os.geteuid():
        raise unsafe(
            f"{path} belongs to user {found.st_uid}, and this process runs as {os.geteuid()}; "
            "run as its owner."
        )
    if found.st_mode & 0o077:
        raise unsafe(
            f"{path} can be used by other users ({found.st_mode & 0o777:o}). If nobody else has "
            f"read it, run: chmod 600 {path}"
        )
