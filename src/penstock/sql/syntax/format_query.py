"""Queries as text."""

from __future__ import annotations

from typing import assert_never

from penstock.sql.ast import queries as ast
from penstock.sql.syntax.format_expression import (
    format_expression,
    format_order_item,
    identifier,
    write_queries_with,
)


def format_query(query: ast.Query) -> str:
    """Write a query on one line."""
    parts = []
    if query.common_tables:
        tables = (f"{identifier(t.name)} AS ({format_query(t.query)})" for t in query.common_tables)
        parts.append(f"WITH {', '.join(tables)}")
    parts.append(" UNION ALL ".join(_select(each) for each in (query, *query.union_all)))
    if query.order_by:
        parts.append(f"ORDER BY {', '.join(format_order_item(item) for item in query.order_by)}")
    if query.emit is not None:
        parts.append(f"EMIT {query.emit}")
    if query.limit is not None:
        parts.append(f"LIMIT {query.limit}")
    if query.offset is not None:
        parts.append(f"OFFSET {query.offset}")
    if query.cut is not None:
        number = query.cut.number
        parts.append(f"AS OF CUT {'LATEST' if number is None else number}")
    return " ".join(parts)


def _select(query: ast.Query) -> str:
    parts = ["SELECT DISTINCT" if query.is_distinct else "SELECT"]
    parts.append(", ".join(_item(item) for item in query.items))
    parts.append(f"FROM {_relation(query.source)}")
    if query.window is not None:
        parts.append(f"WINDOW {format_window(query.window)}")
    parts.extend(_clauses(query))
    return " ".join(parts)


def time_span(span: ast.TimeSpan) -> str:
    return f"{span.count} {span.unit}"


def _clauses(query: ast.Query) -> list[str]:
    parts = []
    if query.where is not None:
        parts.append(f"WHERE {format_expression(query.where)}")
    for words, keys in (("GROUP BY", query.group_by), ("PARTITION BY", query.partition_by)):
        if keys is not None:
            parts.append(f"{words} {', '.join(format_expression(key) for key in keys) or '()'}")
    if query.having is not None:
        parts.append(f"HAVING {format_expression(query.having)}")
    return parts


def _item(item: ast.SelectItem) -> str:
    match item:
        case ast.AllColumns(source):
            return f"{identifier(source)}.*" if source else "*"
        case ast.AllFields(base):
            # A dereference of nothing yet: its base is written the way a real one writes it.
            return f"({format_expression(base)})->*"
        case ast.SelectColumn(expression, alias):
            return format_expression(expression) + _alias(alias)
        case _:
            assert_never(item)


def _alias(alias: str | None) -> str:
    return f" AS {identifier(alias)}" if alias else ""


def _relation(relation: ast.Relation) -> str:
    match relation:
        case ast.Source():
            return _source(relation) + _alias(relation.alias)
        case ast.Subquery(query, alias):
            return f"({format_query(query)}){_alias(alias)}"
        case ast.Join(left=left, right=right, is_comma=True):
            return f"{_relation(left)}, {_relation(right)}"
        case ast.Join(kind, left, right, on, within):
            middle = f" WITHIN {format_within(within)}" if within else ""
            sides = f"{_relation(left)} {kind} JOIN {_relation(right)}"
            return f"{sides}{middle} ON {format_expression(on)}"
        case _:
            assert_never(relation)


def _source(source: ast.Source) -> str:
    name = identifier(source.name)
    if source.windows is not None:
        window, column = source.windows.window, identifier(source.windows.column)
        match window:
            case ast.TumblingWindow():
                function, lengths = "TUMBLE", time_span(window.size)
            case ast.HoppingWindow():
                function = "HOP"
                lengths = f"{time_span(window.advance)}, {time_span(window.size)}"
            case ast.SessionWindow():
                function, lengths = "SESSION", time_span(window.gap)
            case _:
                assert_never(window)
        return f"TABLE({function}(TABLE {name}, DESCRIPTOR({column}), {lengths}))"
    if source.as_of is not None:
        return f"{name} FOR SYSTEM_TIME AS OF {format_expression(source.as_of)}"
    return f"CHANGES({name})" if source.is_changes else name


def format_within(within: ast.Within) -> str:
    tail = f" GRACE PERIOD {time_span(within.grace)}" if within.grace else ""
    if within.before == within.after:
        return time_span(within.before) + tail
    return f"({time_span(within.before)}, {time_span(within.after)}){tail}"


def format_window(window: ast.Window) -> str:
    tail = f", RETENTION {time_span(window.retention)}" if window.retention else ""
    tail += f", GRACE PERIOD {time_span(window.grace)}" if window.grace else ""
    match window:
        case ast.TumblingWindow():
            return f"TUMBLING (SIZE {time_span(window.size)}{tail})"
        case ast.HoppingWindow():
            size, advance = time_span(window.size), time_span(window.advance)
            return f"HOPPING (SIZE {size}, ADVANCE BY {advance}{tail})"
        case ast.SessionWindow():
            return f"SESSION ({time_span(window.gap)}{tail})"
        case _:
            assert_never(window)


write_queries_with(format_query)
