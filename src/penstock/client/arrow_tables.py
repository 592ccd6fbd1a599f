"""Rows of a query as an Arrow table, with Arrow's own types for dates and times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from penstock.client.errors import ClientError
from penstock.client.rows import Column, Row
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
    MapType,
    SqlType,
    StructType,
)

_MAX_PRECISION = 76
_SCALARS: dict[SqlType, Any] = {
    BOOLEAN: pa.bool_(),
    INTEGER: pa.int32(),
    BIGINT: pa.int64(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    BYTES: pa.binary(),
    DATE: pa.date32(),
    TIME: pa.time32("ms"),
    TIMESTAMP: pa.timestamp("ms", tz="UTC"),
}


def arrow_table(columns: Sequence[Column], rows: Iterable[Row]) -> Any:
    """Return the rows as a table with one typed column for each column of the query.

    Raises:
        ClientError: ``no-arrow-value``: a value, such as a date of the year 10000, has no place
            in its Arrow type.
    """
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [_array(column, cells) for column, cells in zip(columns, values, strict=True)]
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def arrow_type(type_: SqlType) -> Any:
    """Return the Arrow type of a column.

    >>> arrow_type(ArrayType(DATE))
    ListType(list<item: date32[day]>)
    """
    match type_:
        case DecimalType(precision, scale):
            if precision > _MAX_PRECISION:
                raise ClientError("no-arrow-type", f"{type_} has more digits than Arrow holds")
            return (pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale)
        case ArrayType(element):
            return pa.list_(arrow_type(element))
        case MapType(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case StructType(fields):
            return pa.struct([pa.field(f.name, arrow_type(f.type)) for f in fields])
        case _:
            return _SCALARS[type_]


def _array(column: Column, values: Iterable[Any]) -> Any:
    try:
        cells = [_cell(value, column.type) for value in values]
        return pa.array(cells, type=arrow_type(column.type))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise ClientError(
            "no-arrow-value", f"column {column.name} ({column.type}) has a value that"
            f" Arrow cannot hold: {error}",
            fix="use the rows as they are, or CAST the column in the query",
        ) from None  # fmt: skip


def _cell(value: Any, type_: SqlType) -> Any:
    """Return a value as Arrow takes it: maps as lists of pairs, whose keys have their type."""
    if value is None:
        return None
    match type_:
        case ArrayType(element):
            return [_cell(item, element) for item in value]
        case MapType(key_type, value_type):
            # JSON has only text for keys.
            read = int if key_type in (INTEGER, BIGINT) else str
            return [(read(key), _cell(item, value_type)) for key, item in value.items()]
        case StructType(fields):
            return {each.name: _cell(value.get(each.name), each.type) for each in fields}
        case _:
            return value
