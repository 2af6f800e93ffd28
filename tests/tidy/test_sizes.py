"""Files a reader can hold: 400 lines a file, 70 a function, 100 columns a line.

A function's docstring does not count: a contract may be as long as it must.
"""

import ast
from collections.abc import Iterator
from typing import Final

from tests.tidy.tree import File, assert_clean, files

FILE_LINES_MAX: Final = 400
FUNCTION_LINES_MAX: Final = 70
COLUMNS_MAX: Final = 100
# A digest cannot be broken over lines.
WIDE: Final = (".lock", ".json")


def too_long(file: File) -> Iterator[str]:
    """The file, if it has too many lines."""
    lines = file.text.count("\n")
    if lines > FILE_LINES_MAX:
        yield f"1: {lines} lines; split it along a noun of the vocabulary ({FILE_LINES_MAX})"


def too_wide(file: File) -> Iterator[str]:
    """Lines with too many columns."""
    for number, line in enumerate(file.text.splitlines(), 1):
        if len(line) > COLUMNS_MAX:
            yield f"{number}: {len(line)} columns ({COLUMNS_MAX})"


def long_functions(file: File) -> Iterator[str]:
    """Functions with too many lines beside their docstring."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1 - (text.count("\n") + 1 if text else 0)
            if lines > FUNCTION_LINES_MAX:
                yield f"{node.lineno}: {node.name} has {lines} lines ({FUNCTION_LINES_MAX})"


def code() -> list[File]:
    """Everything that is written as code."""
    kinds = (".py", ".js", ".css", ".html", ".sh", ".sql", ".yml")
    return files("mesh", "gateway", "audio", "tests", "hatch_build.py", suffixes=kinds)


def test_files_are_short() -> None:
    assert_clean(too_long, code())


def test_lines_are_narrow() -> None:
    named = files("Makefile", ".ci", "docker-compose.yml", suffixes=("", ".yml"))
    assert_clean(too_wide, [*code(), *named])


def test_functions_are_short() -> None:
    assert_clean(long_functions, [f for f in code() if f.path.endswith(".py")])


def test_planted_giants_are_found() -> None:
    body = "    x = 1\n" * 71
    giant = File(path="x.py", text="def f():\n" + body + "y" * 101 + "\n" * 400)
    assert [words.split(":")[0] for words in too_long(giant)] == ["1"]
    assert [words.split(":")[0] for words in too_wide(giant)] == ["73"]
    assert [words.split(":")[0] for words in long_functions(giant)] == ["1"]
