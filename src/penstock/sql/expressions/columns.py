"""Expressions over Arrow columns, where Arrow's results are exactly those of the record path.

The record path is ``compiler``. Queries use ``over_rows``, which chooses between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.sql.errors import SqlError
from penstock.model.sql.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, SqlType, StructType
from penstock.model.user_code import user_code
from penstock.sql.arrow import arrow_type, to_array, to_values
from penstock.sql.ast import expressions as ast
from penstock.sql.ast.chains import chain
from penstock.sql.ast.walk import children
from penstock.sql.casting import caster
from penstock.sql.catalog.type_names import resolve
from penstock.sql.expressions.kernels import (
    CAST_KERNELS,
    COMPARE_KERNELS,
    FUNCTION_KERNELS,
    NUMERIC_KERNELS,
)
from penstock.sql.expressions.literals import literal_value
from penstock.sql.expressions.scope import Scope
from penstock.sql.functions.registry import ScalarOverload
from penstock.sql.functions.signature import Bindings, substitute, target_type

# Takes the columns of a batch in the order of the scope, and the number of rows.
EvaluateColumns = Callable[[Sequence[Any], int], Any]

_FIXED_NUMBERS: dict[SqlType, int] = {INTEGER: 0, BIGINT: 1, DOUBLE: 2}
_LITERALS = (
    ast.NullLiteral,
    ast.BooleanLiteral,
    ast.IntegerLiteral,
    ast.DoubleLiteral,
    ast.StringLiteral,
    ast.DecimalLiteral,
    ast.TypedLiteral,
)


@dataclass(frozen=True, slots=True)
class ColumnExpression:
    """A checked expression over columns: its type and the function that computes a column.

    If one value of a batch is bad, the function raises an error, which does not say which value.
    """

    type: SqlType
    evaluate: EvaluateColumns


@dataclass(frozen=True, slots=True)
class _Part:
    type: SqlType
    evaluate: EvaluateColumns


class _NotVectorisedError(Exception):
    """A part of the expression has no exact Arrow form."""


def compile_columns(node: ast.Expression, scope: Scope) -> ColumnExpression | None:
    """Compile an expression that ``compile_expression`` accepts to one over Arrow columns.

    Returns None if a part of it has no exact Arrow form.
    """
    try:
        part = _part(node, scope)
        return ColumnExpression(part.type, _as_column(part))
    except (_NotVectorisedError, SqlError):
        # Arrow does not have an operation, or a type.
        return None


def _as_column(part: _Part) -> EvaluateColumns:
    evaluate, type_ = part.evaluate, arrow_type(part.type)

    def column(columns: Sequence[Any], count: int) -> Any:
        result = evaluate(columns, count)
        if isinstance(result, pa.Scalar):
            return pa.array([result.as_py()] * count, type_)
        return result

    return column


def _part(node: ast.Expression, scope: Scope) -> _Part:
    if isinstance(node, _LITERALS):
        return _literal(node)
    compiler = _COMPILERS.get(type(node))
    if compiler is None:
        raise _NotVectorisedError
    return compiler(node, scope)


def _literal(node: Any) -> _Part:
    type_, value = literal_value(node)
    if type_ is None:
        raise _NotVectorisedError
    scalar = pa.scalar(value, arrow_type(type_))
    return _Part(type_, lambda _, __: scalar)


def _column(node: ast.ColumnRef, scope: Scope) -> _Part:
    index, type_ = scope.find(node)
    return _Part(type_, lambda columns, _: columns[index])


def _binary(node: ast.Binary, scope: Scope) -> _Part:
    left, right = _part(node.left, scope), _part(node.right, scope)
    kernel = NUMERIC_KERNELS.get(node.operator)
    if kernel is None:
        raise _NotVectorisedError
    type_ = _wider(left, right)
    return _Part(type_, _pair(kernel, _converted(left, type_), _converted(right, type_)))


def _comparison(node: ast.Comparison, scope: Scope) -> _Part:
    left, right = _part(node.left, scope), _part(node.right, scope)
    return _compared(node.operator, left, right)


def _compared(operator: str, left: _Part, right: _Part) -> _Part:
    kernel = COMPARE_KERNELS.get(operator)
    if kernel is None:
        raise _NotVectorisedError
    if left.type == right.type and left.type in (STRING, BOOLEAN):
        return _Part(BOOLEAN, _pair(kernel, left.evaluate, right.evaluate))
    type_ = _wider(left, right)
    return _Part(BOOLEAN, _pair(kernel, _converted(left, type_), _converted(right, type_)))


def _between(node: ast.Between, scope: Scope) -> _Part:
    value = _part(node.value, scope)
    low = _compared(">=", value, _part(node.low, scope)).evaluate
    high = _compared("<=", value, _part(node.high, scope)).evaluate
    both = _pair(pc.and_kleene, low, high)
    return _Part(BOOLEAN, _one(pc.invert, both) if node.negated else both)


def _wider(left: _Part, right: _Part) -> SqlType:
    if left.type not in _FIXED_NUMBERS or right.type not in _FIXED_NUMBERS:
        raise _NotVectorisedError
    return max(left.type, right.type, key=lambda type_: _FIXED_NUMBERS[type_])


def _converted(part: _Part, type_: SqlType) -> EvaluateColumns:
    if part.type == type_:
        return part.evaluate
    evaluate, target = part.evaluate, arrow_type(type_)
    # A BIGINT beyond 2**53 loses digits as a DOUBLE, in Java as here; Arrow would refuse it.
    return lambda columns, count: pc.cast(evaluate(columns, count), target, safe=False)


def _pair(
    kernel: Callable[..., Any], left: EvaluateColumns, right: EvaluateColumns
) -> EvaluateColumns:
    return lambda columns, count: kernel(left(columns, count), right(columns, count))


def _one(kernel: Callable[..., Any], inner: EvaluateColumns) -> EvaluateColumns:
    return lambda columns, count: kernel(inner(columns, count))


def _chain(node: ast.And | ast.Or, scope: Scope) -> _Part:
    kernel = pc.and_kleene if isinstance(node, ast.And) else pc.or_kleene
    first, *rest = [_part(part, scope).evaluate for part in chain(node)]
    for other in rest:
        first = _pair(kernel, first, other)
    return _Part(BOOLEAN, first)


def _not(node: ast.Not, scope: Scope) -> _Part:
    return _Part(BOOLEAN, _one(pc.invert, _part(node.operand, scope).evaluate))


def _is_null(node: ast.IsNull, scope: Scope) -> _Part:
    kernel = pc.is_valid if node.negated else pc.is_null
    return _Part(BOOLEAN, _one(kernel, _part(node.value, scope).evaluate))


def _in(node: ast.In, scope: Scope) -> _Part:
    value = _part(node.value, scope)
    found = [literal_value(i) for i in node.items if isinstance(i, _LITERALS)]
    if len(found) < len(node.items) or any(type_ != value.type for type_, _ in found):
        raise _NotVectorisedError
    if value.type not in (INTEGER, BIGINT, STRING):
        raise _NotVectorisedError
    wanted = to_array([v for _, v in found], value.type)

    def kernel(values: Any) -> Any:
        return pc.is_in(values, value_set=wanted)

    inner = _one(kernel, value.evaluate)
    return _Part(BOOLEAN, _one(pc.invert, inner) if node.negated else inner)


def _case(node: ast.Case, scope: Scope) -> _Part:
    if node.operand is not None:
        raise _NotVectorisedError
    conditions = [_part(when.condition, scope).evaluate for when in node.whens]
    results = [_part(when.result, scope) for when in node.whens]
    if node.default is not None:
        results.append(_part(node.default, scope))
    if len({result.type for result in results}) > 1:
        raise _NotVectorisedError
    evaluates = [_as_column(result) for result in results]

    def branches(columns: Sequence[Any], count: int) -> Any:
        flags = [_as_column(_Part(BOOLEAN, c))(columns, count) for c in conditions]
        names = [str(i) for i in range(len(flags))]
        struct = pa.StructArray.from_arrays(flags, names)
        return pc.case_when(struct, *(evaluate(columns, count) for evaluate in evaluates))

    return _Part(results[0].type, branches)


def _cast(node: ast.Cast, scope: Scope) -> _Part:
    value, type_ = _part(node.value, scope), resolve(node.type, scope.types)
    if value.type == type_:
        return value
    kernel = CAST_KERNELS.get((value.type, type_))
    if kernel is None:
        raise _NotVectorisedError
    return _Part(type_, _one(kernel, value.evaluate))


def _dereference(node: ast.Dereference, scope: Scope) -> _Part:
    base = _part(node.base, scope)
    field = base.type.field(node.field) if isinstance(base.type, StructType) else None
    if field is None:
        raise _NotVectorisedError
    name = field.name
    return _Part(field.type, _one(lambda structs: pc.struct_field(structs, name), base.evaluate))


def _call(node: ast.FunctionCall, scope: Scope) -> _Part:
    if any(isinstance(child, ast.Lambda) for child in children(node)):
        raise _NotVectorisedError
    parts = [_part(argument, scope) for argument in node.arguments]  # type: ignore[arg-type]
    function = scope.functions.scalar(node.name)
    overload, bound = function.choose([part.type for part in parts])
    if overload.over_columns is not None:
        return _user_call(overload, bound, parts)
    kernel = FUNCTION_KERNELS.get((node.name, parts[0].type)) if parts else None
    if kernel is None or not kernel.takes(len(parts)) or len({p.type for p in parts}) > 1:
        raise _NotVectorisedError
    return _Part(kernel.type or parts[0].type, _applied(kernel.function, parts))


def _user_call(overload: ScalarOverload, bound: Bindings, parts: list[_Part]) -> _Part:
    assert overload.over_columns is not None
    types = [part.type for part in parts]
    patterns = overload.signature.expanded(len(parts)) or ()
    targets = [target_type(p, t, bound) or t for p, t in zip(patterns, types, strict=True)]
    converted = [
        _Part(target, _as_column(_Part(target, _as_argument(part, target))))
        for part, target in zip(parts, targets, strict=True)
    ]
    result = overload.returns(types) if overload.returns else None
    result = result or substitute(overload.signature.result, bound, types)
    return _Part(result, _applied(overload.over_columns(types), converted))


def _as_argument(part: _Part, type_: SqlType) -> EvaluateColumns:
    """Convert an argument: numbers with Arrow, other types value by value as for records."""
    if part.type == type_ or {part.type, type_} <= _FIXED_NUMBERS.keys():
        return _converted(part, type_)
    source, column, cast = part.type, _as_column(part), caster(part.type, type_)

    def argument(columns: Sequence[Any], count: int) -> Any:
        values = to_values(column(columns, count), source)
        with user_code("a conversion"):
            converted = [cast(value) for value in values]
        return to_array(converted, type_)

    return argument


def _applied(function: Callable[..., Any], parts: list[_Part]) -> EvaluateColumns:
    evaluates = [part.evaluate for part in parts]
    return lambda columns, count: function(*(e(columns, count) for e in evaluates))


_COMPILERS: dict[type, Callable[[Any, Scope], _Part]] = {
    ast.ColumnRef: _column,
    ast.Binary: _binary,
    ast.Comparison: _comparison,
    ast.Between: _between,
    ast.And: _chain,
    ast.Or: _chain,
    ast.Not: _not,
    ast.IsNull: _is_null,
    ast.In: _in,
    ast.Case: _case,
    ast.Cast: _cast,
    ast.Dereference: _dereference,
    ast.FunctionCall: _call,
}
