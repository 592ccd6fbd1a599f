"""SELECT DISTINCT: each row of a stream once, or the rows that a table has at the moment."""

from __future__ import annotations

from dataclasses import replace

from penstock.formats.columns import parts
from penstock.model.sql.errors import AnalysisError, SqlTypeError
from penstock.model.sql.types import MapType
from penstock.sql.ast.expressions import (
    Comparison,
    Expression,
    FunctionCall,
    IntegerLiteral,
    Literals,
)
from penstock.sql.ast.queries import Query, SelectColumn
from penstock.sql.planner.projection import Projected
from penstock.sql.planner.stage import Stage
from penstock.sql.planner.steps import DistinctStep, shape_of

_AS_VALUE = "AS_VALUE"


def distinct_groups(stage: Stage, query: Query, *, wants_table: bool) -> Query:
    """Turn DISTINCT into GROUP BY where the result is a table.

    before: SELECT DISTINCT S.A, S.B FROM S
    after:  SELECT S.A, S.B FROM S GROUP BY S.A, S.B HAVING COUNT(*) > 0

    Rows that have the key of a table, or of a group, are distinct already. AS_VALUE copies a
    column, so that it is not a group of its own.
    """
    if not query.is_distinct:
        return query
    items = [item.expression for item in query.items if isinstance(item, SelectColumn)]
    if query.group_by is not None:
        return _of_groups(query, items)
    if not wants_table and not stage.step.is_table:
        return query
    query = replace(query, is_distinct=False)
    if stage.step.is_table and set(stage.key_refs) <= set(items):
        return query
    groups = tuple(dict.fromkeys(each for each in items if not _is_copy(each)))
    any_row = Comparison(">", FunctionCall("COUNT", is_star=True), IntegerLiteral(0))
    return replace(query, group_by=groups, having=any_row)


def _is_copy(expression: Expression) -> bool:
    if isinstance(expression, Literals):
        return True
    return isinstance(expression, FunctionCall) and expression.name == _AS_VALUE


def _of_groups(query: Query, items: list[Expression]) -> Query:
    missing = [each for each in query.group_by or () if each not in items]
    if missing:
        raise AnalysisError(
            "distinct-groups",
            "DISTINCT cannot leave out what is grouped by: two groups could have the same row",
            fix="put the query into FROM and use DISTINCT over it",
            span=missing[0].span or query.span,
        )
    return replace(query, is_distinct=False)


def distinct_rows(
    result: Projected, query: Query, *, has_key: bool, ttl_ms: int | None, prefix: str
) -> Projected:
    """Add the step that forwards each distinct row of a stream once."""
    if not query.is_distinct:
        return result
    step = result.stage.step
    span = query.items[0].span or query.span
    if step.window is not None:
        raise AnalysisError(
            "rekey-windowed",
            "DISTINCT: the records have windowed keys, which cannot change",
            fix="GROUP BY the columns",
            span=span,
        )
    for column in result.columns:
        if any(isinstance(part, MapType) for part in parts(column.type)):
            raise SqlTypeError(
                "map-in-key",
                f"DISTINCT cannot compare {column.name}, which is {column.type}: maps have no fixed"
                " order, so equal rows could have different bytes",
                fix="select single values of the map",
                span=span,
            )
    distinct = DistinctStep(
        name=f"{prefix}Distinct", input=step, has_key=has_key, ttl_ms=ttl_ms, **shape_of(step)
    )
    return replace(result, stage=replace(result.stage, step=distinct))
