"""Records of SQL cases: their JSON to the bytes of a format, and bytes back to JSON.

Cases have to be loaded with ``load``: their numbers keep all digits, as ``Decimal``.
"""

from __future__ import annotations

import json
from binascii import b2a_base64
from decimal import Decimal
from typing import Any

from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes
from penstock.sql.formats.rows import RowFormat
from penstock.sql.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, SqlType

_TOLERANCE = Decimal("0.000001")


def load(text: str | bytes) -> Any:
    """Parses JSON with fractions as ``Decimal``."""
    return json.loads(text, parse_float=Decimal)


def to_bytes(row: RowFormat, value: Any) -> bytes | None:
    """Gives the bytes that a producer would write for a case's JSON value."""
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
        case other:
            raise NotImplementedError(other)


def from_bytes(row: RowFormat, data: bytes | None) -> Any:
    """Gives the JSON form of a record's bytes: what a consumer without SQL would see."""
    if data is None:
        return None
    match row.format.name:
        case "JSON":
            return load(data)
        case "DELIMITED":
            return data.decode()
        case "KAFKA":
            return _from_kafka(row.columns[0].type, data)
        case other:
            raise NotImplementedError(other)


def matches(actual: Any, expected: Any) -> bool:
    """Tells whether a record is the expected one, as data.

    Numbers are equal by value; doubles that were no text on the topic may differ in the last
    digits; an expected name also stands for itself in upper case.
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
        return abs(Decimal(actual) - Decimal(expected)) < _TOLERANCE
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
    """Writes JSON; decimals keep their digits."""
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
