"""From types as a statement writes them to the types of ``penstock.model.sql.types``."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.sql.errors import SqlTypeError, did_you_mean
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    Scalar,
    SqlType,
    StructType,
)
from penstock.sql.ast.types import ArrayOf, MapOf, NamedType, StructOf, TypeNode

_NAMES: dict[str, Scalar] = {
    "BOOLEAN": BOOLEAN,
    "INT": INTEGER,
    "INTEGER": INTEGER,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "VARCHAR": STRING,
    "BYTES": BYTES,
    "DATE": DATE,
    "TIME": TIME,
    "TIMESTAMP": TIMESTAMP,
}
_NO_TYPES: Mapping[str, SqlType] = {}


def resolve(node: TypeNode, custom: Mapping[str, SqlType] = _NO_TYPES) -> SqlType:
    """Return the SQL type of a written type; ``custom`` has the types of CREATE TYPE."""
    match node:
        case ArrayOf(element):
            return ArrayType(resolve(element, custom))
        case MapOf(key, value):
            return MapType(resolve(key, custom), resolve(value, custom))
        case StructOf():
            return _struct(node, custom)
        case NamedType("DECIMAL" | "DEC", parameters):
            return _decimal(node, parameters)
        case NamedType(name, parameters):
            return _named(node, name, parameters, custom)


def _struct(node: StructOf, custom: Mapping[str, SqlType]) -> StructType:
    seen: set[str] = set()
    for field in node.fields:
        if field.name in seen:
            raise SqlTypeError(
                "duplicate-field", f"struct has two fields {field.name!r}", span=field.span
            )
        seen.add(field.name)
    return StructType(tuple(Field(f.name, resolve(f.type, custom)) for f in node.fields))


def _decimal(node: NamedType, parameters: tuple[int | str, ...]) -> DecimalType:
    match parameters:
        case (int(precision), int(scale)) if precision >= 1 and 0 <= scale <= precision:
            return DecimalType(precision, scale)
    shown = ", ".join(str(p) for p in parameters)
    raise SqlTypeError(
        "bad-decimal",
        f"DECIMAL({shown}) is not a type",
        fix="write DECIMAL(precision, scale) with precision >= 1 and 0 <= scale <= precision",
        span=node.span,
    )


def _named(
    node: NamedType, name: str, parameters: tuple[int | str, ...], custom: Mapping[str, SqlType]
) -> SqlType:
    found = _NAMES.get(name) or custom.get(name)
    if found is None:
        raise SqlTypeError(
            "unknown-type",
            f"type {name!r} does not exist",
            fix=did_you_mean(name, [*_NAMES, "DECIMAL", "ARRAY", "MAP", "STRUCT", *custom]),
            span=node.span,
        )
    # VARCHAR(STRING) and VARCHAR(255) are old spellings of VARCHAR.
    is_old_spelling = found == STRING and all(
        isinstance(p, int) or p == "STRING" for p in parameters
    )
    if parameters and not is_old_spelling:
        raise SqlTypeError(
            "type-parameters",
            f"type {name} takes no parameters",
            fix=f"write {name}",
            span=node.span,
        )
    return found
