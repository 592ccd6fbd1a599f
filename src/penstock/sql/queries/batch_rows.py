"""The types of SQL in DataFrames of Spark, and their values there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.model.sql.arrow_types import ArrowTypes
from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import (
    DATE,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)
from penstock.runtime.spark.history.typed_rows import GivenColumn, RowColumn
from penstock.sql.casting import caster
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.python_values import sql_number
from penstock.sql.spark_types import DIGITS, spark_type

Convert = Callable[[Any], Any]

_DATES = (DATE, TIME, TIMESTAMP)
_ARROW = ArrowTypes(
    date=pa.date32(),
    time=pa.string(),
    timestamp=pa.timestamp("us", tz="UTC"),
    digits=DIGITS,
)


def row_column(column: SourceColumn) -> RowColumn:
    """Return a column of SQL as one of a DataFrame that is made."""
    type_ = column.type
    return RowColumn(column.name, spark_type(type_), _ARROW.of(type_), to_spark(type_))


def given_column(name: str, type_: SqlType) -> GivenColumn:
    """Return a column of a DataFrame that somebody gave as one of SQL.

    Whole numbers for dates and times are those of SQL, such as milliseconds. What is inside
    arrays, maps and structs is not cast.
    """
    is_nested = isinstance(type_, ArrayType | MapType | StructType)
    cast_to = None if is_nested or type_ == TIME else spark_type(type_)
    return GivenColumn(name, cast_to, to_sql(type_), keeps_numbers=type_ in _DATES)


# From SQL to Spark


def to_spark(type_: SqlType) -> Convert | None:
    """Return the function from a SQL value to what Arrow takes for the type; None if it is equal.

    >>> to_spark(TIME)(3_600_000)
    '01:00:00.000'
    """
    found = _to_spark(type_)
    return None if found is None else lambda value: None if value is None else found(value)


def _to_spark(type_: SqlType) -> Convert | None:
    match type_:
        case DecimalType(precision, _):
            return None if precision <= DIGITS else str
        case ArrayType(element):
            inner = to_spark(element)
            return inner and (lambda values: [inner(value) for value in values])
        case MapType(key, value):
            of_key, of_value = to_spark(key) or _same, to_spark(value) or _same
            return lambda values: [(of_key(k), of_value(v)) for k, v in values.items()]
        case StructType(fields):
            parts = [(field.name, to_spark(field.type) or _same) for field in fields]
            return lambda value: {name: part(value.get(name)) for name, part in parts}
        case _ if type_ == TIMESTAMP:
            return lambda milliseconds: milliseconds * 1000
        case _ if type_ == TIME:
            return _time_text
        case _:
            return None


def _time_text(ms: int) -> str:
    seconds, rest = divmod(ms, 1000)
    found = time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1000)
    return found.isoformat("milliseconds")


# From Spark to SQL


def to_sql(type_: SqlType) -> Convert:
    """Return the function from a value of a DataFrame, as Arrow returns it, to a SQL value."""
    found = _to_sql(type_)
    return lambda value: None if value is None else found(value)


def _to_sql(type_: SqlType) -> Convert:
    match type_:
        case DecimalType(_, scale):
            step = Decimal(1).scaleb(-scale)
            return lambda value: Decimal(value).quantize(step)
        case ArrayType(element):
            inner = to_sql(element)
            return lambda values: [inner(value) for value in values]
        case MapType(key, value):
            of_key, of_value = to_sql(key), to_sql(value)
            return lambda pairs: {of_key(k): of_value(v) for k, v in pairs}
        case StructType(fields):
            parts = [(field.name, to_sql(field.type)) for field in fields]
            return lambda given: _struct(given, parts)
        case _ if type_ in _DATES:
            return lambda value: _date(value, type_)
        case _:
            return _same


def _struct(given: dict[str, Any], parts: list[tuple[str, Convert]]) -> dict[str, Any]:
    """Return a struct with the fields of SQL; their names may be written in any case."""
    upper = {name.upper(): value for name, value in given.items()}
    return {name: convert(given.get(name, upper.get(name.upper()))) for name, convert in parts}


def _date(value: Any, type_: SqlType) -> Any:
    if isinstance(value, str):
        return _read_time(value) if type_ == TIME else caster(STRING, type_)(value)
    if isinstance(value, datetime) and type_ == DATE:
        value = value.date()
    return sql_number(value) if isinstance(value, datetime | date | time) else value


def _read_time(text: str) -> int:
    try:
        return sql_number(time.fromisoformat(text))
    except ValueError as error:
        raise SqlTypeError(
            "bad-time", f"{text!r} is not a time of day", fix="write it like 14:05:06.007"
        ) from error


def _same(value: Any) -> Any:
    return value
