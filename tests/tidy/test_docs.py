"""What people rely on is documented: modules, promises, methods, commands, settings, reasons.

The registries are read from the product itself, so a new method without a line in docs fails
here. A package that exists without its registry fails too: the check must not fall silent.
"""

import ast
import importlib
import itertools
import re
from collections.abc import Iterator
from typing import Any, Final

import click
import pytest

from tests.tidy.tree import PACKAGES, ROOT, File, assert_clean, files, sources

# Where other people's code begins, every public thing carries its contract.
CONTRACTS: Final = ("mesh/core/", "mesh/client/", "mesh/ports.py")
CODE_SPAN: Final = re.compile(r"`([^`\n]+)`")
TREE_LINE: Final = re.compile(r"^(?P<before>[ |+`-]*)(?P<name>[A-Z]\w+)(?:\s{2,}.*)?$")


def docs() -> str:
    """Everything a reader of the project is given, as one text."""
    return "\n".join(file.text for file in files("README.md", "docs", suffixes=(".md",)))


def registry(module: str, name: str, *, package: str) -> Any:
    """A registry of the product; the test is skipped until its package exists.

    Raises AssertionError when the package is there and the registry is not.
    """
    here = ROOT / package
    if not here.exists():
        pytest.skip(f"{package} is not built yet")
    try:
        return getattr(importlib.import_module(module), name)
    except (ModuleNotFoundError, AttributeError) as error:
        raise AssertionError(f"{package} exists, but {module}.{name} does not: {error}") from error


def without_docstring(file: File) -> Iterator[str]:
    """The file, if it does not say what it is."""
    if not ast.get_docstring(file.tree):
        yield "1: no module docstring: what it is, why it exists, what it refuses"


def without_contract(file: File) -> Iterator[str]:
    """Public classes and functions, methods included, without a docstring."""
    yield from undocumented(file.tree)


def undocumented(scope: ast.Module | ast.ClassDef) -> Iterator[str]:
    """Public definitions without a docstring, directly in a module or in its public classes."""
    for node in scope.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_") or is_overload(node):
            continue
        if not ast.get_docstring(node):
            yield f"{node.lineno}: {node.name} has no docstring"
        if isinstance(node, ast.ClassDef):
            yield from undocumented(node)


def is_overload(node: ast.AST) -> bool:
    """Whether the definition only repeats another one's name: an overload or a setter."""
    marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", [])]
    return any(mark.endswith(("overload", ".setter")) for mark in marks)


def drawn_tree(text: str) -> dict[str, str]:
    """Class -> parent, as a module docstring draws them: one a line, deeper to the right.

    Only lines that hang on a drawn branch count, and the root above them.
    """
    parents: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        found = TREE_LINE.match(line)
        if found is None:
            above = []
            continue
        column = found.start("name")
        above = [(place, name) for place, name in above if place < column]
        if above and "+--" in found["before"]:
            parents[found["name"]] = above[-1][1]
        above.append((column, found["name"]))
    return parents


def tree_differs(file: File) -> Iterator[str]:
    """Where the tree drawn in an `errors.py` is not the tree of its classes."""
    drawn = drawn_tree(ast.get_docstring(file.tree) or "")
    bases = {
        node.name: [ast.unparse(base) for base in node.bases]
        for node in file.tree.body
        if isinstance(node, ast.ClassDef)
    }
    raised = {name for name in bases if bases[name] and bases[name][0] in (*bases, "Exception")}
    roots = {name for name in raised if bases[name][0] == "Exception"}
    for name in sorted(raised - roots - drawn.keys()):
        yield f"1: {name} is not in the tree of the docstring"
    for name, parent in drawn.items():
        if name not in bases:
            yield f"1: the docstring draws {name}, which does not exist"
        elif parent not in bases[name]:
            yield f"1: the docstring hangs {name} under {parent}; it derives from {bases[name]}"


def documented_commands(text: str) -> set[str]:
    """The commands that code spans name; `room create\\|list` names two."""
    begins = text.find("## The command")
    ends = text.find("\n## ", begins + 1)
    section = text[begins:ends] if begins >= 0 else ""
    spans = [span for span in CODE_SPAN.findall(text) if span.startswith("roommesh ")]
    found: set[str] = set()
    for span in [*CODE_SPAN.findall(section), *spans]:
        words = span.removeprefix("roommesh ").replace("\\|", "|").split()
        plain = list(itertools.takewhile(lambda word: re.fullmatch(r"[a-z|-]+", word), words))
        choices = [word.split("|") for word in plain]
        for length in range(1, len(choices) + 1):
            found |= {" ".join(chosen) for chosen in itertools.product(*choices[:length])}
    return found


def documented_methods(text: str) -> set[str]:
    """The methods that have a row of their own in a table headed `method`."""
    tables = re.findall(r"^\| method \|.*\n((?:\|.*\n?)+)", text, re.MULTILINE)
    return set(re.findall(r"^\| `([\w.]+)` \|", "\n".join(tables), re.MULTILINE))


def commands_of(group: Any, before: str = "") -> Iterator[str]:
    """The commands of a click group, each with the words before it; hidden ones left out."""
    context = click.Context(group)
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        assert command is not None, f"{name} is listed and not there"
        if command.hidden:
            continue
        whole = f"{before} {name}".strip()
        if isinstance(command, click.Group):
            yield from commands_of(command, whole)
        else:
            yield whole


def unmentioned(names: list[str], text: str) -> list[str]:
    """The names that no code span of the text begins with."""
    spans = {re.split(r"[\s({=:]", span)[0] for span in CODE_SPAN.findall(text)}
    return [name for name in names if name not in spans]


def test_every_module_says_what_it_is() -> None:
    assert_clean(without_docstring, files(*PACKAGES, "tests", "hatch_build.py"))


def test_contracts_are_written() -> None:
    assert_clean(without_contract, [f for f in sources() if f.path.startswith(CONTRACTS)])


def test_error_trees_are_drawn_as_they_are() -> None:
    assert_clean(tree_differs, [f for f in sources() if f.path.endswith("/errors.py")])


def test_every_method_is_documented() -> None:
    methods = registry("mesh.rpc.registry", "METHODS", package="mesh/rpc")
    for file in files("mesh/rpc"):  # A method registers itself when its file is imported.
        importlib.import_module(file.module)
    surface = (ROOT / "docs/surface.md").read_text("utf-8")
    assert methods, "no method is registered"
    assert unmentioned(sorted(methods), surface) == []
    assert sorted(documented_methods(surface) - methods.keys()) == []


def test_every_reason_is_documented() -> None:
    reasons = registry("mesh.core.errors", "REASONS", package="mesh/core")
    table = (ROOT / "docs/reasons.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", table, re.MULTILINE))
    assert rows == {name: str(reason.status) for name, reason in sorted(reasons.items())}


def test_every_command_is_documented() -> None:
    main = registry("mesh.cli.main", "command", package="mesh/cli")
    commands = list(commands_of(main))
    assert commands
    assert sorted(set(commands) - documented_commands(docs())) == []


def test_every_setting_is_documented() -> None:
    settings = registry("mesh.config", "SETTINGS", package="mesh/config.py")
    table = (ROOT / "docs/settings.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", table, re.MULTILINE)
    assert rows == [(setting.name, setting.variable) for setting in settings]


def test_the_readme_leads_somewhere() -> None:
    spans = CODE_SPAN.findall((ROOT / "README.md").read_text("utf-8"))
    named = {span for span in spans if span.startswith("docs/")}
    assert named
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_a_planted_command_is_found() -> None:
    group = click.Group(commands={"room": click.Group(commands={"list": click.Command("list")})})
    assert list(commands_of(group)) == ["room list"]
    assert "room list" not in documented_commands("## The command\n`room show`\n")
    assert unmentioned(["listen"], "use listen") == ["listen"]


def test_planted_gaps_are_found() -> None:
    text = "class A:\n    def b(self): ...\n    def _c(self): ...\n"
    bare = File(path="mesh/core/x.py", text=text)
    assert list(without_docstring(bare))
    assert [words.split(": ")[1].split()[0] for words in without_contract(bare)] == ["A", "b"]
    assert unmentioned(["a.b", "c.d"], "| `a.b` | and `c` |") == ["c.d"]
    assert documented_methods("| method | x |\n|---|\n| `a.b` | |\n\n| `c.d` | |") == {"a.b"}
    assert documented_commands("## The command\n`room a\\|b [--x]` `up`\n") == {
        "room", "room a", "room b", "up"
    }


def test_a_planted_error_without_its_branch_is_found() -> None:
    text = (
        '"""Errors.\n\n    Root         all\n    +-- One      x\n    |   +-- Two  y\n'
        '    +-- Gone     z\n"""\nclass Root(Exception): ...\nclass One(Root): ...\n'
        "class Two(Root): ...\nclass Three(One): ...\n"
    )
    said = list(tree_differs(File(path="x/errors.py", text=text)))
    assert [words.split()[1] for words in said] == ["Three", "the", "the"]
