"""UNION ALL: the rows of several queries as one stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.model.sql.errors import AnalysisError, SqlTypeError
from penstock.model.sql.types import can_widen
from penstock.sql.ast.queries import Query
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.planner.projection import Projected
from penstock.sql.planner.steps import UnionStep, shape_of


def common_columns(results: Sequence[Projected], queries: Sequence[Query]) -> list[SourceColumn]:
    """Return the common columns of all queries, with the names of the first one.

    Columns are matched by their position in SELECT. A number takes the widest type that any query
    has there.
    """
    columns = list(results[0].selected)
    for result, query in zip(results[1:], queries[1:], strict=True):
        if len(result.selected) != len(columns):
            raise AnalysisError(
                "union-columns",
                f"the queries of UNION ALL have {len(columns)} and {len(result.selected)} columns",
                fix="give all of them the same columns; CAST(NULL AS type) stands for one that is"
                " missing",
                span=query.items[0].span or query.span,
            )
        for place, (one, other) in enumerate(zip(columns, result.selected, strict=True)):
            columns[place] = _common(one, other, place, query)
    return columns


def _common(one: SourceColumn, other: SourceColumn, place: int, query: Query) -> SourceColumn:
    if one.namespace != other.namespace:
        raise AnalysisError(
            "union-key",
            f"column {place + 1} of UNION ALL is the key in one query and a value in another",
            fix="put the key at the same place in every SELECT, or change it with PARTITION BY",
            span=query.items[0].span or query.span,
        )
    if one.type == other.type:
        return one
    if one.namespace != "KEY" and can_widen(other.type, one.type):
        return one
    if one.namespace != "KEY" and can_widen(one.type, other.type):
        return replace(one, type=other.type)
    raise SqlTypeError(
        "union-types",
        f"column {place + 1} of UNION ALL, {one.name}, is {one.type} in one query and {other.type}"
        " in another",
        fix="CAST one of them",
        span=query.items[0].span or query.span,
    )


def united(results: Sequence[Projected], queries: Sequence[Query], prefix: str) -> Projected:
    """Return the stage that merges the results, which have equal columns by now."""
    first = results[0].stage.step
    for result, query in zip(results, queries, strict=True):
        step = result.stage.step
        if step.is_table:
            raise AnalysisError(
                "union-of-tables",
                "UNION ALL is for streams: two tables may both have a row for one key",
                fix="join them by FULL JOIN, or take the changes of each: FROM CHANGES(table)",
                span=query.source.span or query.span,
            )
        if step.window != first.window:
            raise AnalysisError(
                "union-windows",
                "the keys of one query of UNION ALL are windowed, those of another are not,"
                " or not in the same way",
                span=query.source.span or query.span,
            )
    step = UnionStep(
        name=f"{prefix}Union",
        inputs=tuple(result.stage.step for result in results),
        **shape_of(first),
    )
    # The rows come from several topics, so their number of partitions is unknown.
    stage = replace(results[0].stage, step=step, topic="")
    return replace(results[0], stage=stage)
