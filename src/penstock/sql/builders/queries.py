"""Builders of queries: select items, relations, windows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Token

from penstock.model.sql.errors import ParseError
from penstock.model.sql.span import Span
from penstock.sql.ast import queries as ast
from penstock.sql.ast.expressions import BooleanLiteral, Expression, IntervalLiteral
from penstock.sql.builders.rules import builds

_MAX_INT = 2**31 - 1
_MAX_LONG = 2**63 - 1


@builds("query")
def query(
    span: Span | None, common_tables: Any, select: ast.Query, unions: Any, *parts: Any
) -> ast.Query:
    order_by, emit, limit, offset, cut = parts
    return replace(
        select,
        union_all=unions,
        order_by=order_by or (),
        emit=emit,
        limit=limit,
        offset=offset,
        cut=cut,
        common_tables=common_tables or (),
        span=span,
    )


@builds("select")
def select(
    span: Span | None, distinct: bool | None, items: Any, source: Any, *parts: Any
) -> ast.Query:
    window, where, group_by, partition_by, having = parts
    return ast.Query(
        items,
        source,
        window=window,
        where=where,
        group_by=group_by,
        partition_by=partition_by,
        having=having,
        is_distinct=bool(distinct),
        span=span,
    )


@builds("unions")
def unions(_: Span | None, *parts: Any) -> tuple[ast.Query, ...]:
    return parts


@builds("common_tables", "select_items", "grouping", "order_by")
def listed(_: Span | None, *items: Any) -> tuple[Any, ...]:
    return items


@builds("common_table")
def common_table(span: Span | None, name: str, query: ast.Query) -> ast.CommonTable:
    return ast.CommonTable(name, query, span=span)


@builds("all_columns")
def all_columns(span: Span | None) -> ast.AllColumns:
    return ast.AllColumns(span=span)


@builds("source_columns")
def source_columns(span: Span | None, source: str) -> ast.AllColumns:
    return ast.AllColumns(source, span=span)


@builds("all_fields")
def all_fields(span: Span | None, base: Any) -> ast.AllFields:
    return ast.AllFields(base, span=span)


@builds("select_column")
def select_column(span: Span | None, expression: Any, alias: str | None) -> ast.SelectColumn:
    return ast.SelectColumn(expression, alias, span=span)


@builds("source")
def source(span: Span | None, name: str, alias: str | None) -> ast.Source:
    return ast.Source(name, alias, span=span)


@builds("changes")
def changes(span: Span | None, function: str, name: str, alias: str | None) -> ast.Source:
    if function != "CHANGES":
        raise ParseError(
            "unknown-source-function",
            f"{function}(...) cannot stand in FROM",
            fix=f"write FROM CHANGES({name}) for the changes of a table; table functions such as"
            " EXPLODE stand in SELECT",
            span=span,
        )
    return ast.Source(name, alias, is_changes=True, span=span)


@builds("source_as_of")
def source_as_of(span: Span | None, name: str, moment: Expression, alias: str | None) -> ast.Source:
    return ast.Source(name, alias, as_of=moment, span=span)


@builds("window_function")
def window_function(
    span: Span | None, function: str, name: str, descriptor: str, column: str, *parts: Any
) -> ast.Source:
    if descriptor != "DESCRIPTOR":
        raise ParseError(
            "window-function",
            f"{descriptor}({column}) cannot stand here",
            fix=f"write DESCRIPTOR({column})",
            span=span,
        )
    return _windowed(span, function, name, column, parts)


@builds("short_window_function")
def short_window_function(
    span: Span | None, function: str, name: str, column: str, *parts: Any
) -> ast.Source:
    """Build ``TUMBLE(name, column, size)`` and ``HOP(name, column, advance, size)``."""
    return _windowed(span, function, name, column, parts)


def _windowed(
    span: Span | None, function: str, name: str, column: str, parts: tuple[Any, ...]
) -> ast.Source:
    *spans, alias = parts
    counts = {"TUMBLE": 1, "HOP": 2, "SESSION": 1}
    if counts.get(function) != len(spans):
        raise ParseError(
            "window-function",
            f"{function} with {len(spans)} lengths of time is not a function of windows",
            fix="write TUMBLE(TABLE name, DESCRIPTOR(column), size), HOP(TABLE name,"
            " DESCRIPTOR(column), advance, size) or SESSION(TABLE name, DESCRIPTOR(column), gap)",
            span=span,
        )
    window: ast.Window
    match function:
        case "TUMBLE":
            window = ast.TumblingWindow(spans[0], span=span)
        case "HOP":
            window = ast.HoppingWindow(spans[1], spans[0], span=span)
        case _:
            window = ast.SessionWindow(spans[0], span=span)
    windows = ast.WindowFunction(column, window, span=span)
    return ast.Source(name, alias, windows=windows, span=span)


@builds("comma_join")
def comma_join(span: Span | None, left: Any, right: Any) -> ast.Join:
    return ast.Join("INNER", left, right, BooleanLiteral(True), is_comma=True, span=span)


@builds("subquery")
def subquery(span: Span | None, query: ast.Query, alias: str | None) -> ast.Subquery:
    return ast.Subquery(query, alias, span=span)


@builds("join_kind")
def join_kind(_: Span | None, __: Any) -> ast.JoinKind:
    return "INNER"


@builds("inner")
def inner(_: Span | None) -> ast.JoinKind:
    return "INNER"


@builds("left")
def left(_: Span | None) -> ast.JoinKind:
    return "LEFT"


@builds("right")
def right(_: Span | None) -> ast.JoinKind:
    return "RIGHT"


@builds("full")
def full(_: Span | None) -> ast.JoinKind:
    return "FULL"


@builds("join")
def join(span: Span | None, left: Any, kind: Any, right: Any, within: Any, on: Any) -> ast.Join:
    return ast.Join(kind, left, right, on, within, span=span)


@builds("within")
def within(span: Span | None, *parts: Any) -> ast.Within:
    *spans, grace = parts
    return ast.Within(spans[0], spans[-1], grace, span=span)


@builds("tumbling")
def tumbling(span: Span | None, size: Any, retention: Any, grace: Any) -> ast.TumblingWindow:
    return ast.TumblingWindow(size, retention, grace, span=span)


@builds("hopping")
def hopping(
    span: Span | None, size: Any, advance: Any, retention: Any, grace: Any
) -> ast.HoppingWindow:
    return ast.HoppingWindow(size, advance, retention, grace, span=span)


@builds("session")
def session(span: Span | None, gap: Any, retention: Any, grace: Any) -> ast.SessionWindow:
    return ast.SessionWindow(gap, retention, grace, span=span)


@builds("retention", "grace", "timeout", "emit")
def inner_value(_: Span | None, value: Any) -> Any:
    return value


@builds("time_span")
def time_span(span: Span | None, count: Token | IntervalLiteral, unit: Any = None) -> ast.TimeSpan:
    if isinstance(count, Token):
        return ast.TimeSpan(whole(span, count, _MAX_LONG), unit, span=span)
    if count.count < 0 or count.unit not in ast.UNIT_MS:
        raise ParseError(
            "bad-interval",
            f"{count.count} {count.unit} is not a length of time: it must have a fixed number of"
            " milliseconds, and not be negative",
            fix="use DAYS or a smaller unit",
            span=span,
        )
    return ast.TimeSpan(count.count, count.unit, span=span)


@builds("time_unit", "calendar_unit")
def time_unit(_: Span | None, token: Token) -> str:
    return str(token) if token.endswith("S") else f"{token}S"


@builds("order_item")
def order_item(
    span: Span | None, expression: Any, direction: Token | None, nulls: str | None
) -> ast.OrderItem:
    nulls_first = None if nulls is None else nulls == "FIRST"
    return ast.OrderItem(expression, direction == "DESC", nulls_first, span=span)


@builds("direction", "nulls_order", "emit_kind")
def word(_: Span | None, token: Token) -> str:
    return str(token)


@builds("limit", "offset", "print_interval", "schema_id")
def count(span: Span | None, token: Token) -> int:
    return whole(span, token, _MAX_INT)


@builds("cut")
def cut(span: Span | None, _: Token, number: Token | None) -> ast.Cut:
    return ast.Cut(None if number is None else whole(span, number, _MAX_LONG), span=span)


@builds("latest")
def latest(_: Span | None) -> None:
    """Stand for the newest cut, which has no number yet."""


def whole(span: Span | None, token: Token, largest: int) -> int:
    if len(token.lstrip("0")) > 19 or int(token) > largest:
        raise ParseError(
            "number-too-large", f"number {token[:40]} is larger than {largest}", span=span
        )
    return int(token)
