"""Rows of a query as an Arrow table, with Arrow's own types for dates and times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from penstock.client.errors import ClientError
from penstock.client.rows import Column, Row
from penstock.model.sql.arrow_types import ArrowTypes
from penstock.model.sql.types import (
    BIGINT,
    INTEGER,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)


def _no_type(type_: DecimalType) -> Any:
    raise ClientError("no-arrow-type", f"{type_} has more digits than Arrow holds")


_TYPES = ArrowTypes(
    date=pa.date32(),
    time=pa.time32("ms"),
    timestamp=pa.timestamp("ms", tz="UTC"),
    longer=_no_type,
)


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

    >>> arrow_type(ArrayType(INTEGER))
    ListType(list<item: int32>)
    """
    return _TYPES.of(type_)


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
