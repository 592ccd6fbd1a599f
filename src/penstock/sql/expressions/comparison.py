"""Comparisons. With a NULL on either side they are false, as in ksqlDB, not unknown."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    MapType,
    SqlType,
    StructType,
    is_numeric,
    merge,
)
from penstock.model.time.calendar import parse_timestamp
from penstock.sql.ast import expressions as ast
from penstock.sql.expressions.arithmetic import converted
from penstock.sql.expressions.literals import constant
from penstock.sql.expressions.scope import Compiled, CompileNode, Evaluate, Row, Scope
from penstock.sql.syntax.format_expression import format_expression

Compare = Callable[[Any, Any], bool]

_COMPARES: dict[str, Compare] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EQUALITY = frozenset(("=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"))
_TIME_COLUMNS = frozenset(("ROWTIME", "WINDOWSTART", "WINDOWEND"))
_ORDERED: frozenset[SqlType] = frozenset((STRING, BYTES, DATE, TIME, TIMESTAMP))


def compile_comparison(node: ast.Comparison, scope: Scope, compile_node: CompileNode) -> Compiled:
    left, right = compile_node(node.left, scope), compile_node(node.right, scope)
    return compare(node, left, right)


def compare(node: ast.Comparison, left: Compiled, right: Compiled) -> Compiled:
    """Return the comparison of two compiled sides."""
    a, b = comparable(
        node,
        node.operator,
        _as_time(node.left, left, node.right, right),
        _as_time(node.right, right, node.left, left),
    )
    if node.operator in _COMPARES:
        return Compiled(BOOLEAN, _null_is_false(_COMPARES[node.operator], a, b))
    return Compiled(BOOLEAN, _distinct(a, b, wanted=node.operator == "IS DISTINCT FROM"))


def compile_between(node: ast.Between, scope: Scope, compile_node: CompileNode) -> Compiled:
    value = compile_node(node.value, scope)
    low, high = compile_node(node.low, scope), compile_node(node.high, scope)
    lowest = ast.Comparison(">=", node.value, node.low, span=node.span)
    highest = ast.Comparison("<=", node.value, node.high, span=node.span)
    at_least = compare(lowest, value, low).evaluate
    at_most = compare(highest, value, high).evaluate
    if node.negated:
        return Compiled(BOOLEAN, lambda row: not (at_least(row) and at_most(row)))
    return Compiled(BOOLEAN, lambda row: at_least(row) and at_most(row))


def _as_time(
    node: ast.Expression, compiled: Compiled, other: ast.Expression, other_compiled: Compiled
) -> Compiled:
    # ROWTIME and the window bounds are BIGINTs, but can be compared with ISO text.
    if (
        isinstance(node, ast.StringLiteral)
        and isinstance(other, ast.ColumnRef)
        and other.name in _TIME_COLUMNS
        and other_compiled.type == BIGINT
    ):
        try:
            return constant(BIGINT, parse_timestamp(node.value))
        except ValueError as error:
            raise SqlTypeError("bad-timestamp", str(error), span=node.span) from None
    return compiled


def comparable(
    node: ast.Expression, operator_: str, left: Compiled, right: Compiled
) -> tuple[Evaluate, Evaluate]:
    """Return both sides converted to the type they are compared in."""
    target = _comparison_type(operator_, left.type, right.type)
    if target is None:
        sides = f"{left.type or 'NULL'} and {right.type or 'NULL'}"
        raise SqlTypeError(
            "cannot-compare",
            f"{sides} cannot be compared with {operator_}: {format_expression(node)}",
            fix="use IS NULL" if None in (left.type, right.type) else "CAST one side",
            span=node.span,
        )
    return converted(left, target), converted(right, target)


def _comparison_type(operator_: str, left: SqlType | None, right: SqlType | None) -> SqlType | None:
    if left is None or right is None:
        return None
    if is_numeric(left) and is_numeric(right):
        # Exact numbers are compared as they are; if one is a DOUBLE, both become DOUBLEs.
        return DOUBLE if DOUBLE in (left, right) else merge(left, right)
    if left == right:
        return left if left in _ORDERED or operator_ in _EQUALITY else None
    if STRING in (left, right) or {left, right} == {DATE, TIMESTAMP}:
        other = left if right == STRING else right
        if {left, right} == {DATE, TIMESTAMP}:
            return TIMESTAMP
        return other if other in (DATE, TIME, TIMESTAMP) else None
    if operator_ in _EQUALITY and isinstance(left, ArrayType | MapType | StructType):
        try:
            return merge(left, right)
        except SqlTypeError:
            return None
    return None


def _null_is_false(compare: Compare, left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(row: Row) -> bool:
        a = left(row)
        if a is None:
            return False
        b = right(row)
        return False if b is None else compare(a, b)

    return evaluate


def _distinct(left: Evaluate, right: Evaluate, *, wanted: bool) -> Evaluate:
    def evaluate(row: Row) -> bool:
        a, b = left(row), right(row)
        differs = (a is None) != (b is None) if a is None or b is None else a != b
        return bool(differs) is wanted

    return evaluate
