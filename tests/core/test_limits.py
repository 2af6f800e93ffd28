"""Limits: all of them numbers above nothing, their relations asserted where they stand."""

import ast
import importlib
from pathlib import Path

import pytest

from mesh.core import limits

NAMES = [name for name in vars(limits) if name.isupper()]


def test_a_limit_is_a_number_above_nothing() -> None:
    for name in NAMES:
        value = getattr(limits, name)
        assert type(value) in (int, float) and value > 0, name
        assert type(value) is int or name.endswith("_S"), f"{name}: only seconds have fractions"


def test_a_relation_that_does_not_hold_stops_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(str(limits.__file__)).read_text("utf-8")
    tree = ast.parse(source)
    relations = [node for node in tree.body if isinstance(node, ast.Assert)]
    assert len(relations) >= 10
    for relation in relations:
        named = {n.id for n in ast.walk(relation) if isinstance(n, ast.Name)}
        assert named <= set(NAMES), ast.unparse(relation)
    broken = source.replace("BUDGET_PER_ROOT: Final = 8", "BUDGET_PER_ROOT: Final = 80")
    assert broken != source
    with pytest.raises(AssertionError):
        exec(compile(broken, "limits", "exec"), {})
    importlib.import_module("mesh.core.limits")
