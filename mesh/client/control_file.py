"""`control.json`: how a program on this machine finds the running node and its token.

The node writes it when it is ready and removes it when it ends. A file that others could write is
not believed: it could send this program, and what it says, to another process (attack 55).
"""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mesh.client.errors import Unreachable
from mesh.config import home_of

FILE_NAME: Final = "control.json"
_BYTES_MAX: Final = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Where the node is, and what opens it. `repr` hides the token."""

    url: str
    token: str
    pid: int
    install_id: str
    boot_id: str
    version: str

    def __repr__(self) -> str:
        return f"Control(url={self.url!r}, pid={self.pid}, install_id={self.install_id!r})"


def read_control(home: str | Path | None, environ: Mapping[str, str] = os.environ) -> Control:
    """Read the file of a home (by default the user's).

    Raises:
        Unreachable: there is none, or it cannot be believed.
    """
    path = home_of(home, environ) / FILE_NAME
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise Unreachable(f"No node is running in {path.parent} ({error.strerror}).") from None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if found.st_uid not in {os.getuid(), 0} or stat.S_IMODE(found.st_mode) & 0o022:
            raise Unreachable(
                f"{path} could have been written by someone else.",
                next=f"Remove it and start the node again; check who owns {path.parent}.",
            )
        data = file.read(_BYTES_MAX)
    return _parsed(data, path)


def _parsed(data: bytes, path: Path) -> Control:
    damaged = Unreachable(f"{path} is damaged.", next="Start the node again.")
    try:
        value: Any = json.loads(data)
        return Control(
            url=str(value["url"]),
            token=str(value["token"]),
            pid=int(value["pid"]),
            install_id=str(value["install_id"]),
            boot_id=str(value["boot_id"]),
            version=str(value["version"]),
        )
    except (ValueError, KeyError, TypeError):
        raise damaged from None
