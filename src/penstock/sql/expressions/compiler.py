"""Dispatches each kind of expression to the module that compiles it."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from penstock.model.sql.errors import AnalysisError, SqlTypeError
from penstock.model.sql.types import BOOLEAN, SqlType
from penstock.sql.ast import expressions as ast
from penstock.sql.expressions import (
    access,
    arithmetic,
    calls,
    cases,
    comparison,
    constructors,
    intervals,
    literals,
    predicates,
)
from penstock.sql.expressions.scope import Compiled, CompileNode, Row, Scope
from penstock.sql.syntax.format_expression import format_expression


def compile_expression(node: ast.Expression, scope: Scope) -> Compiled:
    """Resolve, check and compile an expression over the columns of ``scope``.

    If an evaluation fails, the compiled function logs the error and returns None, as ksqlDB does.

    Raises:
        AnalysisError: a name does not exist or a type does not fit, with the span at fault.
    """
    try:
        inner = compile_node(node, scope)
    except RecursionError:
        raise AnalysisError(
            "nested-too-deeply", "the expression is nested too deeply", span=node.span
        ) from None
    return guarded(node, inner, scope)


def compile_condition(node: ast.Expression, scope: Scope, clause: str = "WHERE") -> Compiled:
    """Compile a condition of WHERE, HAVING or ON; NULL and failures count as false."""
    compiled = compile_expression(node, scope)
    if compiled.type != BOOLEAN:
        raise SqlTypeError(
            "condition-not-boolean",
            f"{clause} takes a BOOLEAN, {format_expression(node)} is {compiled.type or 'NULL'}",
            span=node.span,
        )
    evaluate = compiled.evaluate
    return Compiled(BOOLEAN, lambda row: evaluate(row) is True)


def guarded(node: ast.Expression, compiled: Compiled, scope: Scope) -> Compiled:
    """Wrap an evaluation so that an error is logged and the value is NULL."""
    evaluate, log = compiled.evaluate, scope.log
    text: list[str] = []

    def safe(row: Row) -> Any:
        try:
            return evaluate(row)
        # A bad value or an error in a user's function must not stop the query.
        except Exception as error:  # noqa: BLE001
            if not text:
                text.append(format_expression(node))
            log(text[0], error, row)
            return None

    return Compiled(compiled.type, safe)


def compile_node(node: ast.Expression, scope: Scope, hint: SqlType | None = None) -> Compiled:
    """Compile without the guard; ``hint`` is the type wanted from a constructor's literals."""
    if isinstance(node, ast.ColumnRef):
        index, type_ = scope.find(node)
        return Compiled(type_, itemgetter(index))
    if isinstance(node, ast.CreateArray | ast.CreateMap | ast.CreateStruct):
        return constructors.compile_constructor(node, scope, compile_node, hint)
    return _COMPILERS[type(node)](node, scope, compile_node)


def _refuse_over(node: ast.Over, _: Scope, __: CompileNode) -> Compiled:
    raise AnalysisError(
        "misplaced-over",
        f"{format_expression(node)} can only stand in the SELECT of a query without GROUP BY",
        fix="give it a name in an inner query: FROM (SELECT ..., ... OVER (...) AS n FROM s) q",
        span=node.span,
    )


def _refuse_query(node: ast.InQuery | ast.Exists, _: Scope, __: CompileNode) -> Compiled:
    raise AnalysisError(
        "misplaced-subquery",
        "IN (SELECT ...) and EXISTS can only stand in WHERE, with AND, OR, and NOT before EXISTS",
        fix="put the query into FROM and join with it",
        span=node.span,
    )


_COMPILERS: dict[type, Callable[..., Compiled]] = {
    ast.NullLiteral: literals.compile_literal,
    ast.BooleanLiteral: literals.compile_literal,
    ast.IntegerLiteral: literals.compile_literal,
    ast.DecimalLiteral: literals.compile_literal,
    ast.DoubleLiteral: literals.compile_literal,
    ast.StringLiteral: literals.compile_literal,
    ast.TypedLiteral: literals.compile_literal,
    ast.IntervalLiteral: intervals.refuse_interval,
    ast.Binary: arithmetic.compile_binary,
    ast.Unary: arithmetic.compile_unary,
    ast.Comparison: comparison.compile_comparison,
    ast.Between: comparison.compile_between,
    ast.And: predicates.compile_and,
    ast.Or: predicates.compile_or,
    ast.Not: predicates.compile_not,
    ast.IsNull: predicates.compile_is_null,
    ast.Like: predicates.compile_like,
    ast.In: predicates.compile_in,
    ast.Case: cases.compile_case,
    ast.Cast: access.compile_cast,
    ast.AtTimeZone: access.compile_at_time_zone,
    ast.Dereference: access.compile_dereference,
    ast.Subscript: access.compile_subscript,
    ast.FunctionCall: calls.compile_call,
    ast.Over: _refuse_over,
    ast.InQuery: _refuse_query,
    ast.Exists: _refuse_query,
}
