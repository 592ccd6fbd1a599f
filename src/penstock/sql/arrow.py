"""SQL types and values in Arrow. Dates and times are whole numbers, as everywhere in a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.model.sql.errors import SqlTypeError
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
    DATE: pa.int32(),
    TIME: pa.int32(),
    TIMESTAMP: pa.int64(),
}


def arrow_type(type_: SqlType) -> Any:
    """Return the Arrow type of a column.

    >>> arrow_type(ArrayType(INTEGER))
    ListType(list<item: int32>)
    """
    match type_:
        case DecimalType(precision, scale):
            if precision > _MAX_PRECISION:
                raise SqlTypeError("no-column-type", f"{type_} has more digits than Arrow holds")
            return (pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale)
        case ArrayType(element):
            return pa.list_(arrow_type(element))
        case MapType(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case StructType(fields):
            return pa.struct([pa.field(f.name, arrow_type(f.type)) for f in fields])
        case _:
            return _SCALARS[type_]


def to_array(values: Sequence[Any], type_: SqlType) -> Any:
    """Return an Arrow array of SQL values.

    Raises:
        SqlTypeError: Arrow cannot hold a value, such as a map with a NULL key.
    """
    try:
        return pa.array(values, arrow_type(type_), from_pandas=False)
    except pa.ArrowInvalid as error:
        raise SqlTypeError(
            "no-column-value", f"a column of {type_} is not possible: {error}"
        ) from None


def to_values(array: Any, type_: SqlType) -> list[Any]:
    """Return the SQL values of an Arrow array."""
    values: list[Any] = array.to_pylist()
    convert = _converter(type_)
    return values if convert is None else [convert(value) for value in values]


def _converter(type_: SqlType) -> Callable[[Any], Any] | None:
    """Return the conversion of Arrow's Python values to SQL values; None if they are the same.

    Only maps differ: Arrow returns them as lists of pairs.
    """
    match type_:
        case MapType(_, value):
            inner = _converter(value) or _same
            return lambda pairs: None if pairs is None else {k: inner(v) for k, v in pairs}
        case ArrayType(element):
            each = _converter(element)
            return each and _each(each)
        case StructType(fields):
            inners = {field.name: _converter(field.type) for field in fields}
            if not any(inners.values()):
                return None
            return lambda s: (
                None if s is None else {n: (inners[n] or _same)(v) for n, v in s.items()}
            )
        case _:
            return None


def _same(value: Any) -> Any:
    return value


def _each(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: None if values is None else [convert(value) for value in values]
