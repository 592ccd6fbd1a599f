"""Dates and times of inserted rows: clients send them as texts, in the form of answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
from penstock.sql.casting import caster

Convert = Callable[[Any], Any]


def dates_read(type_: SqlType) -> Convert | None:
    """Return the function that reads the dates and times in a JSON value of a type.

    It turns texts into SQL's numbers, also inside collections, and leaves other values unchanged.
    None means that the type has no dates and times.

    >>> read = dates_read(ArrayType(DATE))
    >>> read and read(["1970-01-03", 4, None])
    [2, 4, None]
    """
    match type_:
        case ArrayType(element):
            item = dates_read(element)
            return item and _of(list, lambda values: [item(value) for value in values])
        case MapType(_, value_type):
            inner = dates_read(value_type)
            return inner and _of(dict, lambda pairs: {k: inner(v) for k, v in pairs.items()})
        case StructType(fields):
            found = [(field.name, dates_read(field.type)) for field in fields]
            return _struct({name: convert for name, convert in found if convert is not None})
        case _ if type_ in (DATE, TIME, TIMESTAMP):
            return _of(str, caster(STRING, type_))
        case _:
            return None


def _of(kind: type, convert: Convert) -> Convert:
    """Convert values of one kind; the reader of the type refuses others that do not fit."""
    return lambda value: convert(value) if isinstance(value, kind) else value


def _struct(fields: dict[str, Convert]) -> Convert | None:
    if not fields:
        return None
    # Names of fields may be written in any case.
    known = fields | {name.upper(): convert for name, convert in fields.items()}

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        return {
            name: (known.get(name) or known.get(name.upper()) or _same)(item)
            for name, item in value.items()
        }

    return _of(dict, convert)


def _same(value: Any) -> Any:
    return value
