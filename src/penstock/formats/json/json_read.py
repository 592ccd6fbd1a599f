"""From JSON values to SQL values, with ksqlDB's conversions. Writing: ``json_codec``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import orjson

from penstock.formats.columns import parts
from penstock.formats.json.json_values import (
    SCALARS,
    Read,
    UnfitError,
    decimal_reader,
    no_conversion,
    parse_exactly,
)
from penstock.model import java
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

# orjson reads fractions as floats. Up to 15 digits, the text of a float equals what was read.
_MANY_DIGITS = re.compile(rb"[0-9][0-9.]{15}")
# Limit: records whose names always differ must not fill the memory.
_MANY_LAYOUTS = 64


def parser(types: Sequence[SqlType]) -> Callable[[bytes], Any]:
    """Return the parser of records whose columns have these types; it raises orjson's errors.

    Decimals need all digits. Only a text with many digits in a row must be parsed slowly for it.
    """
    if not any(isinstance(part, DecimalType) for type_ in types for part in parts(type_)):
        return orjson.loads
    loads = orjson.loads
    return lambda data: parse_exactly(data) if _MANY_DIGITS.search(data) else loads(data)


def reader(type_: SqlType) -> Read:
    """Return the function from a JSON value to a value of the type.

    It raises UnfitError for a value that cannot be converted, and Inexact if digits were lost, so
    that the text must be parsed again.
    """
    match type_:
        case DecimalType(precision, scale):
            return decimal_reader(precision, scale)
        case ArrayType(element):
            return _array_reader(element)
        case MapType(_, value):
            return _map_reader(value)
        case StructType(fields):
            return _struct_reader(fields)
        case _:
            return SCALARS[type_]


def fields_reader(fields: Sequence[Field]) -> Callable[[dict[str, Any]], Sequence[Any]]:
    """Return the function from a JSON object to the values of some fields.

    A field is the member of the same name, or the one whose name in upper case is the same. If
    there is none, it is NULL. Records of one producer have the same names in the same order, so
    the members are looked up once for each list of names.
    """
    plan = [(field.name, _PLAIN.get(field.type), reader(field.type)) for field in fields]
    layouts: dict[tuple[str, ...], list[str | None]] = {}
    quick: dict[tuple[str, ...], Callable[[dict[str, Any]], Sequence[Any] | None]] = {}

    def learn(names: tuple[str, ...]) -> list[str | None]:
        sources = sources_of(fields, names)
        if len(layouts) < _MANY_LAYOUTS:
            layouts[names] = sources
            picked = _quick_reader(fields, sources)
            if picked is not None:
                quick[names] = picked
        return sources

    def read(members: dict[str, Any]) -> Sequence[Any]:
        names = tuple(members)
        pick = quick.get(names)
        if pick is not None:
            row = pick(members)
            if row is not None:
                return row
        values: list[Any] = []
        sources = layouts.get(names) or learn(names)
        for source, (name, plain, convert) in zip(sources, plan, strict=True):
            value = None if source is None else members[source]
            if value is None or type(value) is plain:
                values.append(value)
            else:
                try:
                    values.append(convert(value))
                except ValueError as error:
                    raise below(error, f".{name}") from None
        return values

    return read


def sources_of(fields: Sequence[Field], names: tuple[str, ...]) -> list[str | None]:
    """Return the name of the member for each field; of several members, the last one."""
    upper = {name.upper(): name for name in names}
    known = set(names)
    return [field.name if field.name in known else upper.get(field.name) for field in fields]


def _quick_reader(
    fields: Sequence[Field], sources: Sequence[str | None]
) -> Callable[[dict[str, Any]], Sequence[Any] | None] | None:
    """Return a reader for objects whose values need no conversion. It returns None for others.

    Returns None instead of a reader if a field is missing or always needs a conversion.
    """
    classes = tuple(CLASSES.get(field.type) for field in fields)
    if len(fields) < 2 or None in classes or None in sources:
        return None
    pick = itemgetter(*sources)
    limits = [(i, *LIMITS[f.type]) for i, f in enumerate(fields) if f.type in LIMITS]

    def read(members: dict[str, Any]) -> Sequence[Any] | None:
        row: tuple[Any, ...] = pick(members)
        if tuple(map(type, row)) != classes:
            return None
        for index, low, high in limits:
            if not low <= row[index] <= high:
                return None
        return row

    return read


def below(error: ValueError, path: str) -> UnfitError:
    """Return the error with one more step at the front of its path."""
    if isinstance(error, UnfitError):
        return UnfitError(error.reason, path + error.path)
    return UnfitError(str(error), path)


def _array_reader(element: SqlType) -> Read:
    plain, convert = {_PLAIN.get(element), type(None)}, reader(element)

    def read(values: Any) -> list[Any]:
        if type(values) is not list:
            raise no_conversion(values, "ARRAY")
        if plain.issuperset(map(type, values)):
            return values
        try:
            return [None if value is None else convert(value) for value in values]
        except ValueError:
            for place, value in enumerate(values):
                _read_at(convert, value, f"[{place}]")
            raise

    return read


def _map_reader(value_type: SqlType) -> Read:
    plain, convert = {_PLAIN.get(value_type), type(None)}, reader(value_type)

    def read(members: Any) -> dict[str, Any]:
        if type(members) is not dict:
            raise no_conversion(members, "MAP")
        if plain.issuperset(map(type, members.values())):
            return members
        try:
            return {k: None if v is None else convert(v) for k, v in members.items()}
        except ValueError:
            for key, value in members.items():
                _read_at(convert, value, f".{key}.value")
            raise

    return read


def _read_at(convert: Read, value: Any, path: str) -> None:
    try:
        if value is not None:
            convert(value)
    except ValueError as error:
        raise below(error, path) from None


def _struct_reader(fields: Sequence[Field]) -> Read:
    names, values = [field.name for field in fields], fields_reader(fields)

    def read(members: Any) -> dict[str, Any]:
        if type(members) is not dict:
            raise no_conversion(members, "STRUCT")
        return dict(zip(names, values(members), strict=True))

    return read


# Values of these types need no conversion if the JSON parser returned this class.
_PLAIN: dict[SqlType, type] = {BOOLEAN: bool, DOUBLE: float, STRING: str}
CLASSES: dict[SqlType, type] = {**_PLAIN, INTEGER: int, BIGINT: int, TIMESTAMP: int}
LIMITS: dict[SqlType, tuple[int, int]] = {
    INTEGER: (java.MIN_INT, java.MAX_INT),
    BIGINT: (java.MIN_LONG, java.MAX_LONG),
    TIMESTAMP: (java.MIN_LONG, java.MAX_LONG),
}
