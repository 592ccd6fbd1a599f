"""Checks of GROUP BY, HAVING and aggregates. Their plan: ``planner.grouping``."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.expressions import ColumnRef, Expression, FunctionCall, IntegerLiteral
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Query, SelectColumn
from penstock.sql.ast.walk import walk
from penstock.sql.catalog.schema import WINDOW_COLUMNS
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.syntax.format_expression import format_expression


def is_aggregate(node: Node, environment: Environment) -> TypeGuard[FunctionCall]:
    return isinstance(node, FunctionCall) and environment.functions.is_aggregate(node.name)


def selected(query: Query) -> list[Node]:
    roots: list[Node] = [i.expression for i in query.items if isinstance(i, SelectColumn)]
    if query.having is not None:
        roots.append(query.having)
    return [node for root in roots for node in walk(root)]


def in_one_group(query: Query, environment: Environment) -> Query:
    """Put all rows of a push query without GROUP BY into one group; it has no table with a key."""
    if any(is_aggregate(node, environment) for node in selected(query)):
        return replace(query, group_by=(IntegerLiteral(1),))
    return query


def refuse_without_group(query: Query, environment: Environment) -> None:
    for call in selected(query):
        if is_aggregate(call, environment):
            raise AnalysisError(
                "aggregate-without-group",
                f"aggregate function {call.name} needs a GROUP BY",
                fix="add GROUP BY",
                span=call.span,
            )
    if query.window is not None:
        raise AnalysisError(
            "window-without-group",
            "WINDOW needs a GROUP BY",
            fix="add GROUP BY, or leave WINDOW out",
            span=query.window.span,
        )
    if query.having is not None:
        raise AnalysisError(
            "having-without-group",
            "HAVING needs a GROUP BY",
            fix="add GROUP BY, or use WHERE",
            span=query.having.span,
        )


def check_functions(query: Query, environment: Environment) -> None:
    known = set(environment.functions.names())
    for node in selected(query):
        if isinstance(node, FunctionCall) and node.name not in known:
            error = environment.functions.unknown(node.name)
            raise AnalysisError(error.code, error.message, error.fix, span=node.span)


def check_group_by(group_by: tuple[Expression, ...], environment: Environment) -> None:
    seen: list[Expression] = []
    for expression in group_by:
        call = next((node for node in walk(expression) if is_aggregate(node, environment)), None)
        if call is not None:
            raise AnalysisError(
                "aggregate-in-group-by",
                f"GROUP BY cannot use {format_expression(call)}: groups come before aggregates",
                fix="group by columns, and aggregate the result in a query of its own",
                span=expression.span,
            )
        if expression in seen:
            raise AnalysisError(
                "duplicate-grouping",
                f"GROUP BY has {format_expression(expression)} twice",
                fix="leave one out",
                span=expression.span,
            )
        seen.append(expression)


def check_grouped_columns(
    items: tuple[SelectColumn, ...], having: Expression | None, stage: Stage, *, windowed: bool
) -> None:
    for item in items:
        _refuse_ungrouped(item.expression, stage, "SELECT")
    if having is None:
        return
    _refuse_ungrouped(having, stage, "HAVING")
    bounds = {name for name, _ in WINDOW_COLUMNS}
    for node in walk(having):
        if windowed and isinstance(node, ColumnRef) and node.name in bounds:
            raise AnalysisError(
                "misplaced-window-bound",
                f"{node.name} can only be used in the SELECT of a windowed aggregation",
                fix="filter the resulting table instead",
                span=node.span,
            )


def _refuse_ungrouped(expression: Expression, stage: Stage, clause: str) -> None:
    for node in walk(expression):
        if isinstance(node, ColumnRef) and node.source is not None and node not in stage.key_refs:
            raise AnalysisError(
                "not-grouped",
                f"column {format_expression(node)} in {clause} is neither grouped nor aggregated",
                fix=f"add {format_expression(node)} to GROUP BY, or use it in an aggregate",
                span=node.span,
            )
