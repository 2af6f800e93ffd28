"""The pages' JSDoc types hold, by TypeScript's checker over plain ES modules.

The checker and the libraries' declarations come from npm into a temporary folder, by pinned
version; nothing of them is kept. The libraries' versions are those of `vendor.lock`.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from hatch_build import VendorPackage, npm_runs, read_lock
from tests.tidy.tree import ROOT, walk

TYPESCRIPT: Final = "typescript@7.0.2"
NPM_MISSING: Final = "needs npm: apt-get install -y npm"
SETTINGS: Final = {
    "compilerOptions": {
        "allowJs": True,
        "checkJs": True,
        "strict": True,
        "noEmit": True,
        "noImplicitOverride": True,
        "target": "es2024",
        "module": "es2022",
        "moduleResolution": "bundler",
        "lib": ["es2024", "dom", "dom.iterable"],
        "types": [],
        "skipLibCheck": True,
    },
    "include": ["web/*.js"],
}


@pytest.mark.slow
def test_types_of_the_pages(tmp_path: Path) -> None:
    if not npm_runs(["npm"]):
        pytest.skip(NPM_MISSING)
    lay_out(tmp_path, read_lock(ROOT / "mesh/web/vendor.lock"))
    said = check(tmp_path)
    assert said == "", f"\n{said}"


@pytest.mark.slow
def test_a_planted_mistake_is_found(tmp_path: Path) -> None:
    if not npm_runs(["npm"]):
        pytest.skip(NPM_MISSING)
    lay_out(tmp_path, read_lock(ROOT / "mesh/web/vendor.lock"))
    planted = "/** @type {number} */\nexport const n = 'text';\n"
    (tmp_path / "web/planted.js").write_text(planted)
    assert "web/planted.js(2,14): error TS2322" in check(tmp_path)


def lay_out(folder: Path, packages: tuple[VendorPackage, ...]) -> None:
    """Copy our modules, install the checker, and put declarations beside the vendored files."""
    for path in walk("mesh/web"):
        target = folder / path.relative_to(ROOT / "mesh")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    (folder / "tsconfig.json").write_text(json.dumps(SETTINGS))
    (folder / "package.json").write_text('{"private": true}')
    wanted = [TYPESCRIPT, *(f"{package.name}@{package.version}" for package in packages)]
    subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-save", *wanted],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    for package in packages:
        for file in package.files:
            if file.path.endswith(".js"):
                lay_down(folder, package.name, file.source, file.path)


def lay_down(folder: Path, package: str, source: str, path: str) -> None:
    """Put the declarations of one vendored file where its module would lie."""
    target = folder / "web/vendor" / package / path
    target.parent.mkdir(parents=True, exist_ok=True)
    installed = folder / "node_modules" / package / source
    declared = installed.with_suffix(".d.ts")
    if not declared.exists():  # marked ships one declaration for both of its builds.
        declared = installed.with_name(f"{package}.d.ts")
    shutil.copy(declared, target.with_suffix(".d.ts"))


def check(folder: Path) -> str:
    """What the checker says; nothing when all types hold."""
    done = subprocess.run(
        [folder / "node_modules/.bin/tsc", "--project", "tsconfig.json", "--pretty", "false"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr
