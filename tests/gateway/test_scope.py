"""Scopes: one table, closed on both sides."""

from gateway.scope import METHODS, TEXT_SCOPES, Scope, may_call, methods_of


def test_every_scope_opens_something_of_its_own() -> None:
    assert set(METHODS) == set(Scope)
    methods = [method for opened in METHODS.values() for method in opened]
    assert len(methods) == len(set(methods))


def test_a_method_needs_its_scope() -> None:
    assert may_call({Scope.DISPATCH}, "turn.dispatch")
    assert not may_call({Scope.STATUS, Scope.SPEAK}, "turn.dispatch")
    assert not may_call(set(Scope), "turn.delete")
    assert not may_call((), "turn.dispatch")


def test_text_needs_no_voice() -> None:
    assert methods_of(TEXT_SCOPES) == ("turn.dispatch", "turn.status", "turn.stop")
