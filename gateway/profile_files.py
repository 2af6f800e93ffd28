"""The profiles directory: one folder per profile, with its `profile.toml` and its `state/`.

Why: what an operator writes by hand and what the node writes must be one file, whole at any
moment. Writing is atomic (a new file, synced, then renamed over the old one), and private to the
operator, since a profile says where keys lie.

It refuses to read a file beyond the limit, and to delete what it did not write: removing a
profile leaves an operator's own files in the folder.
"""

import os
import shutil
import tomllib
from pathlib import Path

from gateway.errors import ProfileInvalid, ProfileMissing, ProfileUnwritable
from gateway.limits import PROFILE_FILE_BYTES_MAX
from gateway.profile import NAME, ProfileConfig

FILE_NAME = "profile.toml"


class ProfileFiles:
    """The files of all profiles under one directory, which is made when it is first needed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def names(self) -> tuple[str, ...]:
        """The folders that hold a `profile.toml`, sorted; also those whose name is not valid."""
        return tuple(sorted(path.parent.name for path in self._directory.glob(f"*/{FILE_NAME}")))

    def folder(self, name: str) -> Path:
        """The folder of the profile `name`."""
        return self._directory / name

    def read(self, name: str) -> ProfileConfig:
        """The profile as its file says. Raises ProfileInvalid, ProfileMissing."""
        if not NAME.fullmatch(name):
            raise ProfileInvalid(name, f"the folder's name does not match {NAME.pattern}")
        path = self.folder(name) / FILE_NAME
        try:
            with path.open("rb") as file:
                content = file.read(PROFILE_FILE_BYTES_MAX + 1)
        except FileNotFoundError:
            raise ProfileMissing(name) from None
        except OSError as error:
            raise ProfileInvalid(FILE_NAME, f"cannot be read: {error.strerror}") from error
        if len(content) > PROFILE_FILE_BYTES_MAX:
            raise ProfileInvalid(FILE_NAME, f"is larger than {PROFILE_FILE_BYTES_MAX} bytes")
        try:
            raw = tomllib.loads(content.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ProfileInvalid(FILE_NAME, f"is not TOML: {error}") from None
        config = ProfileConfig.parse(raw)
        if config.name != name:
            raise ProfileInvalid("name", f"must be {name!r}, as the folder is called")
        return config

    def write(self, config: ProfileConfig) -> None:
        """Store it; a crash leaves the old file or the new one. Raises ProfileUnwritable."""
        folder = self.folder(config.name)
        draft = folder / f".{FILE_NAME}.new"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(config.to_toml())
                file.flush()
                os.fsync(file.fileno())
            draft.replace(folder / FILE_NAME)
            _keep_rename(folder)
        except OSError as error:
            raise ProfileUnwritable(config.name, error.strerror or str(error)) from error

    def delete(self, name: str) -> None:
        """Remove its file and state; an operator's own files stay. Raises ProfileUnwritable."""
        assert "/" not in name, "a folder here, and none elsewhere"
        folder = self.folder(name)
        try:
            (folder / FILE_NAME).unlink(missing_ok=True)
            if (folder / "state").exists():
                shutil.rmtree(folder / "state")
            if not any(folder.iterdir()):
                folder.rmdir()
        except OSError as error:
            raise ProfileUnwritable(name, error.strerror or str(error)) from error


def _keep_rename(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
