"""TABLE(TUMBLE(...)) and TABLE(HOP(...)): Flink's windows, planned as WINDOW and GROUP BY."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.expressions import ColumnRef, Expression, FunctionCall
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import (
    Join,
    Query,
    SelectColumn,
    SelectItem,
    Source,
    Subquery,
    WindowFunction,
)
from penstock.sql.ast.walk import rewrite
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import ROWTIME

#: The columns that the functions add, and ours for them, which have milliseconds.
_BOUNDS = {"WINDOW_START": "WINDOWSTART", "WINDOW_END": "WINDOWEND"}

FindSource = Callable[[Source], DataSource]


def windowed_by_function(query: Query, find: FindSource) -> Query:
    """Replace a function of windows in FROM by a WINDOW clause.

    before: SELECT WINDOW_START, COUNT(*) FROM TABLE(TUMBLE(TABLE S, DESCRIPTOR(T), 5 SECONDS))
            GROUP BY A, WINDOW_START, WINDOW_END
    after:  SELECT FROM_UNIXTIME(WINDOWSTART) AS WINDOW_START, COUNT(*) FROM S
            WINDOW TUMBLING (SIZE 5 SECONDS) GROUP BY A
    """
    source = query.source
    if isinstance(source, Join):
        _refuse_in_join(source)
    if not isinstance(source, Source) or source.windows is None:
        return query
    _check_time(source, source.windows, find(source))
    keys = tuple(key for key in query.group_by or () if not _is_bound(key))
    is_grouped = query.group_by is not None and len(keys) < len(query.group_by)
    if query.window is not None or not is_grouped or not keys:
        raise AnalysisError(
            "window-function",
            "a function of windows needs GROUP BY with WINDOW_START, WINDOW_END and a column",
            fix="write GROUP BY column, window_start, window_end; a total of each window is an"
            " aggregation of such a query, grouped by window_start",
            span=source.span,
        )
    plain = replace(source, windows=None)
    items = tuple(_named(item) for item in query.items)
    query = replace(query, source=plain, items=items, group_by=keys, window=source.windows.window)
    return rewrite(query, _with_bounds)


def _refuse_in_join(join: Join) -> None:
    sides = (join.left, join.right)
    for side in sides:
        if isinstance(side, Join):
            _refuse_in_join(side)
        elif isinstance(side, Source) and side.windows is not None:
            raise AnalysisError(
                "window-function-join",
                "a function of windows cannot be joined: it is a part of an aggregation",
                fix="write WITHIN for streams, or JOIN (SELECT ... FROM TABLE(...) GROUP BY ...)"
                f" {side.alias or side.name}",
                span=side.span,
            )


def _check_time(source: Source, function: WindowFunction, found: DataSource) -> None:
    column = function.column
    timestamp = None if found.timestamp is None else found.timestamp.name
    if column in (ROWTIME, timestamp):
        return
    raise AnalysisError(
        "window-time-column",
        f"windows go by the time of a record, and {column} is not that of {source.name}",
        fix=f"CREATE {found.kind} {source.name} ... WITH (..., TIMESTAMP='{column}'), or write"
        f" DESCRIPTOR({timestamp or ROWTIME})",
        span=source.span,
    )


def _is_bound(node: Node) -> bool:
    return isinstance(node, ColumnRef) and node.name in _BOUNDS


def _named(item: SelectItem) -> SelectItem:
    """Keep the name of a bound that SELECT contains as it is."""
    if isinstance(item, SelectColumn) and item.alias is None and _is_bound(item.expression):
        assert isinstance(item.expression, ColumnRef)
        return replace(item, alias=item.expression.name)
    return item


def _with_bounds(node: Node) -> Node | None:
    if isinstance(node, Subquery):
        return node
    if isinstance(node, ColumnRef) and node.name in _BOUNDS:
        bound: Expression = ColumnRef(_BOUNDS[node.name], span=node.span)
        return FunctionCall("FROM_UNIXTIME", (bound,), span=node.span)
    return None
