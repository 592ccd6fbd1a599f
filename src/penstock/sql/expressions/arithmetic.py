"""Arithmetic and concatenation: Java's whole numbers, IEEE doubles, exact decimals."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

from penstock.model import java
from penstock.model.sql.errors import FunctionError, SqlTypeError
from penstock.model.sql.types import (
    BYTES,
    DOUBLE,
    INTEGER,
    STRING,
    DecimalType,
    SqlType,
    arithmetic_type,
    is_numeric,
    wider_number,
)
from penstock.sql.ast import expressions as ast
from penstock.sql.casting import caster
from penstock.sql.expressions.intervals import compile_interval_sum, has_interval
from penstock.sql.expressions.scope import Compiled, CompileNode, Evaluate, Row, Scope
from penstock.sql.syntax.format_expression import format_expression

Operation = Callable[[Any, Any], Any]


def compile_binary(node: ast.Binary, scope: Scope, compile_node: CompileNode) -> Compiled:
    if has_interval(node):
        return compile_interval_sum(node, scope, compile_node)
    left, right = compile_node(node.left, scope), compile_node(node.right, scope)
    if node.operator == "||":
        return _concatenation(node, left, right)
    type_ = _result_type(node, left.type, right.type)
    lift = strict if scope.lambda_columns else lifted
    if type_ == STRING:
        return Compiled(STRING, _joined(left.evaluate, right.evaluate))
    if type_ == BYTES:
        return Compiled(type_, lift(operator.add, left.evaluate, right.evaluate))
    # With NULL on one side there is no type of the result.
    assert left.type is not None
    assert right.type is not None
    wide = wider_number(left.type, right.type)
    if not isinstance(wide, DecimalType):
        a, b = converted(left, wide), converted(right, wide)
        return Compiled(type_, lift(_operation(node.operator, wide), a, b))
    assert isinstance(type_, DecimalType)
    exact = _decimal_operation(node.operator, type_)
    return Compiled(type_, lift(exact, left.evaluate, right.evaluate))


def _concatenation(node: ast.Binary, left: Compiled, right: Compiled) -> Compiled:
    # The operator is the same as CONCAT: a NULL adds nothing.
    type_ = left.type or right.type
    if type_ not in (STRING, BYTES) or right.type not in (type_, None):
        raise _unfit(node, left.type, right.type)
    a, b = left.evaluate, right.evaluate
    empty: Any = "" if type_ == STRING else b""
    return Compiled(type_, lambda row: (a(row) or empty) + (b(row) or empty))


def _joined(left: Evaluate, right: Evaluate) -> Evaluate:
    """Join two texts with ``+`` as Java does: a NULL becomes the word null."""

    def evaluate(row: Row) -> str:
        a, b = left(row), right(row)
        return ("null" if a is None else a) + ("null" if b is None else b)

    return evaluate


def _result_type(node: ast.Binary, left: SqlType | None, right: SqlType | None) -> SqlType:
    if left is not None and right is not None:
        if left == right and left in (STRING, BYTES) and node.operator == "+":
            return left
        if is_numeric(left) and is_numeric(right):
            return arithmetic_type(node.operator, left, right)
    raise _unfit(node, left, right)


def _unfit(node: ast.Binary, left: SqlType | None, right: SqlType | None) -> SqlTypeError:
    return SqlTypeError(
        "no-such-operation",
        f"operator {node.operator} does not take {left or 'NULL'} and {right or 'NULL'}:"
        f" {format_expression(node)}",
        fix="CAST one side" if None not in (left, right) else "CAST the NULL to a type",
        span=node.span,
    )


def compile_unary(node: ast.Unary, scope: Scope, compile_node: CompileNode) -> Compiled:
    operand = compile_node(node.operand, scope)
    if operand.type is None or not is_numeric(operand.type):
        raise SqlTypeError(
            "no-such-operation",
            f"operator {node.operator} does not take {operand.type or 'NULL'}",
            span=node.span,
        )
    if node.operator == "+":
        return Compiled(operand.type, operand.evaluate)
    evaluate, negate = operand.evaluate, _negation(operand.type)

    def negated(row: Row) -> Any:
        value = evaluate(row)
        return None if value is None else negate(value)

    return Compiled(operand.type, negated)


def _negation(type_: SqlType) -> Callable[[Any], Any]:
    if type_ == DOUBLE:
        return lambda value: -value
    if isinstance(type_, DecimalType):
        return Decimal.copy_negate
    wrap = java.wrap_int if type_ == INTEGER else java.wrap_long
    return lambda value: wrap(-value)


def converted(compiled: Compiled, target: SqlType) -> Evaluate:
    """Return the evaluation with its value converted to another type."""
    evaluate = compiled.evaluate
    if compiled.type is None or compiled.type == target:
        return evaluate
    cast = caster(compiled.type, target)
    return lambda row: cast(evaluate(row))


def lifted(operation: Operation, left: Evaluate, right: Evaluate) -> Evaluate:
    """Apply an operation to two values; the result is NULL if either is NULL."""

    def evaluate(row: Row) -> Any:
        a = left(row)
        if a is None:
            return None
        b = right(row)
        return None if b is None else operation(a, b)

    return evaluate


def strict(operation: Operation, left: Evaluate, right: Evaluate) -> Evaluate:
    """Apply an operation to two values; a NULL is an error.

    Arithmetic in a lambda behaves so in ksqlDB: one NULL makes the whole call NULL.
    """

    def evaluate(row: Row) -> Any:
        a, b = left(row), right(row)
        if a is None or b is None:
            raise FunctionError("null-operand", "a lambda calculates with NULL")
        return operation(a, b)

    return evaluate


def _operation(symbol: str, type_: SqlType) -> Operation:
    if type_ == DOUBLE:
        return _DOUBLES[symbol]
    if type_ == INTEGER:
        return _wrapped(_WHOLE[symbol], java.MIN_INT, java.MAX_INT, java.wrap_int)
    return _wrapped(_WHOLE[symbol], java.MIN_LONG, java.MAX_LONG, java.wrap_long)


def _wrapped(plain: Operation, low: int, high: int, wrap: Callable[[int], int]) -> Operation:
    def operation(a: int, b: int) -> int:
        result: int = plain(a, b)
        # Nearly every result fits, and a comparison is cheaper than a call.
        return result if low <= result <= high else wrap(result)

    return operation


def _decimal_operation(symbol: str, type_: DecimalType) -> Operation:
    plain, precision, scale = _DECIMALS[symbol], type_.precision, type_.scale

    def operation(a: Any, b: Any) -> Decimal:
        with localcontext(java.EXACT):
            return java.fit(plain(Decimal(a), Decimal(b)), precision, scale)

    return operation


def _remainder(left: Decimal, right: Decimal) -> Decimal:
    # Python's own keeps the sign of the dividend, as Java does.
    return left % right


_WHOLE: dict[str, Operation] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": java.divide,
    "%": java.remainder,
}
_DOUBLES: dict[str, Operation] = {
    **_WHOLE,
    "/": java.divide_doubles,
    "%": java.remainder_doubles,
}
_DECIMALS: dict[str, Operation] = {**_WHOLE, "/": operator.truediv, "%": _remainder}
