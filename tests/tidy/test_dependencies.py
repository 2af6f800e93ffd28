"""What the product imports is what the distribution asks for: nothing less, nothing more."""

import re
import sys
import tomllib
from collections.abc import Iterator
from typing import Final

from tests.tidy.tree import PACKAGES, ROOT, File, assert_clean, imports, sources

# import name -> distribution, where they differ
DISTRIBUTION: Final = {"nacl": "pynacl", "prometheus_client": "prometheus-client"}


def declared() -> set[str]:
    """The distributions that `pyproject.toml` asks for, extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project.get("optional-dependencies", {}).values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    return {re.split(r"[\s\[<>=!~;]", line)[0].lower() for line in lines}


def foreign(file: File) -> Iterator[tuple[int, str]]:
    """Line and distribution of what the file imports from others."""
    for line, name in imports(file):
        top = name.split(".")[0]
        if top not in sys.stdlib_module_names and top not in PACKAGES:
            yield line, DISTRIBUTION.get(top, top)


def undeclared(file: File) -> Iterator[str]:
    """Imports that an installation would lack."""
    known = declared()
    for line, distribution in foreign(file):
        if distribution not in known:
            yield f"{line}: {distribution} is imported and not in pyproject.toml"


def test_what_is_imported_is_declared() -> None:
    assert_clean(undeclared, sources())


def test_what_is_declared_is_imported() -> None:
    used = {distribution for file in sources() for _, distribution in foreign(file)}
    assert sorted(declared() - used) == []


def test_a_planted_import_is_found() -> None:
    planted = File(path="mesh/x.py", text="import aiohttp\nimport requests\nimport nacl.signing\n")
    assert [words.split(":")[0] for words in undeclared(planted)] == ["2"]
