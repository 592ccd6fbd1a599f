"""Conversion between SQL values and the Python values of users' functions.

A result is checked against the declared type. A value that does not fit is refused, never truncated
or rounded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Context, Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from penstock.model.java import MAX_INT, MAX_LONG, MIN_INT, MIN_LONG
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
    Scalar,
    SqlType,
    StructType,
)
from penstock.model.time.calendar import EPOCH, days_of, from_days, from_ms, to_ms
from penstock.sql.casting import caster
from penstock.sql.functions.signature import DictOf, ListOf, Pattern, StructOf

Convert = Callable[[Any], Any]
# It has more digits than any DECIMAL, so quantizing with it never rounds.
_EXACT = Context(prec=1_000)


class WrongResultError(Exception):
    """A function returned a value that is not of the declared type."""


# SQL to Python


def reader(pattern: Pattern, type_: SqlType | None) -> Convert | None:
    """Return the function from a SQL value of ``type_`` to Python's; None if they are the same.

    Args:
        pattern: the parameter of the function; only the pattern names a dataclass.
        type_: the type of the value; None for a bare NULL.
    """
    match pattern, type_:
        case (StructOf(), StructType()):
            return _instance_reader(pattern, type_)
        case (ListOf(element, _), ArrayType(inner)):
            return _each(reader(element, inner))
        case (DictOf(_, value, _), MapType(_, inner)):
            return _each_value(reader(value, inner))
        case (Scalar() | DecimalType(), Scalar() | DecimalType()) if pattern != type_:
            return _chained(caster(type_, pattern), _by_type(pattern))
        case _:
            return None if type_ is None else _by_type(type_)


def _by_type(type_: SqlType) -> Convert | None:
    match type_:
        case ArrayType(element):
            return _each(_by_type(element))
        case MapType(_, value):
            return _each_value(_by_type(value))
        case StructType(fields):
            inner = {field.name: _by_type(field.type) for field in fields}
            return _each_field(inner) if any(inner.values()) else None
        case _:
            return _READERS.get(type_)


def _instance_reader(pattern: StructOf, type_: StructType) -> Convert:
    places = pattern.places(type_)
    names = [field.name for field in dataclasses.fields(pattern.class_)]
    reads: list[tuple[str, str, Convert | None]] = []
    for name, wanted in zip(names, pattern.fields, strict=True):
        found = places[wanted.name]
        if found is not None:
            reads.append((name, found.name, reader(wanted.pattern, found.type)))

    def read(struct: Mapping[str, Any]) -> Any:
        values = ((name, struct.get(place), inner) for name, place, inner in reads)
        return pattern.class_(**{n: _kept(inner, value) for n, value, inner in values})

    return read


def _kept(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _chained(first: Convert, second: Convert | None) -> Convert:
    return first if second is None else lambda value: second(first(value))


def _each(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda values: [None if value is None else convert(value) for value in values]


def _each_value(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda mapping: {key: _kept(convert, value) for key, value in mapping.items()}


def _each_field(inner: Mapping[str, Convert | None]) -> Convert:
    return lambda struct: {name: _kept(inner.get(name), value) for name, value in struct.items()}


def _time(ms: int) -> time:
    return from_ms(ms).time()


_READERS: dict[SqlType, Convert] = {TIMESTAMP: from_ms, DATE: from_days, TIME: _time}


# Python to SQL


def writer(type_: SqlType) -> Convert:
    """Return the function that checks a result and converts it to a SQL value; None is NULL.

    It raises ``WrongResultError`` for a value that is not one of the type.
    """
    match type_:
        case ArrayType(element):
            return _array_writer(writer(element), type_)
        case MapType(key, value):
            return _map_writer(writer(key), writer(value), type_)
        case StructType():
            return _struct_writer(type_)
        case DecimalType():
            return _decimal_writer(type_)
        case _:
            return _WRITERS[type_]


def _refused(value: Any, type_: SqlType, why: str = "") -> WrongResultError:
    shown = repr(value)
    shown = f"{shown[:80]}..." if len(shown) > 80 else shown
    return WrongResultError(f"{shown} ({type(value).__name__}), which is not a {type_}{why}")


def _whole_writer(type_: SqlType, low: int, high: int) -> Convert:
    def write(value: Any) -> int | None:
        if type(value) is not int:
            if value is None:
                return None
            if not isinstance(value, Integral) or isinstance(value, bool):
                raise _refused(value, type_)
            value = int(value)
        if not low <= value <= high:
            raise _refused(value, type_, f": it is not between {low} and {high}")
        number: int = value
        return number

    return write


def _double(value: Any) -> float | None:
    if value is None or type(value) is float:
        return value
    if not isinstance(value, Real) or isinstance(value, bool):
        raise _refused(value, DOUBLE)
    return float(value)


def _boolean(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    raise _refused(value, BOOLEAN)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise _refused(value, STRING)


def _bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise _refused(value, BYTES)


def _date(value: Any) -> int | None:
    if value is None:
        return None
    # In Python, a datetime is also a date. Its time of day would be lost.
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _refused(value, DATE)
    return days_of(value)


def _time_of_day(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, time):
        raise _refused(value, TIME)
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000


def _timestamp(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise _refused(value, TIMESTAMP)
    # A datetime without a time zone is in UTC, as all timestamps in SQL.
    return to_ms(value if value.tzinfo else value.replace(tzinfo=EPOCH.tzinfo))


def _decimal_writer(type_: DecimalType) -> Convert:
    unit, limit = Decimal(1).scaleb(-type_.scale), 10 ** (type_.precision - type_.scale)

    def write(value: Any) -> Decimal | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, Decimal | int):
            raise _refused(value, type_)
        number = Decimal(value)
        if not number.is_finite() or abs(number) >= limit:
            raise _refused(value, type_)
        digits = -int(number.normalize(_EXACT).as_tuple().exponent)
        if digits > type_.scale:
            fix = f": it has more than {type_.scale} digits behind the point, round it"
            raise _refused(value, type_, fix)
        return number.quantize(unit, context=_EXACT)

    return write


def _array_writer(element: Convert, type_: ArrayType) -> Convert:
    def write(value: Any) -> list[Any] | None:
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise _refused(value, type_)
        return [element(each) for each in value]

    return write


def _map_writer(key: Convert, value: Convert, type_: MapType) -> Convert:
    def write(mapping: Any) -> dict[Any, Any] | None:
        if mapping is None:
            return None
        if not isinstance(mapping, Mapping):
            raise _refused(mapping, type_)
        return {key(k): value(v) for k, v in mapping.items()}

    return write


def _struct_writer(type_: StructType) -> Convert:
    writers = {field.name: writer(field.type) for field in type_.fields}
    # Fields are mostly in lower case in Python, and in upper case in SQL.
    places = {name.upper(): name for name in writers} | {name: name for name in writers}

    def write(value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = (field.name for field in dataclasses.fields(value))
            value = {name: getattr(value, name) for name in names}
        if not isinstance(value, Mapping):
            raise _refused(value, type_)
        written: dict[str, Any] = dict.fromkeys(writers)
        for name, inner in value.items():
            place = places.get(name) or places.get(str(name).upper())
            if place is None:
                raise _refused(value, type_, f": it has no field {name!r}")
            written[place] = writers[place](inner)
        return written

    return write


_WRITERS: dict[SqlType, Convert] = {
    BOOLEAN: _boolean,
    INTEGER: _whole_writer(INTEGER, MIN_INT, MAX_INT),
    BIGINT: _whole_writer(BIGINT, MIN_LONG, MAX_LONG),
    DOUBLE: _double,
    STRING: _text,
    BYTES: _bytes,
    DATE: _date,
    TIME: _time_of_day,
    TIMESTAMP: _timestamp,
}
