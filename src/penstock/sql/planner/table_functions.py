"""EXPLODE and other table functions: one row in, several out."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import SqlType
from penstock.sql.ast.expressions import Case, ColumnRef, Expression, FunctionCall
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Query, SelectColumn
from penstock.sql.ast.walk import children, rewrite
from penstock.sql.expressions import Column
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import ExplodeStep, shape_of


def exploded(stage: Stage, query: Query, environment: Environment) -> tuple[Stage, Query]:
    """Compute the table functions of SELECT; their values become columns of the row.

    before: SELECT EXPLODE(S.A) + 1 FROM S
    after:  SELECT KSQL_SYNTH_0 + 1 FROM S, one row for each element of S.A
    """
    calls: list[FunctionCall] = []
    for item in query.items:
        if isinstance(item, SelectColumn):
            _collect(item.expression, environment, calls)
    if not calls:
        return stage, query
    if stage.step.is_table:
        raise AnalysisError(
            "table-function-on-table",
            f"table function {calls[0].name} cannot be used on a table: its rows have one key each",
            fix="use it on a stream",
            span=calls[0].span,
        )
    if query.group_by is not None:
        raise AnalysisError(
            "table-function-with-group-by",
            f"table function {calls[0].name} cannot be used together with GROUP BY",
            fix="explode into a stream first, then group that",
            span=calls[0].span,
        )
    columns = tuple(
        Column(f"KSQL_SYNTH_{i}", _row_type(call, stage, environment))
        for i, call in enumerate(calls)
    )
    step = ExplodeStep(
        name="FlatMap",
        input=stage.step,
        calls=tuple(calls),
        **shape_of(stage.step, columns=(*stage.columns, *columns)),
    )
    places = {id(call): ColumnRef(column.name) for call, column in zip(calls, columns, strict=True)}
    return replace(stage, step=step), rewrite(query, lambda node: places.get(id(node)))


def _collect(expression: Expression, environment: Environment, calls: list[FunctionCall]) -> None:
    pending: list[tuple[Node, str | None]] = [(expression, None)]
    while pending:
        node, inside = pending.pop()
        if isinstance(node, FunctionCall) and environment.functions.is_table_function(node.name):
            if inside is not None:
                raise AnalysisError(
                    "nested-table-function",
                    f"table function {node.name} cannot stand inside {inside}",
                    fix="explode into a stream first, then go on from that",
                    span=node.span,
                )
            calls.append(node)
            inside = node.name
        if isinstance(node, Case):
            inside = "CASE"
        pending.extend((child, inside) for child in reversed(list(children(node))))


def _row_type(call: FunctionCall, stage: Stage, environment: Environment) -> SqlType:
    types = [environment.type_of(argument, stage.columns) for argument in call.arguments]
    return environment.functions.bind_table(call.name, types)[0]
