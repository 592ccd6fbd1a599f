"""ARRAY[...], MAP(...) and STRUCT(...). A member that fails is NULL; the others are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import ArrayType, Field, MapType, SqlType, StructType
from penstock.sql.ast import expressions as ast
from penstock.sql.expressions.coercion import coerce_list
from penstock.sql.expressions.scope import Compiled, CompileNode, Evaluate, Row, Scope
from penstock.sql.syntax.format_expression import format_expression

Constructor = ast.CreateArray | ast.CreateMap | ast.CreateStruct


def compile_constructor(
    node: Constructor, scope: Scope, compile_node: CompileNode, hint: SqlType | None
) -> Compiled:
    match node:
        case ast.CreateArray():
            return _array(node, scope, compile_node, hint)
        case ast.CreateMap():
            return _map(node, scope, compile_node, hint)
        case ast.CreateStruct():
            return _struct(node, scope, compile_node, hint)


def _array(
    node: ast.CreateArray, scope: Scope, compile_node: CompileNode, hint: SqlType | None
) -> Compiled:
    _check_members(node, node.items, "array", "element")
    inner = hint.element if isinstance(hint, ArrayType) else None
    element, items = coerce_list(node.items, scope, compile_node, "an array", inner)
    known = _known(node, element, "array", "elements")
    safe = [_safe(item, child, scope) for item, child in zip(items, node.items, strict=True)]
    return Compiled(ArrayType(known), lambda row: [item(row) for item in safe])


def _map(
    node: ast.CreateMap, scope: Scope, compile_node: CompileNode, hint: SqlType | None
) -> Compiled:
    _check_members(node, node.entries, "map", "key and value")
    keys_in, values_in = [e.key for e in node.entries], [e.value for e in node.entries]
    key_hint, value_hint = (hint.key, hint.value) if isinstance(hint, MapType) else (None, None)
    key, keys = coerce_list(keys_in, scope, compile_node, "keys of a map", key_hint)
    value, values = coerce_list(values_in, scope, compile_node, "values of a map", value_hint)
    type_ = MapType(_known(node, key, "map", "keys"), _known(node, value, "map", "values"))
    pairs = [
        (_safe(k, kn, scope), _safe(v, vn, scope))
        for k, kn, v, vn in zip(keys, keys_in, values, values_in, strict=True)
    ]
    return Compiled(type_, lambda row: {k(row): v(row) for k, v in pairs})


def _struct(
    node: ast.CreateStruct, scope: Scope, compile_node: CompileNode, hint: SqlType | None
) -> Compiled:
    fields: list[Field] = []
    values: list[tuple[str, Evaluate]] = []
    for item in node.fields:
        wanted = hint.field(item.name) if isinstance(hint, StructType) else None
        inner = wanted.type if wanted else None
        type_, (value,) = coerce_list([item.value], scope, compile_node, "a field", inner)
        if any(field.name == item.name for field in fields):
            raise SqlTypeError(
                "duplicate-field", f"struct has two fields {item.name!r}", span=item.span
            )
        fields.append(Field(item.name, _known(item, type_, "struct", f"field {item.name!r}")))
        values.append((item.name, _safe(value, item.value, scope)))
    return Compiled(
        StructType(tuple(fields)), lambda row: {name: value(row) for name, value in values}
    )


def _check_members(node: Any, members: Sequence[Any], kind: str, member: str) -> None:
    if not members:
        raise SqlTypeError(
            "empty-constructor",
            f"{kind} has no {member}, so its type is unknown",
            fix=f"give it at least one {member}",
            span=node.span,
        )


def _known(node: Any, type_: SqlType | None, kind: str, members: str) -> SqlType:
    if type_ is None:
        raise SqlTypeError(
            "unknown-null-type",
            f"{kind} whose {members} are all NULL has no known type",
            fix="CAST one NULL to a type",
            span=node.span,
        )
    return type_


def _safe(evaluate: Evaluate, node: ast.Expression, scope: Scope) -> Evaluate:
    if isinstance(node, ast.ColumnRef | ast.IntegerLiteral | ast.StringLiteral):
        return evaluate
    log = scope.log

    def safe(row: Row) -> Any:
        try:
            return evaluate(row)
        # ksqlDB keeps the other members of a value when one of them fails.
        except Exception as error:  # noqa: BLE001
            log(format_expression(node), error, row)
            return None

    return safe
