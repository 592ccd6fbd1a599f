"""CASE in both forms; only the branch that applies is evaluated."""

from __future__ import annotations

from typing import Any

from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import BOOLEAN, SqlType, merge
from penstock.sql.ast import expressions as ast
from penstock.sql.expressions.arithmetic import converted
from penstock.sql.expressions.comparison import compare
from penstock.sql.expressions.scope import Compiled, CompileNode, Row, Scope
from penstock.sql.syntax.format_expression import format_expression


def compile_case(node: ast.Case, scope: Scope, compile_node: CompileNode) -> Compiled:
    operand = compile_node(node.operand, scope) if node.operand is not None else None
    conditions = [_condition(node, when, operand, scope, compile_node) for when in node.whens]
    results = [compile_node(when.result, scope) for when in node.whens]
    default = compile_node(node.default or ast.NullLiteral(), scope)
    type_ = _result_type(node, [*results, default])
    branches = [
        (condition.evaluate, converted(result, type_))
        for condition, result in zip(conditions, results, strict=True)
    ]
    otherwise = converted(default, type_)

    def evaluate(row: Row) -> Any:
        for condition, result in branches:
            if condition(row) is True:
                return result(row)
        return otherwise(row)

    return Compiled(type_, evaluate)


def _condition(
    node: ast.Case,
    when: ast.When,
    operand: Compiled | None,
    scope: Scope,
    compile_node: CompileNode,
) -> Compiled:
    compiled = compile_node(when.condition, scope)
    if node.operand is not None and operand is not None:
        comparison = ast.Comparison("=", node.operand, when.condition, span=when.span)
        return compare(comparison, operand, compiled)
    if compiled.type != BOOLEAN:
        raise SqlTypeError(
            "condition-not-boolean",
            f"WHEN takes a BOOLEAN, {format_expression(when.condition)}"
            f" is {compiled.type or 'NULL'}",
            span=when.span,
        )
    return compiled


def _result_type(node: ast.Case, results: list[Compiled]) -> SqlType:
    known: SqlType | None = None
    for result in results:
        if known is None or result.type is None:
            known = known or result.type
            continue
        try:
            known = merge(known, result.type)
        except SqlTypeError:
            raise SqlTypeError(
                "mixed-case-types",
                f"branches of CASE have types {known} and {result.type}",
                fix="CAST the results to one type",
                span=node.span,
            ) from None
    if known is None:
        raise SqlTypeError(
            "unknown-null-type",
            "every branch of CASE is NULL, so its type is unknown",
            fix="CAST one NULL to a type",
            span=node.span,
        )
    return known
