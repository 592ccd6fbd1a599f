"""Expressions, names and types as text. Statements: ``penstock.sql.syntax.format``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, assert_never

from penstock.sql.ast import expressions as ast
from penstock.sql.ast.chains import chain
from penstock.sql.ast.types import ArrayOf, MapOf, NamedType, StructOf, TypeNode
from penstock.sql.syntax.lexer import RESERVED
from penstock.sql.syntax.parser import keywords

_PLAIN = re.compile(r"[A-Z_][A-Z0-9_]*")
_VARIABLE = re.compile(r"\$\{\w+\}", re.ASCII)
_CONSTRUCTORS = frozenset(("ARRAY", "MAP", "STRUCT"))

# The precedence of each kind: the rules of the grammar, from ``expression`` to ``primary``.
_OR, _AND, _NOT, _PREDICATE, _CONCAT, _SUM, _PRODUCT, _SIGNED, _ZONED, _PRIMARY = range(10)
_BINARY_LEVEL = {"||": _CONCAT, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}


# Queries contain expressions, and expressions contain queries: ``format_query`` sets this function.
_query_text: list[Callable[[Any], str]] = [lambda _: "SELECT ..."]


def write_queries_with(write: Callable[[Any], str]) -> None:
    """Set the function that writes a query inside an expression."""
    _query_text[0] = write


def identifier(name: str) -> str:
    """Return a name, in backquotes unless it parses to the same name without them."""
    if _PLAIN.fullmatch(name) and name not in keywords():
        return name
    return f"`{_keep_variables(name).replace('`', '``')}`"


def string(text: str) -> str:
    return f"'{_keep_variables(text).replace(chr(39), chr(39) * 2)}'"


def format_type(node: TypeNode) -> str:
    """Write a type as SQL."""
    match node:
        case ArrayOf(element):
            return f"ARRAY<{format_type(element)}>"
        case MapOf(key, value):
            return f"MAP<{format_type(key)}, {format_type(value)}>"
        case StructOf(fields):
            inner = ", ".join(f"{identifier(f.name)} {format_type(f.type)}" for f in fields)
            return f"STRUCT<{inner} >" if not inner else f"STRUCT<{inner}>"
        case NamedType(name, parameters):
            shown = ", ".join(p if isinstance(p, str) else str(p) for p in parameters)
            return f"{identifier(name)}({shown})" if parameters else identifier(name)
        case _:
            assert_never(node)


def format_expression(node: ast.Expression) -> str:
    """Write an expression as SQL, with the fewest brackets that keep its meaning."""
    return _text(node)[0]


def _keep_variables(text: str) -> str:
    # A second dollar marks ${...} as text that is not a variable.
    return _VARIABLE.sub(lambda match: f"${match[0]}", text)


def _at(node: ast.Expression, level: int) -> str:
    text, own = _text(node)
    return text if own >= level else f"({text})"


def _all(nodes: tuple[ast.Expression, ...]) -> str:
    return ", ".join(format_expression(node) for node in nodes)


def _text(node: ast.Expression) -> tuple[str, int]:
    """Return the text of an expression and its precedence."""
    match node:
        case ast.Or():
            return _joined(node, " OR ", _OR), _OR
        case ast.And():
            return _joined(node, " AND ", _AND), _AND
        case ast.Not(operand):
            return f"NOT {_at(operand, _NOT)}", _NOT
        case (
            ast.Comparison() | ast.Between() | ast.In() | ast.InQuery() | ast.Like() | ast.IsNull()
        ):
            return _predicate(node), _PREDICATE
        case ast.Binary(operator, left, right):
            level = _BINARY_LEVEL[operator]
            return f"{_at(left, level)} {operator} {_at(right, level + 1)}", level
        case ast.Unary(operator, operand):
            return f"{operator} {_at(operand, _SIGNED)}", _SIGNED
        case ast.AtTimeZone(value, zone):
            return f"{_at(value, _ZONED)} AT TIME ZONE {string(zone)}", _ZONED
        case ast.IntegerLiteral() | ast.DecimalLiteral() | ast.DoubleLiteral():
            text = _number(node)
            return text, _SIGNED if text.startswith("-") else _PRIMARY
        case _:
            return _primary(node), _PRIMARY


def _joined(node: ast.Or | ast.And, word: str, level: int) -> str:
    first, *rest = chain(node)
    return word.join([_at(first, level), *(_at(part, level + 1) for part in rest)])


def _predicate(
    node: ast.Comparison | ast.Between | ast.In | ast.InQuery | ast.Like | ast.IsNull,
) -> str:
    match node:
        case ast.Comparison(operator, left, right):
            return f"{_at(left, _CONCAT)} {operator} {_at(right, _CONCAT)}"
        case ast.Between(value, low, high, negated):
            bounds = f"{_at(low, _CONCAT)} AND {_at(high, _CONCAT)}"
            return f"{_at(value, _CONCAT)}{_not(negated)} BETWEEN {bounds}"
        case ast.In(value, items, negated):
            return f"{_at(value, _CONCAT)}{_not(negated)} IN ({_all(items)})"
        case ast.InQuery(value, query, negated):
            return f"{_at(value, _CONCAT)}{_not(negated)} IN ({_query_text[0](query)})"
        case ast.Like(value, pattern, escape, negated):
            tail = "" if escape is None else f" ESCAPE {string(escape)}"
            return f"{_at(value, _CONCAT)}{_not(negated)} LIKE {_at(pattern, _CONCAT)}{tail}"
        case ast.IsNull(value, negated):
            return f"{_at(value, _CONCAT)} IS{_not(negated)} NULL"
        case _:
            assert_never(node)


def _not(negated: bool) -> str:
    return " NOT" if negated else ""


def _number(node: ast.IntegerLiteral | ast.DecimalLiteral | ast.DoubleLiteral) -> str:
    match node:
        case ast.IntegerLiteral(value):
            return str(value)
        case ast.DecimalLiteral(value):
            text = format(value, "f")
            return text if "." in text else f"{text}."
        case ast.DoubleLiteral(value):
            text = repr(value).upper()
            return text if "E" in text else f"{text}E0"
        case _:
            assert_never(node)


def _primary(node: ast.Expression) -> str:
    match node:
        case ast.NullLiteral():
            return "NULL"
        case ast.BooleanLiteral(value):
            return "TRUE" if value else "FALSE"
        case ast.StringLiteral(value):
            return string(value)
        case ast.TypedLiteral(type_name, text):
            return f"{identifier(type_name)} {string(text)}"
        case ast.IntervalLiteral(count, unit):
            return f"INTERVAL '{count}' {unit}"
        case ast.ColumnRef(name, source):
            return f"{identifier(source)}.{identifier(name)}" if source else identifier(name)
        case ast.Dereference(base, field):
            return f"{_at(base, _PRIMARY)}->{identifier(field)}"
        case ast.Subscript(base, index):
            return f"{_at(base, _PRIMARY)}[{format_expression(index)}]"
        case ast.Cast(value, type_):
            return f"CAST({format_expression(value)} AS {format_type(type_)})"
        case _:
            return _compound(node)


def _compound(node: ast.Expression) -> str:
    match node:
        case ast.Case(operand, whens, default):
            parts = ["CASE"] if operand is None else ["CASE", format_expression(operand)]
            for when in whens:
                condition, result = (
                    format_expression(when.condition),
                    format_expression(when.result),
                )
                parts.append(f"WHEN {condition} THEN {result}")
            if default is not None:
                parts.append(f"ELSE {format_expression(default)}")
            return " ".join([*parts, "END"])
        case ast.CreateArray(items):
            return f"ARRAY[{_all(items)}]"
        case ast.CreateMap(entries):
            pairs = (f"{format_expression(e.key)} := {format_expression(e.value)}" for e in entries)
            return f"MAP({', '.join(pairs)})"
        case ast.CreateStruct(fields):
            named = (f"{identifier(f.name)} := {format_expression(f.value)}" for f in fields)
            return f"STRUCT({', '.join(named)})"
        case ast.Exists(query):
            return f"EXISTS ({_query_text[0](query)})"
        case ast.FunctionCall():
            return _call(node)
        case ast.Over(call, partition_by, order_by):
            parts = [f"PARTITION BY {_all(partition_by)}"] if partition_by else []
            if order_by:
                parts.append(f"ORDER BY {', '.join(format_order_item(i) for i in order_by)}")
            return f"{_call(call)} OVER ({' '.join(parts)})"
        case _:
            raise AssertionError(f"no text for {node!r}")


def format_order_item(item: Any) -> str:
    """Write one key of ORDER BY."""
    direction = " DESC" if item.is_descending else ""
    nulls = ""
    if item.nulls_first is not None:
        nulls = " NULLS FIRST" if item.nulls_first else " NULLS LAST"
    return format_expression(item.expression) + direction + nulls


def _call(node: ast.FunctionCall) -> str:
    inner = "*" if node.is_star else ", ".join(_argument(a) for a in node.arguments)
    plain = _PLAIN.fullmatch(node.name) and node.name not in RESERVED | _CONSTRUCTORS
    name = node.name if plain else identifier(node.name)
    return f"{name}({'DISTINCT ' if node.is_distinct else ''}{inner})"


def _argument(node: ast.Expression | ast.Lambda) -> str:
    if not isinstance(node, ast.Lambda):
        return format_expression(node)
    names = ", ".join(identifier(name) for name in node.parameters)
    head = names if len(node.parameters) == 1 else f"({names})"
    return f"{head} => {format_expression(node.body)}"
