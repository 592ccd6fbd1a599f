"""Records of SQL tests: from JSON to the bytes of a format, and back.

Test files are read with ``load``, so that numbers keep all digits as ``Decimal``.
"""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from penstock.formats.language import language_of
from penstock.formats.properties import FormatProperties
from penstock.formats.registered import imports_of, schema_id_of
from penstock.formats.rows import RowFormat, RowSerde
from penstock.formats.wire import WireStruct, sql_fields, sql_type
from penstock.model import java
from penstock.model.sql.errors import AnalysisError
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
    SqlType,
    StructType,
)
from penstock.registry.registry import subject_of
from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes

_TOLERANCE = Decimal("0.000001")


def load(text: str | bytes) -> Any:
    """Parse JSON with fractions as ``Decimal``."""
    return json.loads(text, parse_float=Decimal)


def to_bytes(row: RowFormat, value: Any) -> bytes | None:
    """Return the bytes that a producer would write for a test's JSON value."""
    if value is None:
        return None
    match row.format.name:
        case "JSON":
            return json_text(value).encode()
        case "DELIMITED":
            return (value if isinstance(value, str) else json_text(value)).encode()
        case "KAFKA":
            return _kafka_bytes(row.columns[0].type, value) if row.columns else _text(value)
        case "NONE":
            return _text(value)
        case "PROTOBUF_NOSR":
            return serde_of(row).encode(_row(row.columns, value))
        case _:
            return _registered_bytes(row, value)


def from_bytes(row: RowFormat, data: bytes | None) -> Any:
    """Return the JSON form of a record's bytes, as a consumer without SQL would see it."""
    if data is None:
        return None
    match row.format.name:
        case "JSON":
            return load(data)
        case "DELIMITED":
            return data.decode()
        case "KAFKA":
            return _from_kafka(row.columns[0].type, data)
        case "PROTOBUF_NOSR":
            values = serde_of(row).decode(data)
            return dict(zip((column.name for column in row.columns), values, strict=True))
        case _:
            return _registered_value(row, data)


def _registered_bytes(row: RowFormat, value: Any) -> bytes:
    """Write a value with the newest schema of its topic, whatever columns the source has."""
    registry = row.required_registry()
    subject = subject_of(row.topic, is_key=row.is_key)
    latest = registry.latest(subject)
    if latest is None:
        raise AnalysisError(
            "no-schema", f"the test has no schema for topic {row.topic!r}: {subject!r} is unknown"
        )
    language = language_of(row.format.name)
    name = row.properties.schema_full_name
    imports = imports_of(latest.schema, registry)
    wire = language.wire(latest.schema, imports, name)
    is_struct = isinstance(wire, WireStruct)
    columns = (
        sql_fields(wire, keep_case=True)
        if isinstance(wire, WireStruct)
        else (Field("ROWVAL", sql_type(wire, keep_case=True)),)
    )
    written = replace(row, columns=columns, wrap=is_struct, properties=FormatProperties(None, name))
    values = _row(columns, value) if is_struct else (to_sql(columns[0].type, value),)
    payload = language.encoder(latest.schema, imports, written)(values)
    return b"\0" + latest.id.to_bytes(4, "big") + payload


def _registered_value(row: RowFormat, data: bytes) -> Any:
    registry = row.required_registry()
    schema = registry.by_id(schema_id_of(data))
    language = language_of(row.format.name)
    return language.values(schema, imports_of(schema, registry))(data[5:])


def serde_of(row: RowFormat) -> RowSerde:
    """Return the serde of a row with an envelope, as tests write it."""
    return RowSerde(replace(row, wrap=True))


def _row(columns: Sequence[Field], value: dict[str, Any]) -> tuple[Any, ...]:
    members = {name.upper(): item for name, item in value.items()}
    return tuple(to_sql(column.type, members.get(column.name.upper())) for column in columns)


def to_sql(type_: SqlType, value: Any) -> Any:
    """Return the SQL value that a test's JSON stands for in a column of the type."""
    if value is None:
        return None
    match type_:
        case ArrayType(element):
            return [to_sql(element, item) for item in value]
        case MapType(_, inner):
            return {str(key): to_sql(inner, item) for key, item in value.items()}
        case StructType(fields):
            names = [field.name for field in fields]
            return dict(zip(names, _row(fields, value), strict=True))
        case DecimalType(precision, scale):
            return java.fit(Decimal(value), precision, scale)
        case _:
            return _SCALARS[type_](value)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


_SCALARS: dict[SqlType, Callable[[Any], Any]] = {
    BOOLEAN: lambda value: _as_text(value).lower() == "true",
    INTEGER: int,
    BIGINT: int,
    DOUBLE: float,
    STRING: _as_text,
    BYTES: a2b_base64,
    DATE: int,
    TIME: int,
    TIMESTAMP: int,
}


def matches(actual: Any, expected: Any) -> bool:
    """Return whether a record equals the expected one, as data.

    Numbers are compared by value. Doubles in binary formats may differ in the last digits. An
    expected name may also be in upper case.
    """
    if isinstance(actual, bytes):
        return bool(expected == b2a_base64(actual, newline=False).decode())
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, dict):
        return _objects_match(actual, expected)
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(map(matches, actual, expected))
        )
    if isinstance(actual, float) and isinstance(expected, int | Decimal):
        near = abs(Decimal(actual) - Decimal(expected)) < _TOLERANCE
        return near or actual == float(expected)
    if isinstance(actual, Decimal) and isinstance(expected, str):
        return Decimal(expected) == actual
    return bool(actual == expected)


def _objects_match(actual: Any, expected: dict[str, Any]) -> bool:
    if not isinstance(actual, dict) or len(actual) != len(expected):
        return False
    return all(matches(_member(actual, name), wanted) for name, wanted in expected.items())


def _member(actual: dict[str, Any], name: str) -> Any:
    found = actual.get(name)
    return actual.get(name.upper()) if found is None else found


def json_text(value: Any) -> str:
    """Write JSON; decimals keep their digits."""
    match value:
        case Decimal():
            return str(value)
        case dict():
            inner = (f"{json.dumps(name)}:{json_text(item)}" for name, item in value.items())
            return f"{{{','.join(inner)}}}"
        case list():
            return f"[{','.join(map(json_text, value))}]"
        case _:
            return json.dumps(value)


def _text(value: Any) -> bytes:
    return (value if isinstance(value, str) else json_text(value)).encode()


_KAFKA: dict[SqlType, Serde[Any]] = {
    INTEGER: Serdes.integer(),
    BIGINT: Serdes.long(),
    DOUBLE: Serdes.double(),
    STRING: Serdes.string(),
}


def _kafka_bytes(type_: SqlType, value: Any) -> bytes:
    if type_ in (BYTES, STRING):
        return _text(value)
    return _KAFKA[type_].encode(float(value) if type_ == DOUBLE else int(value))


def _from_kafka(type_: SqlType, data: bytes) -> Any:
    return data.decode() if type_ == BYTES else _KAFKA[type_].decode(data)
