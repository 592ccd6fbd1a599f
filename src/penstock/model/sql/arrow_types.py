"""Types of SQL as types of Arrow. Readers differ in what they take for times and long decimals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

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

#: How many digits a decimal of Arrow has at the most.
MOST_DIGITS = 76
_HALF = 38

_SAME: dict[SqlType, Any] = {
    BOOLEAN: pa.bool_(),
    INTEGER: pa.int32(),
    BIGINT: pa.int64(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    BYTES: pa.binary(),
}


class ArrowTypes:
    """The types of columns for one kind of reader.

    Args:
        date: What a DATE is; ``time`` and ``timestamp`` likewise.
        digits: Decimals of more digits than this are what ``longer`` returns.
        longer: Returns a type for a decimal, or raises.

    >>> numbers = ArrowTypes(date=pa.int32(), time=pa.int32(), timestamp=pa.int64())
    >>> numbers.of(ArrayType(DATE))
    ListType(list<item: int32>)
    """

    def __init__(
        self,
        *,
        date: Any,
        time: Any,
        timestamp: Any,
        digits: int = MOST_DIGITS,
        longer: Callable[[DecimalType], Any] = lambda type_: pa.string(),
    ) -> None:
        self._scalars = {**_SAME, DATE: date, TIME: time, TIMESTAMP: timestamp}
        self._digits, self._longer = digits, longer

    def of(self, type_: SqlType) -> Any:
        """Return the type of a column."""
        match type_:
            case DecimalType(precision, scale):
                if precision > self._digits:
                    return self._longer(type_)
                return (pa.decimal128 if precision <= _HALF else pa.decimal256)(precision, scale)
            case ArrayType(element):
                return pa.list_(self.of(element))
            case MapType(key, value):
                return pa.map_(self.of(key), self.of(value))
            case StructType(fields):
                return pa.struct([pa.field(each.name, self.of(each.type)) for each in fields])
            case _:
                return self._scalars[type_]
