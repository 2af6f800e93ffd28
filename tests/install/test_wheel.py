"""The wheel carries everything the node needs, and nothing that somebody did not agree to.

It is built once, as a release would be, then opened as a zip file.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hatch_build import read_lock, sri
from tests.tidy.tree import PACKAGES, ROOT

pytestmark = pytest.mark.slow
VENDOR = "mesh/web/vendor/"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The built wheel, open."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
         "--wheel-dir", str(folder), str(ROOT)],
        check=True,
    )
    (built,) = folder.glob("roommesh-*.whl")
    return zipfile.ZipFile(built)


def test_vendored_files_have_their_locked_digests(wheel: zipfile.ZipFile) -> None:
    wanted = {
        f"{VENDOR}{package.name}/{file.path}": file.integrity
        for package in read_lock(ROOT / "mesh/web/vendor.lock")
        for file in package.files
    }
    found = {name: sri(wheel.read(name)) for name in wheel.namelist() if name.startswith(VENDOR)}
    assert found == wanted


def test_each_vendored_package_brings_its_licence(wheel: zipfile.ZipFile) -> None:
    packages = read_lock(ROOT / "mesh/web/vendor.lock")
    assert packages
    for package in packages:
        text = wheel.read(f"{VENDOR}{package.name}/LICENSE").decode("utf-8")
        assert "Copyright" in text, package.name


def test_our_own_licence_and_command_are_there(wheel: zipfile.ZipFile) -> None:
    (licence,) = (name for name in wheel.namelist() if name.endswith("licenses/LICENSE"))
    assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()
    (points,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "roommesh = mesh.cli.main:main" in wheel.read(points).decode("utf-8")


def test_only_the_three_packages_are_inside(wheel: zipfile.ZipFile) -> None:
    tops = {Path(name).parts[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


def test_every_source_file_is_inside(wheel: zipfile.ZipFile) -> None:
    ours = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert ours - set(wheel.namelist()) == set()
