"""SQL values for Python programs: dates and times become objects of ``datetime``.

Inside a query a TIMESTAMP is milliseconds, a DATE days and a TIME milliseconds of the day, as whole
numbers. Rows that a program gets have ``datetime`` (in UTC), ``date`` and ``time``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from typing import Any

from penstock.formats.columns import ColumnLike
from penstock.model.sql.types import (
    DATE,
    TIME,
    TIMESTAMP,
    ArrayType,
    MapType,
    SqlType,
    StructType,
)
from penstock.model.time.calendar import days_of, from_days, from_ms, to_ms

Convert = Callable[[Any], Any]
Row = dict[str, Any]


def row_converter(columns: Sequence[ColumnLike]) -> Callable[[Row], Row]:
    """Return the function that converts a row of SQL values to Python values."""
    found = [(column.name, converter(column.type)) for column in columns]
    changed = [(name, convert) for name, convert in found if convert is not None]

    def converted(row: Row) -> Row:
        return row | {name: convert(row[name]) for name, convert in changed}

    return converted if changed else _same


def converter(type_: SqlType) -> Convert | None:
    """Return the function that converts a type's SQL values to Python's; None if they are equal.

    A date that Python cannot hold, such as one of the year 10000, stays a number.
    """
    convert = _conversion(type_)
    return None if convert is None else lambda value: None if value is None else convert(value)


def _conversion(type_: SqlType) -> Convert | None:
    match type_:
        case ArrayType(element):
            item = converter(element)
            return item and (lambda values: [item(value) for value in values])
        case MapType(key_type, value_type):
            return _map(converter(key_type), converter(value_type))
        case StructType(fields):
            return _struct([(field.name, converter(field.type)) for field in fields])
        case _:
            return _SCALARS.get(type_)


def _map(key: Convert | None, value: Convert | None) -> Convert | None:
    if key is None and value is None:
        return None
    to_key, to_value = key or _same, value or _same
    return lambda values: {to_key(k): to_value(v) for k, v in values.items()}


def _struct(fields: list[tuple[str, Convert | None]]) -> Convert | None:
    changed = [(name, convert) for name, convert in fields if convert is not None]
    if not changed:
        return None
    return lambda value: value | {name: convert(value.get(name)) for name, convert in changed}


def _same(value: Any) -> Any:
    return value


def _datetime(ms: int) -> datetime | int:
    try:
        return from_ms(ms)
    except OverflowError:
        return ms


def _date(days: int) -> date | int:
    try:
        return from_days(days)
    except (ValueError, OverflowError):
        return days


def _time(ms: int) -> time:
    seconds, rest = divmod(ms, 1000)
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1000)


_SCALARS: dict[SqlType, Convert] = {TIMESTAMP: _datetime, DATE: _date, TIME: _time}


def sql_number(value: datetime | date | time | int) -> int:
    """Return the number that a query uses for a date or time; return numbers unchanged."""
    match value:
        case datetime():
            return to_ms(value)
        case date():
            return days_of(value)
        case time():
            seconds = value.hour * 3600 + value.minute * 60 + value.second
            return seconds * 1000 + value.microsecond // 1000
        case _:
            return value
