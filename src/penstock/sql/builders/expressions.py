"""Builders of expressions and types."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

from lark import Token

from penstock.model.sql.errors import ParseError
from penstock.model.sql.span import Span
from penstock.sql.ast import expressions as ast
from penstock.sql.ast.chains import fold
from penstock.sql.ast.node import Node
from penstock.sql.ast.types import ArrayOf, FieldType, MapOf, NamedType, StructOf, TypeNode
from penstock.sql.ast.walk import walk
from penstock.sql.builders.rules import builds

_MAX_LONG = 2**63 - 1
_MAX_INT = 2**31 - 1
#: Aggregates that leave NULLs out.
_FILTERED = frozenset((
    "COUNT", "SUM", "MIN", "MAX", "AVG", "STDDEV_SAMP", "STDDEV_SAMPLE", "COUNT_DISTINCT",
    "STRING_AGG", "LISTAGG",
))  # fmt: skip
_INTERVAL = re.compile(
    r"\s*(?P<count>[+-]?\d{1,18})\s+"
    r"(?P<unit>MILLISECOND|SECOND|MINUTE|HOUR|DAY|MONTH|YEAR)S?\s*",
    re.IGNORECASE | re.ASCII,
)


@builds("identifier")
def identifier(_: Span | None, token: Token) -> str:
    return str(token)


@builds("expressions", "arguments")
def expressions(_: Span | None, *items: ast.Expression) -> tuple[ast.Expression, ...]:
    return items


@builds("or_")
def or_(_: Span | None, *parts: ast.Expression) -> ast.Expression:
    return fold(parts, lambda left, right: ast.Or(left, right, span=_over(left, right)))


@builds("and_")
def and_(_: Span | None, *parts: ast.Expression) -> ast.Expression:
    return fold(parts, lambda left, right: ast.And(left, right, span=_over(left, right)))


def _over(left: ast.Expression, right: ast.Expression) -> Span | None:
    """Return the span from the beginning of one node to the end of another."""
    if left.span is None or right.span is None:
        return None
    return replace(left.span, end=right.span.end)


@builds("not_")
def not_(span: Span | None, operand: ast.Expression) -> ast.Not:
    return ast.Not(operand, span=span)


@builds("not", "distinct")
def flag(_: Span | None) -> bool:
    return True


@builds("comparator", "sum_operator", "product_operator")
def operator(_: Span | None, token: Token) -> str:
    return "<>" if token == "!=" else str(token)


@builds("comparison")
def comparison(span: Span | None, left: Any, operator: Any, right: Any) -> ast.Comparison:
    return ast.Comparison(operator, left, right, span=span)


@builds("is_distinct")
def is_distinct(span: Span | None, left: Any, negated: bool | None, right: Any) -> ast.Comparison:
    operator: Any = "IS NOT DISTINCT FROM" if negated else "IS DISTINCT FROM"
    return ast.Comparison(operator, left, right, span=span)


@builds("between")
def between(
    span: Span | None, value: Any, negated: bool | None, low: Any, high: Any
) -> ast.Between:
    return ast.Between(value, low, high, negated=bool(negated), span=span)


@builds("in_")
def in_(span: Span | None, value: Any, negated: bool | None, items: Any) -> ast.In:
    return ast.In(value, items, negated=bool(negated), span=span)


@builds("in_query")
def in_query(span: Span | None, value: Any, negated: bool | None, query: Any) -> ast.InQuery:
    return ast.InQuery(value, query, negated=bool(negated), span=span)


@builds("exists")
def exists(span: Span | None, query: Any) -> ast.Exists:
    return ast.Exists(query, span=span)


@builds("scalar_query")
def scalar_query(span: Span | None, _: Any) -> None:
    raise ParseError(
        "not-supported",
        "a query in the place of a value is not supported",
        fix="join with the table, or use IN (SELECT ...) or EXISTS (SELECT ...) in WHERE",
        span=span,
    )


@builds("like")
def like(
    span: Span | None, value: Any, negated: bool | None, pattern: Any, escape: Token | None
) -> ast.Like:
    if escape is not None and len(escape) != 1:
        raise ParseError(
            "bad-escape", f"ESCAPE takes one character, not {str(escape)!r}", span=span
        )
    text = None if escape is None else str(escape)
    return ast.Like(value, pattern, escape=text, negated=bool(negated), span=span)


@builds("is_null")
def is_null(span: Span | None, value: Any, negated: bool | None) -> ast.IsNull:
    return ast.IsNull(value, negated=bool(negated), span=span)


@builds("concat")
def concat(span: Span | None, left: Any, right: Any) -> ast.Binary:
    return ast.Binary("||", left, right, span=span)


@builds("binary")
def binary(span: Span | None, left: Any, operator: Any, right: Any) -> ast.Binary:
    return ast.Binary(operator, left, right, span=span)


@builds("minus")
def minus(span: Span | None, operand: Any) -> ast.Expression:
    # A minus before a number is part of the number; ``- -1`` stays two signs.
    match operand:
        case ast.IntegerLiteral(value) if value > 0:
            return ast.IntegerLiteral(-value, span=span)
        case ast.DecimalLiteral(value) if not value.is_signed():
            return ast.DecimalLiteral(value.copy_negate(), span=span)
        case ast.DoubleLiteral(value) if value >= 0 and str(value)[0] != "-":
            return ast.DoubleLiteral(-value, span=span)
    return ast.Unary("-", operand, span=span)


@builds("plus")
def plus(span: Span | None, operand: Any) -> ast.Unary:
    return ast.Unary("+", operand, span=span)


@builds("at_time_zone")
def at_time_zone(span: Span | None, value: Any, zone: Token) -> ast.AtTimeZone:
    return ast.AtTimeZone(value, str(zone), span=span)


@builds("typed_literal")
def typed_literal(span: Span | None, name: str, text: Token) -> ast.TypedLiteral:
    return ast.TypedLiteral(name, str(text), span=span)


@builds("interval")
def interval(span: Span | None, amount: Token, unit: str | None) -> ast.IntervalLiteral:
    found = _INTERVAL.fullmatch(f"{amount} {unit or ''}")
    if found is None or abs(int(found["count"])) > _MAX_INT:
        raise ParseError(
            "bad-interval",
            f"an INTERVAL has one whole number and one unit, not {str(amount)!r}",
            fix="write INTERVAL '5' MINUTES, or add one interval for each unit",
            span=span,
        )
    return ast.IntervalLiteral(int(found["count"]), f"{found['unit'].upper()}S", span=span)


@builds("column_ref")
def column_ref(span: Span | None, name: str) -> ast.ColumnRef:
    return ast.ColumnRef(name, span=span)


@builds("qualified_ref")
def qualified_ref(span: Span | None, source: str, name: str) -> ast.ColumnRef:
    return ast.ColumnRef(name, source, span=span)


@builds("dereference")
def dereference(span: Span | None, base: Any, field: str) -> ast.Dereference:
    return ast.Dereference(base, field, span=span)


@builds("subscript")
def subscript(span: Span | None, base: Any, index: Any) -> ast.Subscript:
    return ast.Subscript(base, index, span=span)


@builds("call_star")
def call_star(span: Span | None, name: str) -> ast.FunctionCall:
    return ast.FunctionCall(name, is_star=True, span=span)


@builds("call")
def call(span: Span | None, name: str, distinct: bool | None, arguments: Any) -> ast.FunctionCall:
    return ast.FunctionCall(name, arguments or (), is_distinct=bool(distinct), span=span)


@builds("filtered")
def filtered(span: Span | None, call: ast.FunctionCall, condition: Any) -> ast.FunctionCall:
    """Build ``SUM(x) FILTER (WHERE c)`` as ``SUM(CASE WHEN c THEN x END)``: NULLs are left out."""
    if call.name not in _FILTERED or not (call.is_star or call.arguments):
        raise ParseError(
            "filtered-aggregate",
            f"{call.name} cannot have FILTER: it may take NULL as a value",
            fix="aggregate in a query of its own, with WHERE",
            span=span,
        )
    first = ast.IntegerLiteral(1) if call.is_star else call.arguments[0]
    assert not isinstance(first, ast.Lambda)
    value = ast.Case(None, (ast.When(condition, first, span=span),), span=first.span or span)
    return replace(call, arguments=(value, *call.arguments[1:]), is_star=False, span=span)


@builds("over")
def over(span: Span | None, call: ast.FunctionCall, partition_by: Any, order_by: Any) -> ast.Over:
    return ast.Over(call, partition_by or (), order_by or (), span=span)


@builds("lambda")
def lambda_(span: Span | None, parameter: str, body: Any) -> ast.Lambda:
    return ast.Lambda((parameter,), body, span=span)


@builds("lambda_list")
def lambda_list(span: Span | None, _: Token, *parts: Any) -> ast.Lambda:
    return ast.Lambda(parts[:-1], parts[-1], span=span)


@builds("cast")
def cast(span: Span | None, value: Any, type_: TypeNode) -> ast.Cast:
    return ast.Cast(value, type_, span=span)


@builds("when")
def when(span: Span | None, condition: Any, result: Any) -> ast.When:
    return ast.When(condition, result, span=span)


@builds("case")
def case(span: Span | None, operand: Any, *parts: Any) -> ast.Case:
    return ast.Case(operand, parts[:-1], parts[-1], span=span)


@builds("create_array")
def create_array(span: Span | None, items: Any) -> ast.CreateArray:
    return ast.CreateArray(items or (), span=span)


@builds("map_entry")
def map_entry(span: Span | None, key: Any, value: Any) -> ast.MapEntry:
    return ast.MapEntry(key, value, span=span)


@builds("create_map")
def create_map(span: Span | None, *entries: Any) -> ast.CreateMap:
    return ast.CreateMap(_present(entries), span=span)


@builds("struct_field")
def struct_field(span: Span | None, name: str, value: Any) -> ast.StructField:
    return ast.StructField(name, value, span=span)


@builds("create_struct")
def create_struct(span: Span | None, *fields: Any) -> ast.CreateStruct:
    return ast.CreateStruct(_present(fields), span=span)


@builds("null")
def null(span: Span | None) -> ast.NullLiteral:
    return ast.NullLiteral(span=span)


@builds("true")
def true(span: Span | None) -> ast.BooleanLiteral:
    return ast.BooleanLiteral(True, span=span)


@builds("false")
def false(span: Span | None) -> ast.BooleanLiteral:
    return ast.BooleanLiteral(False, span=span)


@builds("string")
def string(span: Span | None, token: Token) -> ast.StringLiteral:
    return ast.StringLiteral(str(token), span=span)


@builds("integer")
def integer(span: Span | None, token: Token) -> ast.IntegerLiteral:
    # More digits than any long has are refused before Python reads them: that takes quadratic time.
    # One more than the largest long is allowed after a minus: ``refuse_too_large`` checks that.
    if len(token.lstrip("0")) > 19 or int(token) > _MAX_LONG + 1:
        raise _too_large(token, span)
    return ast.IntegerLiteral(int(token), span=span)


def refuse_too_large(tree: Node) -> None:
    """Refuse the number that fits 64 bits only with a minus before it."""
    for node in walk(tree):
        if isinstance(node, ast.IntegerLiteral) and node.value > _MAX_LONG:
            raise _too_large(str(node.value), node.span)


def _too_large(digits: str, span: Span | None) -> ParseError:
    return ParseError(
        "number-too-large",
        f"number {digits[:40]} does not fit 64 bits",
        fix="write it with a decimal point or an exponent",
        span=span,
    )


@builds("decimal")
def decimal(span: Span | None, token: Token) -> ast.DecimalLiteral:
    return ast.DecimalLiteral(Decimal(str(token)), span=span)


@builds("double")
def double(span: Span | None, token: Token) -> ast.DoubleLiteral:
    value = float(token)
    if value == float("inf"):
        raise ParseError("number-too-large", f"number {token[:40]} is not a DOUBLE", span=span)
    return ast.DoubleLiteral(value, span=span)


@builds("named_type")
def named_type(span: Span | None, name: str, *parameters: Any) -> NamedType:
    return NamedType(name, _present(parameters), span=span)


@builds("type_parameter")
def type_parameter(_: Span | None, value: Token | str) -> int | str:
    if isinstance(value, Token):
        return int(value[:20])
    return value


@builds("array_type")
def array_type(span: Span | None, element: TypeNode) -> ArrayOf:
    return ArrayOf(element, span=span)


@builds("map_type")
def map_type(span: Span | None, key: TypeNode, value: TypeNode) -> MapOf:
    return MapOf(key, value, span=span)


@builds("field_type")
def field_type(span: Span | None, name: str, type_: TypeNode) -> FieldType:
    return FieldType(name, type_, span=span)


@builds("struct_type")
def struct_type(span: Span | None, *fields: FieldType | None) -> StructOf:
    return StructOf(_present(fields), span=span)


def _present(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(item for item in items if item is not None)
