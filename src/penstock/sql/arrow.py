"""SQL types and values in Arrow. Dates and times are whole numbers, as everywhere in a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.model.sql.arrow_types import ArrowTypes
from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import ArrayType, DecimalType, MapType, SqlType, StructType


def _no_type(type_: DecimalType) -> Any:
    raise SqlTypeError("no-column-type", f"{type_} has more digits than Arrow holds")


_TYPES = ArrowTypes(date=pa.int32(), time=pa.int32(), timestamp=pa.int64(), longer=_no_type)


def arrow_type(type_: SqlType) -> Any:
    """Return the Arrow type of a column.

    >>> from penstock.model.sql.types import DATE
    >>> arrow_type(ArrayType(DATE))
    ListType(list<item: int32>)
    """
    return _TYPES.of(type_)


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
