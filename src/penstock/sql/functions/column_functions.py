"""Users' functions over Arrow arrays. A batch is one call; a record is an array of one row.

The user's function gets dates and times as Arrow's own types. Inside a query they are whole
numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.model.sql.types import (
    DATE,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    MapType,
    SqlType,
    StructType,
)
from penstock.sql.arrow import arrow_type, to_array, to_values
from penstock.sql.functions.conversion import WrongResultError
from penstock.sql.functions.user_calls import Declared, Types

_MOMENTS: dict[SqlType, Any] = {
    DATE: pa.date32(),
    TIME: pa.time32("ms"),
    TIMESTAMP: pa.timestamp("ms", "UTC"),
}


def column_call(
    function: Callable[..., Any], declared: Declared, types: Types
) -> Callable[..., Any]:
    """Return a function over SQL arrays that calls the user's function and checks its result."""
    targets = [target or STRING for target in declared.targets(types)]
    result = declared.result(types)
    shown = [user_type(target) for target in targets]
    wanted, inside = user_type(result), arrow_type(result)

    def call(*arrays: Any) -> Any:
        count = len(arrays[0])
        try:
            given = (_as(array, type_) for array, type_ in zip(arrays, shown, strict=True))
            return _as(_checked(function(*given), wanted, count), inside)
        except Exception as error:
            raise declared.failed(error, function) from error

    return call


def one_row_call(
    function: Callable[..., Any], declared: Declared, types: Types
) -> Callable[..., Any]:
    """Return the same function over single values: each call makes arrays of one element."""
    over_arrays, result = column_call(function, declared, types), declared.result(types)
    targets = [target or STRING for target in declared.targets(types)]

    def call(*values: Any) -> Any:
        arrays = (to_array([v], t) for v, t in zip(values, targets, strict=True))
        return to_values(over_arrays(*arrays), result)[0]

    return call


def user_type(type_: SqlType) -> Any:
    """Return the Arrow type in which a user's function gets and returns a SQL type."""
    match type_:
        case ArrayType(element):
            return pa.list_(user_type(element))
        case MapType(key, value):
            return pa.map_(user_type(key), user_type(value))
        case StructType(fields):
            return pa.struct([pa.field(f.name, user_type(f.type)) for f in fields])
        case _:
            return _MOMENTS.get(type_) or arrow_type(type_)


def _as(array: Any, type_: Any) -> Any:
    return array if array.type == type_ else array.cast(type_)


def _checked(found: Any, wanted: Any, count: int) -> Any:
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if not isinstance(found, pa.Array):
        raise WrongResultError(
            f"{found!r} ({type(found).__name__}), which is not an array of Arrow"
        )
    if len(found) != count:
        raise WrongResultError(f"{len(found)} values for {count} rows")
    if found.type == wanted:
        return found
    try:
        # Numbers become narrower where every one of them fits; nothing is cut or rounded.
        if _is_number(found.type) == _is_number(wanted):
            return found.cast(wanted)
    except pa.ArrowException as error:
        raise WrongResultError(f"{found.type}, which is not {wanted}: {error}") from None
    raise WrongResultError(f"{found.type}, which is not {wanted}")


def _is_number(type_: Any) -> bool:
    is_number: bool = (
        pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    )
    return is_number
