"""Flink's windows, planned as WINDOW and GROUP BY: functions in FROM, and those in GROUP BY."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.expressions import (
    ColumnRef,
    Comparison,
    Expression,
    FunctionCall,
    IntegerLiteral,
    IntervalLiteral,
)
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import (
    UNIT_MS,
    HoppingWindow,
    Join,
    Query,
    SelectColumn,
    SelectItem,
    SessionWindow,
    Source,
    Subquery,
    TimeSpan,
    TumblingWindow,
    Window,
)
from penstock.sql.ast.walk import rewrite, walk

#: The columns that the functions in FROM add, and ours for them, which have milliseconds.
_BOUNDS = {"WINDOW_START": "WINDOWSTART", "WINDOW_END": "WINDOWEND"}
#: The functions in GROUP BY, with how many lengths of time they take.
_GROUPS = {"TUMBLE": 1, "HOP": 2, "SESSION": 1}
#: The calls in SELECT that stand for the bounds of such a window.
_CALLS = {
    f"{name}_{end}": bound
    for name in _GROUPS
    for end, bound in (("START", "WINDOWSTART"), ("END", "WINDOWEND"))
}


@dataclass(frozen=True, slots=True)
class WindowRules:
    """What the planner knows of a query whose windows are functions."""

    is_aggregate: Callable[[Node], bool]
    #: Whether SELECT must have the key: a constant that nobody wrote cannot be there.
    needs_key: bool


def windowed_by_function(query: Query, rules: WindowRules) -> Query:
    """Replace a function of windows in FROM or GROUP BY by a WINDOW clause.

    before: SELECT WINDOW_START, COUNT(*) FROM TABLE(TUMBLE(TABLE S, DESCRIPTOR(T), 5 SECONDS))
            GROUP BY A, WINDOW_START, WINDOW_END
    or:     SELECT TUMBLE_START(T, 5 SECONDS) AS WINDOW_START, COUNT(*) FROM S
            GROUP BY A, TUMBLE(T, 5 SECONDS)
    after:  SELECT FROM_UNIXTIME(WINDOWSTART) AS WINDOW_START, COUNT(*) FROM S
            WINDOW TUMBLING (SIZE 5 SECONDS) GROUP BY A, with T as the time of the window
    """
    source = query.source
    if isinstance(source, Join):
        _refuse_in_join(source)
        return query
    if source.windows is not None:
        return _of_from(query, source, rules)
    call = next((each for each in query.group_by or () if _is_group(each)), None)
    if call is None or query.window is not None:
        return query
    assert isinstance(call, FunctionCall)
    return _of_group(query, call, rules)


def _of_from(query: Query, source: Source | Subquery, rules: WindowRules) -> Query:
    windows = source.windows
    assert windows is not None
    keys = tuple(key for key in query.group_by or () if not _is_bound(key))
    is_grouped = query.group_by is not None and len(keys) < len(query.group_by)
    if query.window is not None or not is_grouped:
        raise AnalysisError(
            "window-function",
            "a function of windows needs GROUP BY with WINDOW_START and WINDOW_END",
            fix="write GROUP BY column, window_start, window_end",
            span=source.span,
        )
    alias = source.alias or (source.name if isinstance(source, Source) else None)
    time = ColumnRef(windows.column, alias, span=windows.span)
    items = tuple(_named(item) for item in query.items)
    query = replace(query, items=items)
    return _planned(rewrite(query, _with_bounds), keys, windows.window, time, rules)


def _of_group(query: Query, call: FunctionCall, rules: WindowRules) -> Query:
    keys = tuple(key for key in query.group_by or () if key != call)
    window, time = _window(call)
    return _planned(rewrite(query, _with_calls), keys, window, time, rules)


def _planned(
    query: Query,
    keys: tuple[Expression, ...],
    window: Window,
    time: ColumnRef,
    rules: WindowRules,
) -> Query:
    having = query.having
    if not any(rules.is_aggregate(node) for node in _computed(query)):
        any_row = Comparison(">", FunctionCall("COUNT", is_star=True), IntegerLiteral(0))
        having = any_row
    if not keys:
        if rules.needs_key:
            raise AnalysisError(
                "window-function",
                "a table needs a key, and the query groups by windows alone",
                fix="add a column to GROUP BY; for a total of each window, an expression that is"
                " the same for all rows: SELECT AUCTION * 0 AS ALL_OF_THEM, ... GROUP BY"
                " AUCTION * 0, window_start, window_end",
                span=query.span,
            )
        keys = (IntegerLiteral(1),)
    return replace(query, group_by=keys, having=having, window=window, window_time=time)


def _computed(query: Query) -> list[Node]:
    roots: list[Node] = [i.expression for i in query.items if isinstance(i, SelectColumn)]
    if query.having is not None:
        roots.append(query.having)
    return [node for root in roots for node in walk(root)]


def _refuse_in_join(join: Join) -> None:
    sides = (join.left, join.right)
    for side in sides:
        if isinstance(side, Join):
            _refuse_in_join(side)
        elif side.windows is not None:
            name = side.alias or (side.name if isinstance(side, Source) else "name")
            raise AnalysisError(
                "window-function-join",
                "a function of windows cannot be joined: it is a part of an aggregation",
                fix="write WITHIN for streams, or JOIN (SELECT ... FROM TABLE(...) GROUP BY ...)"
                f" {name}",
                span=side.span,
            )


def _is_bound(node: Node) -> bool:
    return isinstance(node, ColumnRef) and node.name in _BOUNDS


def _is_group(node: Node) -> bool:
    """Return whether a key of GROUP BY is TUMBLE(time, size), HOP(...) or SESSION(...)."""
    return isinstance(node, FunctionCall) and node.name in _GROUPS


def _window(call: FunctionCall) -> tuple[Window, ColumnRef]:
    time, *lengths = call.arguments
    spans = [
        TimeSpan(each.count, each.unit, span=each.span)
        for each in lengths
        if isinstance(each, IntervalLiteral) and each.unit in UNIT_MS and each.count >= 0
    ]
    wanted = _GROUPS[call.name]
    if not isinstance(time, ColumnRef) or not len(spans) == len(lengths) == wanted:
        raise AnalysisError(
            "window-function",
            f"{call.name} in GROUP BY takes a column with a time and"
            f" {wanted} length{'s' if wanted > 1 else ''} of time",
            fix="write TUMBLE(column, INTERVAL '10' SECOND), HOP(column, INTERVAL '2' SECOND,"
            " INTERVAL '10' SECOND) or SESSION(column, INTERVAL '10' SECOND)",
            span=call.span,
        )
    match call.name:
        case "TUMBLE":
            return TumblingWindow(spans[0], span=call.span), time
        case "HOP":
            return HoppingWindow(spans[1], spans[0], span=call.span), time
        case _:
            return SessionWindow(spans[0], span=call.span), time


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
        return _moment(_BOUNDS[node.name], node)
    return None


def _with_calls(node: Node) -> Node | None:
    if isinstance(node, Subquery):
        return node
    if isinstance(node, FunctionCall) and node.name in _CALLS:
        return _moment(_CALLS[node.name], node)
    return None


def _moment(bound: str, node: Node) -> FunctionCall:
    return FunctionCall("FROM_UNIXTIME", (ColumnRef(bound, span=node.span),), span=node.span)
