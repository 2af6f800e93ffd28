"""The home: the one directory of an install, its lock, and how local programs find the node.

`open_home` refuses a directory that others can look into, and one that a file synchroniser copies
to other machines: two nodes with one key are a fault that nobody can mend (attacks 22 and 62). The
lock lives as long as the process; the operating system gives it back however the process ends.

`control.json` says where the running node is and carries the token of local programs. It is there
while the node runs, 0600, and never written in place.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from mesh.core import canonical
from mesh.core.errors import Malformed, MeshError
from mesh.storage import private_file

CONTROL: Final = "control.json"
LOCK: Final = "lock"
CONTROL_BYTES_MAX: Final = 16 << 10

# What synchronisers leave in the top of the tree they copy, and what they call it.
_SYNC_MARKS: Final = (
    ".stfolder",
    ".dropbox",
    ".dropbox.cache",
    ".owncloudsync.log",
    ".sync_journal.db",
)
_SYNC_NAMES: Final = frozenset(
    {
        "dropbox",
        "onedrive",
        "google drive",
        "googledrive",
        "icloud drive",
        "mobile documents",
        "nextcloud",
        "owncloud",
    }
)


def open_home(path: Path) -> Path:
    """The home at `path`, made 0700 if it is not there; with links resolved.

    Raises:
        MeshError: reason `key_unsafe`, with a sentence that says what to do.
    """
    home = Path(os.path.realpath(path))
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            home.mkdir(mode=0o700)
            home.chmod(0o700)
        private_file.check_directory(home)
    except OSError as error:
        raise private_file.unsafe(
            f"{home} cannot be used ({error.strerror}); choose another --home."
        ) from None
    _refuse_synced(home)
    return home


@contextlib.contextmanager
def lock_home(home: Path) -> Iterator[None]:
    """Hold the home for this process while inside.

    Raises:
        MeshError: reason `home_locked`, with field `pid` of the other process if it is known.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(home / LOCK, flags, 0o600)
    except OSError as error:
        raise private_file.unsafe(f"{home / LOCK} cannot be opened ({error.strerror}).") from None
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
            known = int(pid) if pid.isdigit() else None
            raise MeshError(
                "home_locked",
                f"Another node runs on {home} (pid {known or 'not known'}).",
                pid=known,
            ) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(fd)


def write_control(home: Path, fields: Mapping[str, str | int]) -> None:
    """Say where the node is. To be called when it is ready, with the lock held."""
    private_file.replace(home / CONTROL, canonical.encode(dict(fields)) + b"\n")


def remove_control(home: Path) -> None:
    """The node is no longer there. To be called with the lock held."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(home / CONTROL)


def read_control(home: Path) -> dict[str, str | int]:
    """What a running node says of itself. It may have been killed since.

    Raises:
        MeshError: `unreachable` when there is none; `key_unsafe` when it is not private.
    """
    nothing = MeshError("unreachable", f"No node runs on {home}.")
    try:
        data = private_file.read(home / CONTROL, CONTROL_BYTES_MAX)
    except FileNotFoundError:
        raise nothing from None
    try:
        found = canonical.decode_object(data)
    except Malformed:
        raise nothing from None
    return found


def _refuse_synced(home: Path) -> None:
    for folder in (home, *home.parents):
        marked = any((folder / mark).exists() for mark in _SYNC_MARKS)
        if marked or folder.name.lower().split(" - ")[0] in _SYNC_NAMES:
            raise private_file.unsafe(
                f"{home} is inside {folder}, which is copied to other machines; two machines "
                "with one key harm every room. Choose another --home."
            )
