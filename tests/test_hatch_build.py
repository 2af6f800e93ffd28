"""The build hook takes what the lock lists, and stops at the first difference.

npm is played by a script that lays down an archive made here, so that no network is needed; the
wheel test and every installation run the real one.
"""

import io
import os
import shlex
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from hatch_build import (
    VendorFile,
    VendorMismatch,
    VendorPackage,
    fill,
    find_npm,
    is_filled,
    npm_runs,
    read_lock,
    sri,
)
from tests.tidy.tree import ROOT

MODULE = b"export const here = 1;\n"
LICENCE = b"Copyright, with permission.\n"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An npm archive with a module, a licence and a file that nobody asked for."""
    path = tmp_path / "thing-1.0.0.tgz"
    with tarfile.open(path, "w:gz") as made:
        for name, content in (
            ("package/lib/thing.js", MODULE),
            ("package/LICENSE", LICENCE),
            ("package/unasked.js", b"alert(1)\n"),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture
def package(archive: Path) -> VendorPackage:
    """The lock's words about that archive."""
    return VendorPackage(
        name="thing",
        version="1.0.0",
        integrity=sri(archive.read_bytes()),
        files=(
            VendorFile(source="lib/thing.js", path="thing.js", integrity=sri(MODULE)),
            VendorFile(source="LICENSE", path="LICENSE", integrity=sri(LICENCE)),
        ),
    )


@pytest.fixture
def npm(tmp_path: Path, archive: Path) -> list[str]:
    """A command that answers `pack NAME --ignore-scripts --pack-destination DIR` as npm does."""
    script = tmp_path / "npm"
    script.write_text(f'#!/bin/sh\ncp {shlex.quote(str(archive))} "$5"\n')
    script.chmod(0o755)
    return ["/bin/sh", str(script)]


def test_it_takes_the_listed_files_and_no_other(
    tmp_path: Path, package: VendorPackage, npm: list[str]
) -> None:
    vendor = tmp_path / "web/vendor"
    assert not is_filled(vendor, (package,))
    fill(vendor, (package,), npm=npm)
    assert is_filled(vendor, (package,))
    assert (vendor / "thing/thing.js").read_bytes() == MODULE
    assert [path.name for path in (tmp_path / "web").iterdir()] == ["vendor"]


def test_what_lay_there_before_is_gone(
    tmp_path: Path, package: VendorPackage, npm: list[str]
) -> None:
    vendor = tmp_path / "vendor"
    (vendor / "thing").mkdir(parents=True)
    (vendor / "thing/stale.js").write_text("old")
    fill(vendor, (package,), npm=npm)
    assert not (vendor / "thing/stale.js").exists()


def test_another_archive_is_refused(
    tmp_path: Path, package: VendorPackage, npm: list[str]
) -> None:
    with pytest.raises(VendorMismatch, match="the archive is"):
        fill(tmp_path / "vendor", (replace(package, integrity=sri(b"other")),), npm=npm)
    assert not (tmp_path / "vendor").exists()


def test_another_file_is_refused(tmp_path: Path, package: VendorPackage, npm: list[str]) -> None:
    wrong = replace(package.files[0], integrity=sri(b"other"))
    with pytest.raises(VendorMismatch, match="another digest"):
        fill(tmp_path / "vendor", (replace(package, files=(wrong,)),), npm=npm)


def test_a_changed_or_extra_file_is_noticed(
    tmp_path: Path, package: VendorPackage, npm: list[str]
) -> None:
    fill(tmp_path / "vendor", (package,), npm=npm)
    module = tmp_path / "vendor/thing/thing.js"
    module.write_bytes(MODULE + b" ")
    assert not is_filled(tmp_path / "vendor", (package,))
    module.write_bytes(MODULE)
    (tmp_path / "vendor/more.js").write_text("")
    assert not is_filled(tmp_path / "vendor", (package,))


def test_npm_failing_says_why(tmp_path: Path, package: VendorPackage) -> None:
    with pytest.raises(RuntimeError, match=r"npm pack thing@1\.0\.0 failed"):
        fill(tmp_path / "vendor", (package,), npm=[sys.executable, "-c", "exit(1)"])


def test_no_npm_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not npm_runs(["npm"])
    with pytest.raises(RuntimeError, match="Install npm"):
        find_npm()


def test_a_shim_that_fails_is_no_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = tmp_path / "npm"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert not npm_runs(["npm"])


def test_the_lock_names_licences_and_no_unsafe_directive() -> None:
    for package in read_lock(ROOT / "mesh/web/vendor.lock"):
        paths = [file.path for file in package.files]
        assert "LICENSE" in paths, package.name
        assert not [path for path in paths if "unsafe" in path]
