"""Calls of scalar functions, with their lambdas. A call that fails is NULL and logged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.model.sql.errors import SqlError, SqlTypeError
from penstock.model.sql.types import SqlType
from penstock.sql.ast import expressions as ast
from penstock.sql.casting import caster
from penstock.sql.expressions.scope import Column, Compiled, CompileNode, Evaluate, Row, Scope
from penstock.sql.functions.registry import Function, ScalarOverload
from penstock.sql.functions.signature import (
    INTERVAL_UNIT,
    Argument,
    Bindings,
    LambdaArgument,
    LambdaOf,
    Pattern,
    fit,
    substitute,
    target_type,
)
from penstock.sql.syntax.format_expression import format_expression

_UNITS = frozenset(
    f"{unit}{plural}"
    for unit in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")
    for plural in ("", "S")
)


def compile_call(node: ast.FunctionCall, scope: Scope, compile_node: CompileNode) -> Compiled:
    try:
        return _compile_call(node, scope, compile_node)
    except SqlError as error:
        # The registry knows names and types, but not their position in the text.
        if error.span is None and node.span is not None:
            raise type(error)(error.code, error.message, error.fix, span=node.span) from None
        raise


def _compile_call(node: ast.FunctionCall, scope: Scope, compile_node: CompileNode) -> Compiled:
    function = scope.functions.scalar(node.name)
    if node.is_star or node.is_distinct:
        raise SqlTypeError("not-an-aggregate", f"{node.name} takes neither * nor DISTINCT")
    compiled = [
        _argument(function, i, a, scope, compile_node) for i, a in enumerate(node.arguments)
    ]
    types: list[Argument] = [
        LambdaArgument(len(node_.parameters)) if isinstance(node_, ast.Lambda) else _type(c)
        for node_, c in zip(node.arguments, compiled, strict=True)
    ]
    overload, bound = function.choose(types)
    if overload.check is not None:
        texts = (a.value if isinstance(a, ast.StringLiteral) else None for a in node.arguments)
        overload.check(tuple(texts))
    patterns = overload.signature.expanded(len(types)) or ()
    evaluates = []
    for i, (pattern, argument) in enumerate(zip(patterns, node.arguments, strict=True)):
        if isinstance(argument, ast.Lambda):
            assert isinstance(pattern, LambdaOf)
            evaluates.append(_lambda(argument, pattern, bound, scope, compile_node))
        else:
            evaluates.append(_converted(compiled[i], types[i], pattern, bound))
    result = overload.returns(types) if overload.returns else None
    result = result or substitute(overload.signature.result, bound, types)
    return Compiled(result, _invocation(node, overload, types, evaluates, scope))


def _type(compiled: Compiled | None) -> SqlType | None:
    return compiled.type if compiled else None


def _argument(
    function: Function[ScalarOverload], i: int, node: Any, scope: Scope, compile_node: CompileNode
) -> Compiled | None:
    if isinstance(node, ast.Lambda):
        return None
    if isinstance(node, ast.ColumnRef) and node.source is None and node.name in _UNITS:
        # DAYS may be a column; it is a unit only where the function takes a unit.
        wanted = (overload.signature.parameters for overload in function.overloads)
        if any(i < len(p) and p[i] == INTERVAL_UNIT for p in wanted):
            unit = node.name.rstrip("S") + "S"
            return Compiled(INTERVAL_UNIT, lambda _: unit)
    return compile_node(node, scope)


def _converted(
    compiled: Compiled | None, type_: Argument, pattern: Pattern, bound: Bindings
) -> Evaluate:
    assert compiled is not None
    evaluate = compiled.evaluate
    if type_ is None or isinstance(type_, LambdaArgument):
        return evaluate
    target = target_type(pattern, type_, bound)
    if target is None or target == type_:
        return evaluate
    cast = caster(type_, target)
    return lambda row: cast(evaluate(row))


def _lambda(
    node: ast.Lambda, pattern: LambdaOf, bound: Bindings, scope: Scope, compile_node: CompileNode
) -> Evaluate:
    if len(set(node.parameters)) < len(node.parameters):
        raise SqlTypeError(
            "duplicate-parameter", "two parameters of a lambda have one name", span=node.span
        )
    columns = tuple(
        Column(name, substitute(parameter, bound))
        for name, parameter in zip(node.parameters, pattern.parameters, strict=True)
    )
    body = compile_node(node.body, scope.with_parameters(columns))
    before = dict(bound)
    fits = fit(pattern.result, body.type, bound) is not None
    if not fits or any(bound[name] != type_ for name, type_ in before.items()):
        bound.update(before)
        wanted = substitute(pattern.result, bound)
        raise SqlTypeError(
            "wrong-lambda-type",
            f"the lambda returns {body.type}, {wanted} is wanted: {format_expression(node.body)}",
            fix=f"CAST its result to {wanted}",
            span=node.span,
        )
    evaluate = body.evaluate

    # The argument is a Python function that still sees the outer row.
    def close(row: Row) -> Callable[..., Any]:
        return lambda *values: evaluate((*row, *values))

    return close


def _invocation(
    node: ast.FunctionCall,
    overload: ScalarOverload,
    types: Sequence[Argument],
    evaluates: Sequence[Evaluate],
    scope: Scope,
) -> Evaluate:
    implementation = overload.implementation
    if overload.is_typed:
        implementation = implementation(types)
    log, takes_null = scope.log, overload.takes_null
    if len(evaluates) == 1 and not takes_null:
        return _invocation_of_one(node, implementation, evaluates[0], scope)

    def call(row: Row) -> Any:
        try:
            values = [evaluate(row) for evaluate in evaluates]
            if not takes_null and None in values:
                return None
            return implementation(*values)
        # A bad value makes this call NULL, and an outer COALESCE may still replace it.
        except Exception as error:  # noqa: BLE001
            log(format_expression(node), error, row)
            return None

    return call


def _invocation_of_one(
    node: ast.FunctionCall, function: Callable[..., Any], evaluate: Evaluate, scope: Scope
) -> Evaluate:
    """Return the same for the most common case: one argument, and NULL for NULL."""
    log = scope.log

    def call(row: Row) -> Any:
        try:
            value = evaluate(row)
            return None if value is None else function(value)
        # As above.
        except Exception as error:  # noqa: BLE001
            log(format_expression(node), error, row)
            return None

    return call
