"""AND, OR, NOT, IS NULL, LIKE and IN."""

from __future__ import annotations

from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import BOOLEAN, STRING, SqlType
from penstock.sql.ast import expressions as ast
from penstock.sql.ast.chains import chain
from penstock.sql.expressions.coercion import coerce_list
from penstock.sql.expressions.like import like_pattern
from penstock.sql.expressions.scope import Compiled, CompileNode, Evaluate, Row, Scope
from penstock.sql.syntax.format_expression import format_expression


def compile_and(node: ast.And, scope: Scope, compile_node: CompileNode) -> Compiled:
    parts = [_boolean(part, scope, compile_node) for part in chain(node)]

    def evaluate(row: Row) -> bool | None:
        result: bool | None = True
        for part in parts:
            value = part(row)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    return Compiled(BOOLEAN, evaluate)


def compile_or(node: ast.Or, scope: Scope, compile_node: CompileNode) -> Compiled:
    parts = [_boolean(part, scope, compile_node) for part in chain(node)]

    def evaluate(row: Row) -> bool | None:
        result: bool | None = False
        for part in parts:
            value = part(row)
            if value is True:
                return True
            if value is None:
                result = None
        return result

    return Compiled(BOOLEAN, evaluate)


def compile_not(node: ast.Not, scope: Scope, compile_node: CompileNode) -> Compiled:
    operand = _boolean(node.operand, scope, compile_node)

    def evaluate(row: Row) -> bool | None:
        value = operand(row)
        return None if value is None else not value

    return Compiled(BOOLEAN, evaluate)


def compile_is_null(node: ast.IsNull, scope: Scope, compile_node: CompileNode) -> Compiled:
    evaluate = compile_node(node.value, scope).evaluate
    if node.negated:
        return Compiled(BOOLEAN, lambda row: evaluate(row) is not None)
    return Compiled(BOOLEAN, lambda row: evaluate(row) is None)


def compile_like(node: ast.Like, scope: Scope, compile_node: CompileNode) -> Compiled:
    value = _typed(node.value, STRING, scope, compile_node)
    pattern = _typed(node.pattern, STRING, scope, compile_node)
    escape, negated = node.escape, node.negated

    def evaluate(row: Row) -> bool | None:
        text, wanted = value(row), pattern(row)
        if text is None or wanted is None:
            return None
        return like_pattern(wanted, escape).fits(text) is not negated

    return Compiled(BOOLEAN, evaluate)


def compile_in(node: ast.In, scope: Scope, compile_node: CompileNode) -> Compiled:
    nodes = (node.value, *node.items)
    _, (value, *items) = coerce_list(nodes, scope, compile_node, "IN")
    negated = node.negated

    def evaluate(row: Row) -> bool:
        wanted = value(row)
        # As in ksqlDB, NULL IN (...) is false, not NULL, so NULL NOT IN (...) is true.
        found = wanted is not None and any(item(row) == wanted for item in items)
        return found is not negated

    return Compiled(BOOLEAN, evaluate)


def _boolean(node: ast.Expression, scope: Scope, compile_node: CompileNode) -> Evaluate:
    return _typed(node, BOOLEAN, scope, compile_node)


def _typed(
    node: ast.Expression, wanted: SqlType, scope: Scope, compile_node: CompileNode
) -> Evaluate:
    compiled = compile_node(node, scope)
    if compiled.type not in (wanted, None):
        raise SqlTypeError(
            "wrong-type",
            f"{format_expression(node)} is {compiled.type}, {wanted} is wanted here",
            span=node.span,
        )
    return compiled.evaluate
