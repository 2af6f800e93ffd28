"""The repository as the tidy tests see it: its files, their text, their syntax trees.

Each check is a plain function from a file to complaints, so that its own test can show it a
planted fault. Files copied verbatim from elsewhere, and what a build puts here, are left out.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGES: Final = ("mesh", "gateway", "audio")
NOT_OURS: Final = ("tests/sim/model/", "mesh/web/vendor/")
NOT_WALKED: Final = ("__pycache__", "node_modules", "build", "dist")


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One text file: its path from the root, with slashes, and what it says."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of a Python file. Raises SyntaxError."""
        return parsed(self.text)

    @property
    def module(self) -> str:
        """The dotted name: `mesh/core/log.py` is `mesh.core.log`."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def parsed(text: str) -> ast.Module:
    """The syntax tree of a source text, made once."""
    return ast.parse(text)


def walk(*roots: str) -> Iterator[Path]:
    """All files under the roots that are ours and not made by a tool."""
    for root in roots:
        start = ROOT / root
        if start.is_file():
            yield start
        for path in sorted(start.rglob("*")):
            parts = path.relative_to(ROOT).parts
            name = path.relative_to(ROOT).as_posix()
            if not path.is_file() or any(p in NOT_WALKED or p[:1] == "." for p in parts[1:]):
                continue
            if not name.startswith(NOT_OURS):
                yield path


def files(*roots: str, suffixes: tuple[str, ...] = (".py",)) -> list[File]:
    """The files under the roots with one of the suffixes (an empty suffix: no suffix)."""
    return [
        File(path=path.relative_to(ROOT).as_posix(), text=path.read_text("utf-8"))
        for path in walk(*roots)
        if path.suffix in suffixes
    ]


def sources() -> list[File]:
    """The Python files of the three packages."""
    return files(*PACKAGES)


def all_text() -> list[File]:
    """Every text file of the repository."""
    top = tuple(path.name for path in ROOT.iterdir() if path.is_file() and is_ours(path))
    kinds = (".py", ".js", ".html", ".css", ".md", ".toml", ".yml", ".sh", ".sql", ".txt",
             ".json", ".svg", ".lock", ".fixture", "")
    return files(*PACKAGES, "tests", "docs", ".ci", *top, suffixes=kinds)


def is_ours(path: Path) -> bool:
    """Whether a file beside pyproject.toml belongs to the project."""
    return path.name in ("Makefile", "LICENSE", ".gitignore") or path.suffix in (
        ".py", ".toml", ".md", ".yml"
    )


def assert_clean(check: Callable[[File], Iterable[str]], found: Iterable[File]) -> None:
    """Fail with what the check says about the files, one `path:line: words` a line."""
    said = [f"{file.path}:{words}" for file in found for words in check(file)]
    assert not said, "\n" + "\n".join(said)


def imports(file: File) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything a Python file imports, wherever it does so."""
    package = file.module if file.path.endswith("__init__.py") else file.module.rpartition(".")[0]
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (above, node.module or "") if part)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
