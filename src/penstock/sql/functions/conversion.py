"""Dates and times at the edge to functions of users: ints inside, Python's own types outside."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time
from typing import Any

from penstock.model.sql.types import DATE, TIME, TIMESTAMP, ArrayType, MapType
from penstock.model.time.calendar import EPOCH, days_of, from_days, from_ms, to_ms
from penstock.sql.functions.signature import DictOf, ListOf, Pattern

Convert = Callable[[Any], Any]


def to_python(pattern: Pattern) -> Convert | None:
    """Gives the function that makes a value Python's own; None when it already is."""
    return _nested(pattern, {TIMESTAMP: from_ms, DATE: from_days, TIME: _time})


def from_python(pattern: Pattern) -> Convert | None:
    """Gives the way back."""
    return _nested(pattern, {TIMESTAMP: _ms, DATE: days_of, TIME: _ms_of_day})


def _nested(pattern: Pattern, converts: dict[Any, Convert]) -> Convert | None:
    match pattern:
        case ListOf(element) | ArrayType(element):
            inner = _keep_none(_nested(element, converts))
            return None if inner is None else _each(inner)
        case DictOf(_, value) | MapType(_, value):
            inner = _keep_none(_nested(value, converts))
            return None if inner is None else _each_value(inner)
        case _:
            return converts.get(pattern)


def _keep_none(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: None if value is None else convert(value)


def _each(convert: Convert) -> Convert:
    return lambda values: [convert(value) for value in values]


def _each_value(convert: Convert) -> Convert:
    return lambda mapping: {key: convert(value) for key, value in mapping.items()}


def _time(ms: int) -> time:
    return from_ms(ms).time()


def _ms_of_day(value: time) -> int:
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000


def _ms(moment: datetime) -> int:
    # A moment without a zone is in UTC, as timestamps are everywhere in SQL.
    return to_ms(moment if moment.tzinfo else moment.replace(tzinfo=EPOCH.tzinfo))
