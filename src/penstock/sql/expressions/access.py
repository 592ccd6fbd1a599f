"""Access to parts of values, and conversion: ``->``, ``[...]``, CAST, AT TIME ZONE."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from penstock.model.sql.errors import AnalysisError, SqlTypeError, did_you_mean
from penstock.model.sql.types import (
    BIGINT,
    INTEGER,
    TIMESTAMP,
    ArrayType,
    MapType,
    StructType,
    can_widen,
)
from penstock.model.time.calendar import EPOCH, from_ms, to_ms
from penstock.sql.ast import expressions as ast
from penstock.sql.casting import caster
from penstock.sql.catalog.type_names import resolve
from penstock.sql.expressions.arithmetic import converted
from penstock.sql.expressions.literals import constant
from penstock.sql.expressions.scope import Compiled, CompileNode, Row, Scope
from penstock.sql.syntax.format_expression import format_expression


def compile_cast(node: ast.Cast, scope: Scope, compile_node: CompileNode) -> Compiled:
    target = resolve(node.type, scope.types)
    value = compile_node(node.value, scope, target)
    if value.type is None:
        return constant(target, None)
    try:
        cast = caster(value.type, target)
    except SqlTypeError as error:
        raise SqlTypeError(error.code, error.message, error.fix, span=node.span) from None
    evaluate, log = value.evaluate, scope.log

    def cast_value(row: Row) -> Any:
        try:
            return cast(evaluate(row))
        # A value that cannot be cast becomes NULL here, so that COALESCE can replace it.
        except Exception as error:  # noqa: BLE001
            log(format_expression(node), error, row)
            return None

    return Compiled(target, cast_value)


def compile_at_time_zone(node: ast.AtTimeZone, scope: Scope, compile_node: CompileNode) -> Compiled:
    value = compile_node(node.value, scope)
    if value.type != TIMESTAMP:
        raise SqlTypeError(
            "wrong-type",
            f"AT TIME ZONE takes a TIMESTAMP, {format_expression(node.value)} is {value.type}",
            span=node.span,
        )
    try:
        zone = ZoneInfo(node.zone)
    except (KeyError, ValueError, OSError):
        raise SqlTypeError(
            "unknown-time-zone", f"there is no time zone {node.zone!r}", span=node.span
        ) from None
    evaluate = value.evaluate

    def shifted(row: Row) -> int | None:
        ms = evaluate(row)
        if ms is None:
            return None
        return to_ms(from_ms(ms).astimezone(zone).replace(tzinfo=EPOCH.tzinfo))

    return Compiled(TIMESTAMP, shifted)


def compile_dereference(node: ast.Dereference, scope: Scope, compile_node: CompileNode) -> Compiled:
    base = compile_node(node.base, scope)
    if not isinstance(base.type, StructType):
        raise SqlTypeError(
            "not-a-struct",
            f"{format_expression(node.base)} is {base.type or 'NULL'}, -> takes a STRUCT",
            span=node.span,
        )
    name, evaluate = node.field, base.evaluate
    field = base.type.field(name)
    if field is None:
        raise AnalysisError(
            "unknown-field",
            f"{format_expression(node.base)} has no field {name!r}",
            fix=did_you_mean(name, [f.name for f in base.type.fields])
            or f"fields are {', '.join(f.name for f in base.type.fields)}",
            span=node.span,
        )

    def part(row: Row) -> Any:
        struct = evaluate(row)
        return None if struct is None else struct.get(name)

    return Compiled(field.type, part)


def compile_subscript(node: ast.Subscript, scope: Scope, compile_node: CompileNode) -> Compiled:
    base = compile_node(node.base, scope)
    index = compile_node(node.index, scope)
    match base.type:
        case ArrayType(element):
            if index.type not in (INTEGER, BIGINT):
                raise _wrong_index(node, "a whole number", index)
            return Compiled(element, _element(base, index))
        case MapType(key, value):
            if index.type is None or not can_widen(index.type, key):
                raise _wrong_index(node, str(key), index)
            return Compiled(value, _entry(base, index, key))
        case _:
            raise SqlTypeError(
                "not-a-collection",
                f"{format_expression(node.base)} is {base.type or 'NULL'},"
                " [...] takes an ARRAY or a MAP",
                span=node.span,
            )


def _wrong_index(node: ast.Subscript, wanted: str, index: Compiled) -> SqlTypeError:
    return SqlTypeError(
        "wrong-index",
        f"{format_expression(node.base)} is indexed by {wanted},"
        f" {format_expression(node.index)} is {index.type or 'NULL'}",
        span=node.span,
    )


def _element(base: Compiled, index: Compiled) -> Any:
    values, place = base.evaluate, index.evaluate

    def element(row: Row) -> Any:
        array, i = values(row), place(row)
        if array is None or i is None:
            return None
        # The first element is 1 and the last is -1; index 0 and indexes past the ends are NULL.
        if 0 < i <= len(array):
            return array[i - 1]
        return array[i] if -len(array) <= i < 0 else None

    return element


def _entry(base: Compiled, index: Compiled, key_type: Any) -> Any:
    values, key = base.evaluate, converted(index, key_type)

    def entry(row: Row) -> Any:
        mapping, wanted = values(row), key(row)
        return None if mapping is None else mapping.get(wanted)

    return entry
