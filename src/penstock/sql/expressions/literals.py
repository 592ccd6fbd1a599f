"""Literals: values whose type is in their spelling."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from penstock.model.java import MAX_INT, MIN_INT
from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    DecimalType,
    SqlType,
)
from penstock.sql.ast import expressions as ast
from penstock.sql.casting import caster, read_decimal
from penstock.sql.expressions.scope import Compiled, Scope

_TYPED: dict[str, SqlType] = {"DATE": DATE, "TIME": TIME, "TIMESTAMP": TIMESTAMP}


def constant(type_: SqlType | None, value: Any) -> Compiled:
    return Compiled(type_, lambda _: value)


def compile_literal(node: ast.Literals, _: Scope, __: Any = None) -> Compiled:
    type_, value = literal_value(node)
    return constant(type_, value)


def literal_value(node: ast.Literals) -> tuple[SqlType | None, Any]:
    """Return the type and the value of a literal; NULL has no type."""
    match node:
        case ast.NullLiteral():
            return None, None
        case ast.BooleanLiteral(value):
            return BOOLEAN, value
        case ast.IntegerLiteral(value):
            return (INTEGER if MIN_INT <= value <= MAX_INT else BIGINT), value
        case ast.DecimalLiteral(value):
            return decimal_type(value), value
        case ast.DoubleLiteral(value):
            return DOUBLE, value
        case ast.StringLiteral(value):
            return STRING, value
        case ast.TypedLiteral():
            return _typed(node)


def decimal_type(value: Decimal) -> DecimalType:
    """Return the smallest DECIMAL that holds a number: ``0.05`` is DECIMAL(3, 2), as in Java.

    >>> str(decimal_type(Decimal("1.20")))
    'DECIMAL(3, 2)'
    """
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    return DecimalType(max(len(digits) + max(0, exponent), scale, 1), scale)


def _typed(node: ast.TypedLiteral) -> tuple[SqlType, Any]:
    try:
        if node.type_name in ("DECIMAL", "DEC"):
            number = read_decimal(node.text)
            return decimal_type(number), number
        if node.type_name in _TYPED:
            type_ = _TYPED[node.type_name]
            return type_, caster(STRING, type_)(node.text)
    except ValueError as error:
        raise SqlTypeError("bad-literal", str(error), span=node.span) from None
    raise SqlTypeError(
        "unknown-literal",
        f"there are no literals of type {node.type_name}",
        fix=f"write CAST('{node.text}' AS {node.type_name})",
        span=node.span,
    )
