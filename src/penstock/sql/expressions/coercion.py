"""Lists of one type: IN, ARRAY, MAP. Text literals are converted to the type of the others."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from penstock.model.java import MAX_INT, MAX_LONG, MIN_INT, MIN_LONG
from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    SqlType,
    is_numeric,
    merge,
)
from penstock.sql.ast import expressions as ast
from penstock.sql.casting import caster, read_boolean, read_decimal
from penstock.sql.expressions.arithmetic import converted
from penstock.sql.expressions.literals import constant, decimal_type, literal_value
from penstock.sql.expressions.scope import Compiled, CompileNode, Evaluate, Scope
from penstock.sql.syntax.format_expression import format_expression

_CONSTRUCTORS = ast.CreateArray | ast.CreateMap | ast.CreateStruct
_SIMPLE_LITERALS = ast.BooleanLiteral | ast.IntegerLiteral | ast.DecimalLiteral | ast.DoubleLiteral


def coerce_list(
    nodes: Sequence[ast.Expression],
    scope: Scope,
    compile_node: CompileNode,
    what: str,
    hint: SqlType | None = None,
) -> tuple[SqlType | None, list[Evaluate]]:
    """Compile all members to one type; the type is None if all are NULL.

    The first member that is not NULL decides the type: text literals are parsed as that type. If it
    is STRING, other literals are converted to text.
    """
    first = next((node for node in nodes if not isinstance(node, ast.NullLiteral)), None)
    target = hint if hint or not isinstance(first, ast.StringLiteral) else STRING
    compiled: dict[int, Compiled] = {}
    for wave in (_is_firm, _is_constructor, _is_text):
        for i, node in enumerate(nodes):
            if i in compiled or not wave(node):
                continue
            compiled[i] = _member(node, target, scope, compile_node)
            target = _merged(target, compiled[i].type, node, what)
    final = target
    if final is None:
        return None, [compiled[i].evaluate for i in range(len(nodes))]
    return final, [converted(compiled[i], final) for i in range(len(nodes))]


def _is_firm(node: ast.Expression) -> bool:
    return not _is_constructor(node) and not _is_text(node)


def _is_constructor(node: ast.Expression) -> bool:
    return isinstance(node, _CONSTRUCTORS)


def _is_text(node: ast.Expression) -> bool:
    return isinstance(node, ast.StringLiteral)


def _member(
    node: ast.Expression, target: SqlType | None, scope: Scope, compile_node: CompileNode
) -> Compiled:
    if isinstance(node, ast.StringLiteral):
        return _read_text(node, target)
    if target == STRING and isinstance(node, _SIMPLE_LITERALS):
        type_, value = literal_value(node)
        assert type_ is not None
        return constant(STRING, caster(type_, STRING)(value))
    return compile_node(node, scope, target)


def _read_text(node: ast.StringLiteral, target: SqlType | None) -> Compiled:
    if target is None or target == STRING:
        return constant(STRING, node.value)
    try:
        if target == BOOLEAN:
            value = read_boolean(node.value)
            if value is None:
                raise ValueError(node.value)
            return constant(BOOLEAN, value)
        if is_numeric(target):
            return _number(read_decimal(node.value))
        if target in (DATE, TIME, TIMESTAMP):
            return constant(target, caster(STRING, target)(node.value))
    except ValueError:
        raise SqlTypeError(
            "bad-literal", f"{node.value!r} is not a {target}", span=node.span
        ) from None
    return constant(STRING, node.value)


def _number(value: Decimal) -> Compiled:
    if value == value.to_integral_value() and value.as_tuple().exponent == 0:
        if MIN_INT <= value <= MAX_INT:
            return constant(INTEGER, int(value))
        if MIN_LONG <= value <= MAX_LONG:
            return constant(BIGINT, int(value))
    return constant(decimal_type(value), value)


def _merged(
    target: SqlType | None, type_: SqlType | None, node: ast.Expression, what: str
) -> SqlType | None:
    if target is None or type_ is None:
        return target or type_
    try:
        return merge(target, type_)
    except SqlTypeError:
        raise SqlTypeError(
            "mixed-types",
            f"{what} of {target} cannot hold {format_expression(node)}, which is {type_}",
            fix=f"CAST it to {target}",
            span=node.span,
        ) from None
