"""Rows as JSON. Values that JSON cannot express become the same texts as in ksqlDB's API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from penstock.formats.columns import ColumnLike
from penstock.model.sql.types import (
    DATE,
    DOUBLE,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)
from penstock.sql.casting import texter
from penstock.sql.planner.lowering.context import Row

Convert = Callable[[Any], Any]
#: BYTES become base64 by themselves.
_encode = msgspec.json.Encoder(decimal_format="number").encode


def row_writer(columns: Sequence[ColumnLike]) -> Callable[[Row], bytes]:
    """Return the function from a row of SQL values to a JSON array.

    >>> from penstock.model.sql.types import Field
    >>> row_writer([Field("T", TIMESTAMP), Field("D", DOUBLE)])((1000, float("inf")))
    b'["1970-01-01T00:00:01.000","Infinity"]'
    """
    found = [(place, _converter(column.type)) for place, column in enumerate(columns)]
    changed = [(place, convert) for place, convert in found if convert is not None]
    if not changed:
        return _encode

    def write(row: Row) -> bytes:
        values = list(row)
        for place, convert in changed:
            if values[place] is not None:
                values[place] = convert(values[place])
        return _encode(values)

    return write


def _converter(type_: SqlType) -> Convert | None:
    match type_:
        case ArrayType(element):
            item = _nullable(element)
            return item and (lambda values: [item(value) for value in values])
        case MapType(_, value_type):
            value = _nullable(value_type)
            return value and (lambda entries: {key: value(v) for key, v in entries.items()})
        case StructType(fields):
            inner = [(field.name, _nullable(field.type)) for field in fields]
            used = [(name, convert) for name, convert in inner if convert is not None]
            return _struct(used) if used else None
        case DecimalType():
            return _plain_decimal
        case _:
            return _SCALARS.get(type_)


def _nullable(type_: SqlType) -> Convert | None:
    convert = _converter(type_)
    return convert and (lambda value: None if value is None else convert(value))


def _struct(used: list[tuple[str, Convert]]) -> Convert:
    return lambda value: value | {name: convert(value.get(name)) for name, convert in used}


def _plain_decimal(value: Decimal) -> Decimal:
    """Write 100 for 1E+2: clients read digits, as Java's plain form of a decimal has them."""
    return Decimal(f"{value:f}")


def _double(value: float) -> float | str:
    if value - value == 0:
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _text(type_: SqlType) -> Convert:
    convert = texter(type_)
    assert convert is not None
    return convert


_SCALARS: dict[SqlType, Convert] = {
    DOUBLE: _double,
    TIMESTAMP: _text(TIMESTAMP),
    DATE: _text(DATE),
    TIME: _text(TIME),
}
